"""Matching the values of a resume with a request, and spending the one that answers it."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Container
from typing import TypeAlias

from accord import (
    AdapterError,
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalRequest,
    FlowError,
)
from accord.kernel import (
    AnswerRefused,
    Run,
    canonical_text,
    parse_answer,
    spend_answer,
    spent_approvals,
)
from accord_langgraph._questions import Inbox

Answered: TypeAlias = tuple[ApprovalDecision | None, AdapterError | None]


async def answer_from(
    inbox: Inbox,
    request: ApprovalRequest,
    run: Run,
    check: Callable[[ApprovalDecision], object] | None = None,
) -> Answered:
    """Find the value that answers `request` and spend it, in memory and in every store.

    A bare value answers the question that was asked last, a value with an `approval_id` the
    request of that id. A value that is malformed or refused does not count, so a later one can.

    Args:
        inbox: The values.
        request: The request as it was asked.
        run: The run.
        check: Refuses a decision before it is spent.

    Returns:
        The decision, or else why the last value that was meant for the request was refused.
    """
    values = await inbox.new()
    if not values:
        return None, None
    error: AdapterError | None = None
    last = await inbox.last()
    asked_last = last is not None and last.request.id == request.id
    # With a second request beside it, only a value that names this one can answer it.
    pending = [request] if asked_last else [request, request if last is None else last.request]
    for value in values:
        try:
            answered, decision = parse_answer(value, pending)
            if answered.id != request.id:
                continue
            if check is not None:
                check(decision)
            await spend_answer(run, request, decision)
        except AnswerRefused as refused:
            error = refused if asked_last else error
        except (FlowError, ApprovalAlreadyDecided) as refused:
            error = refused
        else:
            return decision, None
    return None, error


def with_lasting_id(request: ApprovalRequest, answered: Container[str] = ()) -> ApprovalRequest:
    """Return the request under an id that it gets again when its node runs again.

    Where a port keeps no store, nothing else would tell that it is the same question. An id that
    was spent is passed over, unless it is among those `answered` in this task: then the question
    is asked anew.
    """
    question = canonical_text(
        [request.run_id, request.call_id, request.tool, dict(request.arguments)],
        f"arguments of {request.tool}",
    )
    ids = (uuid.uuid5(uuid.NAMESPACE_OID, f"{i}:{question}").hex for i in itertools.count())
    lasting = next(each for each in ids if each in answered or not spent_approvals.holds(each))
    return request.model_copy(update={"id": lasting})
