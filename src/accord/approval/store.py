"""Where approvals are kept: what a store holds, and what every store promises."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from accord.approval.request import ApprovalDecision, ApprovalRequest

ApprovalStatus = Literal["pending", "decided", "consumed"]


class ApprovalRecord(BaseModel):
    """A request in a store, and how far it has come.

    Implements: "Approval stores".

    Attributes:
        request: The question.
        status: `pending` until someone decides, `decided` until a run uses the decision, then
            `consumed`.
        decision: The answer; None while pending.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: ApprovalRequest
    status: ApprovalStatus
    decision: ApprovalDecision | None


class ApprovalStore(Protocol):
    """Keeps approvals; of several callers who change one record at once, exactly one succeeds.

    Implements: "Approval stores".
    """

    async def create(self, request: ApprovalRequest) -> ApprovalRecord:
        """Keep a new, pending request.

        Args:
            request: The question; its arguments must be JSON values.

        Returns:
            The pending record.

        Raises:
            ConfigError: If the id is taken, or an argument is no JSON value.
        """
        ...

    async def get(self, approval_id: str, /) -> ApprovalRecord | None:
        """Return the record with this id, or None."""
        ...

    async def find(
        self, run_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> ApprovalRecord | None:
        """Return the newest record of this question, or None.

        Raises:
            ConfigError: If an argument is no JSON value.
        """
        ...

    async def list(self, status: ApprovalStatus | None = None) -> builtins.list[ApprovalRecord]:
        """Return the records, oldest first; only those with `status` if one is given."""
        ...

    async def decide(self, approval_id: str, decision: ApprovalDecision, /) -> ApprovalRecord:
        """Answer a pending request.

        Returns:
            The decided record.

        Raises:
            ApprovalAlreadyDecided: If the record is not pending any more.
            ConfigError: If there is no such record, or an edited argument is no JSON value.
        """
        ...

    async def consume(self, approval_id: str, /) -> ApprovalRecord:
        """Use the decision, which can be done once.

        Returns:
            The consumed record.

        Raises:
            ApprovalAlreadyDecided: If the decision has been used.
            ConfigError: If there is no such record, or it is still pending.
        """
        ...
