"""How a pause comes out of user code: straight, out of task groups, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, TypeVar

from accord.approval import ApprovalPending
from accord.errors import FlowError

if TYPE_CHECKING:
    from accord.flow._journal import VisitScope

T = TypeVar("T")

SWALLOWED: Final = "pause-swallowed"
"""The code of the error of user code that goes on although a call of it waits."""


async def until_pause(code: Awaitable[T], scope: VisitScope, node: str) -> T:
    """Await user code so that a pause of it is always an `ApprovalPending`.

    Implements: "Tool approvals".

    Args:
        code: What to await.
        scope: Knows what the code has asked.
        node: The node that it belongs to.

    Raises:
        ApprovalPending: If the code waits for approvals and nothing else went wrong.
        FlowError: With code `pause-swallowed` if it went on although a call of it waits.
    """
    try:
        result = await code
    except ApprovalPending:
        await scope.finish_calls()
        raise
    except BaseExceptionGroup as group:  # what a TaskGroup makes of it
        pauses, others = group.split(ApprovalPending)
        if others is None and scope.pending:
            await scope.finish_calls()
            raise ApprovalPending(scope.pending[0]) from group
        if pauses is not None and isinstance(others, Exception):
            raise others from group
        raise
    finally:
        scope.end()
    if scope.pending:
        raise FlowError(
            f"node {node!r} went on after its call of {scope.pending[0].tool!r} asked for an "
            "approval; let ApprovalPending pass through instead of catching it",
            node=node,
            code=SWALLOWED,
        )
    return result
