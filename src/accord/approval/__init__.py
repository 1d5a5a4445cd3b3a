"""Approvals: the question, the answer, who is asked, and where both are kept."""

from accord.approval.answer import AnswerRefused, parse_answer
from accord.approval.memory import MemoryApprovalStore
from accord.approval.port import (
    AllowApproval,
    ApprovalPort,
    CallbackApproval,
    DeferredApproval,
    DenyApproval,
    store_of,
)
from accord.approval.request import ApprovalDecision, ApprovalPending, ApprovalRequest
from accord.approval.settle import check_settle, close, settle
from accord.approval.spent import SpentApprovals, spent_approvals
from accord.approval.sqlite import SqliteApprovalStore
from accord.approval.store import ApprovalRecord, ApprovalStatus, ApprovalStore

__all__ = [
    "AllowApproval",
    "AnswerRefused",
    "ApprovalDecision",
    "ApprovalPending",
    "ApprovalPort",
    "ApprovalRecord",
    "ApprovalRequest",
    "ApprovalStatus",
    "ApprovalStore",
    "CallbackApproval",
    "DeferredApproval",
    "DenyApproval",
    "MemoryApprovalStore",
    "SpentApprovals",
    "SqliteApprovalStore",
    "check_settle",
    "close",
    "parse_answer",
    "settle",
    "spent_approvals",
    "store_of",
]
