"""Questions as `RequestInput`, and the answers that come back as function responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from google.adk.events import RequestInput
from google.genai import types
from pydantic_core import to_jsonable_python

from accord_adk._undocumented import REQUEST_INPUT

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from accord import ApprovalDecision, ApprovalRequest, FlowCheckpoint

_PREFIX = "aa"


def interrupt_id(request: ApprovalRequest, epoch: str) -> str:
    """Return the id of a question; it is never used twice, and tells its approval."""
    return f"{_PREFIX}:{request.id}:{epoch}"


def question(checkpoint: FlowCheckpoint, refusal: str | None = None) -> RequestInput:
    """Return what a paused run asks.

    Args:
        checkpoint: The pause.
        refusal: What was wrong with the last answer.
    """
    node, request = checkpoint.position.pending[0]
    ask = (
        f"May {request.tool} go on? Answer with "
        f'{{"approved": true, "approval_id": "{request.id}"}}; "approved": false refuses.'
    )
    # No response schema: ADK checks an answer against it on every later entry too, so that one
    # malformed answer would end the run for good. The core checks the answer.
    return RequestInput(
        interrupt_id=checkpoint.engine["interrupt_id"],
        message=ask if refusal is None else f"{refusal}. {ask}",
        payload={
            "tool": request.tool,
            "arguments": to_jsonable_python(request.arguments, fallback=repr),
            "approval_id": request.id,
            "flow": checkpoint.flow,
            "node": node,
            "run_id": checkpoint.run_id,
        },
    )


def taken_answer(
    checkpoint: FlowCheckpoint, kept: FlowCheckpoint, decision: ApprovalDecision
) -> types.Content:
    """Return the function response that tells the session of an answer taken already.

    Its extra key keeps it from being taken once more after a crash.

    Args:
        checkpoint: The pause that was resumed.
        kept: The session's copy of it, which knows the open question.
        decision: The answer.
    """
    request = checkpoint.pending[0]
    response = {
        **to_jsonable_python(decision, fallback=repr),
        "approval_id": request.id,
        "taken": True,
    }
    return types.Content(
        role="user",
        parts=[
            types.Part(
                function_response=types.FunctionResponse(
                    id=kept.engine["interrupt_id"], name=REQUEST_INPUT, response=response
                )
            )
        ],
    )


def new_answers(session: Session, invocation_id: str) -> Mapping[str, object]:
    """Return the answers with which the invocation was just entered, by approval id.

    They are in its latest event, because a `Runner` appends them before it enters the workflow.
    Without one, the invocation was entered to start it or to recover it.
    """
    for event in reversed(session.events):
        if event.invocation_id == invocation_id:
            answers = {}
            for response in event.get_function_responses():
                prefix, _, rest = (response.id or "").partition(":")
                if prefix == _PREFIX:
                    answers[rest.rpartition(":")[0]] = response.response
            return answers
    return {}
