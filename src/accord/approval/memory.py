"""An approval store in the memory of this process."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Mapping
from typing import Any

from accord.approval._stored import (
    StoredApproval,
    arguments_text,
    decision_text,
    taken_id,
    unknown_approval,
)
from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.approval.store import ApprovalRecord, ApprovalStatus


class MemoryApprovalStore:
    """Keeps approvals until the process ends; safe to share between threads.

    Implements: "Approval stores".
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._approvals: dict[str, StoredApproval] = {}
        self._newest: dict[tuple[str, str, str, str], str] = {}

    async def create(self, request: ApprovalRequest) -> ApprovalRecord:
        """Keep a new, pending request; see `ApprovalStore.create`."""
        stored = StoredApproval.of(request)
        with self._lock:
            if stored.id in self._approvals:
                raise taken_id(stored.id)
            self._approvals[stored.id] = stored
            question = (stored.run_id, stored.call_id, stored.tool, stored.arguments)
            self._newest[question] = stored.id
        return stored.record()

    async def get(self, approval_id: str, /) -> ApprovalRecord | None:
        """Return the record with this id, or None."""
        with self._lock:
            stored = self._approvals.get(approval_id)
        return None if stored is None else stored.record()

    async def find(
        self, run_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> ApprovalRecord | None:
        """Return the newest record of this question, or None; see `ApprovalStore.find`."""
        question = (run_id, call_id, tool, arguments_text(tool, arguments))
        with self._lock:
            approval_id = self._newest.get(question)
            stored = None if approval_id is None else self._approvals[approval_id]
        return None if stored is None else stored.record()

    async def list(self, status: ApprovalStatus | None = None) -> builtins.list[ApprovalRecord]:
        """Return the records, oldest first; only those with `status` if one is given."""
        with self._lock:
            approvals = tuple(self._approvals.values())
        return [stored.record() for stored in approvals if status in (None, stored.status)]

    async def decide(self, approval_id: str, decision: ApprovalDecision, /) -> ApprovalRecord:
        """Answer a pending request; see `ApprovalStore.decide`."""
        text = decision_text(approval_id, decision)
        with self._lock:
            stored = self._held(approval_id).decided(text)
            self._approvals[approval_id] = stored
        return stored.record()

    async def consume(self, approval_id: str, /) -> ApprovalRecord:
        """Use the decision, which can be done once; see `ApprovalStore.consume`."""
        with self._lock:
            stored = self._held(approval_id).consumed()
            self._approvals[approval_id] = stored
        return stored.record()

    def _held(self, approval_id: str) -> StoredApproval:
        stored = self._approvals.get(approval_id)
        if stored is None:
            raise unknown_approval(approval_id)
        return stored
