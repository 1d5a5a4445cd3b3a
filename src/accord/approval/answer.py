"""Reading an answer that comes in from outside: from an engine's door or a text box."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import ValidationError

from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.errors import AdapterError


class AnswerRefused(AdapterError):
    """An answer does not fit the open requests or is malformed; nothing ran."""


def parse_answer(
    value: object, pending: Sequence[ApprovalRequest]
) -> tuple[ApprovalRequest, ApprovalDecision]:
    """Read an answer strictly, and find the request that it answers.

    Implements: "Answers".

    Args:
        value: An `ApprovalDecision`, a bool, a dict with `approved` and perhaps `edited_args`,
            `reason` and `approval_id`, or `{"result": "<JSON text of such a dict or bool>"}`.
        pending: The open requests. Unless `value` holds an `approval_id`, there must be exactly
            one.

    Returns:
        The request that is answered, and the decision.

    Raises:
        AnswerRefused: If `value` does not fit; the message says what to send.
    """
    if isinstance(value, ApprovalDecision):
        # Checked like any other answer, because model_construct checks nothing.
        value = dict(value)
    elif isinstance(value, dict) and value.keys() == {"result"}:
        value = _from_text(value["result"], pending)
    if isinstance(value, bool):
        return _only(pending), ApprovalDecision(approved=value)
    if not isinstance(value, dict):
        raise _refusal(f"it is a {type(value).__name__}, not an object or a bool", pending)
    fields = dict(value)
    if "approval_id" in fields:
        request = _with_id(fields.pop("approval_id"), pending)
    else:
        request = _only(pending)
    try:
        return request, ApprovalDecision.model_validate(fields)
    except ValidationError as error:
        raise _refusal(_problems(error), pending) from error


def _only(pending: Sequence[ApprovalRequest]) -> ApprovalRequest:
    if len(pending) != 1:
        raise _refusal(f"{len(pending)} approvals wait, so it has to name its approval_id", pending)
    return pending[0]


def _with_id(approval_id: object, pending: Sequence[ApprovalRequest]) -> ApprovalRequest:
    if not isinstance(approval_id, str):
        raise _refusal(f"approval_id is a {type(approval_id).__name__}, not text", pending)
    for request in pending:
        if request.id == approval_id:
            return request
    raise _refusal(f"no approval {approval_id!r} waits", pending)


def _from_text(text: object, pending: Sequence[ApprovalRequest]) -> object:
    if not isinstance(text, str):
        raise _refusal(f"result is a {type(text).__name__}, not JSON text", pending)
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"result is not JSON text that can be read ({error})", pending) from error


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # The json module keeps the last of two equal keys, so "approved" could be said both ways.
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def _problems(error: ValidationError) -> str:
    # Without the input values, which may be nobody's business but the approver's.
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
        for problem in error.errors(include_input=False, include_url=False)
    )


def _refusal(problem: str, pending: Sequence[ApprovalRequest]) -> AnswerRefused:
    if not pending:
        return AnswerRefused(f"the answer was refused: {problem}. No approval waits")
    example = {"approved": True, "approval_id": pending[0].id}
    waiting = ", ".join(f"{request.id} ({request.tool})" for request in pending)
    return AnswerRefused(
        f"the answer was refused: {problem}. Send an object such as {json.dumps(example)}, with "
        'edited_args (an object) and reason (text) if you like, or {"result": "<that as text>"}; '
        f"waiting: {waiting}"
    )
