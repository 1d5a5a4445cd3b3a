"""Approval ports: who is asked, and what happens while nobody has answered."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable
from typing import Protocol

from accord.approval.request import ApprovalDecision, ApprovalPending, ApprovalRequest
from accord.approval.settle import close
from accord.approval.store import ApprovalStore
from accord.errors import ApprovalAlreadyDecided, ConfigError

Answer = ApprovalDecision | bool


class ApprovalPort(Protocol):
    """Answers approval requests.

    Implements: "Approval ports".
    """

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Answer `request`.

        Raises:
            ApprovalPending: If nobody has decided yet; the run then pauses.
        """
        ...


class DeferredApproval:
    """Keeps each request in a store until someone decides it there or resumes the run.

    Implements: "Approval ports".

    Attributes:
        store: Where the requests are kept.
    """

    def __init__(self, store: ApprovalStore) -> None:
        self.store = store

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Use the decision that the store holds for this question, or keep the question.

        Args:
            request: The question; its arguments must be JSON values.

        Returns:
            The decision, which is consumed.

        Raises:
            ApprovalPending: If the question is open; it carries the id that the store knows.
            ConfigError: If an argument is no JSON value, or the store cannot be used.
        """
        record = await self.store.find(
            request.run_id, request.call_id, request.tool, request.arguments
        )
        if record is not None and record.status == "pending":
            # The asker's own arguments: JSON would have made a list of a tuple.
            raise ApprovalPending(request.model_copy(update={"id": record.request.id}))
        if record is not None and record.status == "decided":
            try:
                consumed = await self.store.consume(record.request.id)
            except ApprovalAlreadyDecided:
                # Another caller used it in between, so this one has to ask anew.
                consumed = None
            if consumed is not None and consumed.decision is not None:
                return consumed.decision
        if record is not None:
            # The store may know this id from the last time, and an id is used once.
            request = request.model_copy(update={"id": uuid.uuid4().hex})
        try:
            await self.store.create(request)
        except asyncio.CancelledError:
            # The store may hold it already, and nobody waits for its answer any more.
            await close(request, "the run was cancelled", self.store)
            raise
        raise ApprovalPending(request)


class AllowApproval:
    """Approves everything; for tests and for runs that nobody watches."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Approve `request`."""
        return ApprovalDecision(approved=True)


class DenyApproval:
    """Denies everything.

    Attributes:
        reason: What every decision gives as its reason.
    """

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Deny `request`."""
        return ApprovalDecision(approved=False, reason=self.reason)


class CallbackApproval:
    """Asks a function; a sync one runs on the event loop, so it should not block for long.

    Implements: "Approval ports".
    """

    def __init__(self, fn: Callable[[ApprovalRequest], Answer | Awaitable[Answer]]) -> None:
        """Wrap `fn`.

        Args:
            fn: Takes the request and returns an `ApprovalDecision` or a bool, or an awaitable of
                one; it may raise `ApprovalPending`.
        """
        self._fn = fn

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Return what the function answers.

        Raises:
            ApprovalPending: If the function raises it.
            ConfigError: If the function returns neither a decision nor a bool.
        """
        answer = self._fn(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, ApprovalDecision):
            return answer
        if isinstance(answer, bool):
            return ApprovalDecision(approved=answer)
        raise ConfigError(
            f"the approval callback answered {request.tool!r} with a "
            f"{type(answer).__name__}; return ApprovalDecision(approved=...) or a bool"
        )


def store_of(port: ApprovalPort | None) -> ApprovalStore | None:
    """Return the store that `port` keeps its requests in, or None if it has none."""
    store: ApprovalStore | None = getattr(port, "store", None)
    return store
