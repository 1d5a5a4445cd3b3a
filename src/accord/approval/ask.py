"""Asking a port, or denying where there is none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.errors import ConfigError

if TYPE_CHECKING:
    from accord.approval.port import ApprovalPort

_log = logging.getLogger("accord.approval")


async def ask(port: ApprovalPort | None, request: ApprovalRequest) -> ApprovalDecision:
    """Ask `port`; without one the answer is no, because nobody could have said yes.

    Implements: "Approval ports".

    Args:
        port: Where approvals are asked, or None.
        request: The question.

    Returns:
        The decision.

    Raises:
        ApprovalPending: If nobody has decided yet.
    """
    if port is not None:
        decision: object = await port.ask(request)
        if not isinstance(decision, ApprovalDecision):
            raise ConfigError(
                f"the approval port answered {request.tool!r} with a {type(decision).__name__}; "
                "let its ask() return an ApprovalDecision or raise ApprovalPending"
            )
        return decision
    whom = "the engine" if request.kind == "node" else "its Executor"
    option = f"approval=... to {whom}"
    _log.warning("%s needs an approval and has no port; denied. Pass %s.", request.tool, option)
    return ApprovalDecision(approved=False, reason=f"no approval port; pass {option}")
