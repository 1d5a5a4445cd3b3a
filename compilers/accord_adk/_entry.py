"""What an entry into a run's invocation means: start, go on, ask again, or nothing at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.genai import types
from pydantic import BaseModel

from accord import ApprovalAlreadyDecided, ApprovalDecision, FlowCheckpoint, FlowError
from accord.kernel import (
    AnswerRefused,
    Position,
    Run,
    RunOptions,
    check_answer,
    check_unspent,
    is_spent,
    parse_answer,
    start_position,
    without_answers,
)
from accord_adk._kept import Tombstone

if TYPE_CHECKING:
    from accord import FlowGraph


@dataclass(frozen=True, slots=True)
class GoOn:
    """The run goes on, or begins.

    Attributes:
        run: The run.
        position: Where it goes on.
        first: Whether it begins here.
        decision: The answer to its pause, if it waits for one that is still to be spent.
    """

    run: Run
    position: Position
    first: bool
    decision: ApprovalDecision | None = None


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The run still waits for its approval.

    Attributes:
        run: The run.
        position: Where it waits.
        refusal: What was wrong with the answer; None if there was none.
    """

    run: Run
    position: Position
    refusal: str | None = None


async def enter(
    graph: FlowGraph,
    options: RunOptions,
    kept: FlowCheckpoint | Tombstone | None,
    answers: Mapping[str, object],
    *,
    node_input: object,
    invocation_id: str,
) -> GoOn | AskAgain | None:
    """Decide what an entry from outside of Accord means; nothing is changed or spent here.

    Implements: "Answers" and "Once".

    Args:
        graph: The flow.
        options: How it runs.
        kept: What the session keeps of the run.
        answers: The answers that the entry brought, by approval id.
        node_input: What the invocation was started with.
        invocation_id: The invocation; a run that is started from outside has its id.

    Returns:
        What to do; None if the run has ended and nobody answered.

    Raises:
        FlowError: If the input does not fit the state.
        ApprovalAlreadyDecided: If the answer is to an approval that was decided before.
    """
    if kept is None:
        position = start_position(graph, read_input(graph, node_input))
        return GoOn(options.new_run(graph, invocation_id), position, first=True)
    if isinstance(kept, Tombstone):
        _refuse_late(answers, f"the run is {kept.status}")
        return None
    run, position = options.new_run(graph, kept.run_id), kept.position
    if position.status == "running":
        _refuse_late(answers, "the run goes on already")
        return GoOn(run, position, first=False)
    _, request = position.pending[0]
    if answers and request.id not in answers:
        _refuse_late(answers, f"the run waits for {request.id!r} now")
    refusal = None
    if answers:
        try:
            decision = _read_answer(run, position, answers[request.id])
        except (AnswerRefused, FlowError) as error:
            refusal = str(error)
        else:
            await check_unspent(run, request, decision)
            return GoOn(run, position, first=False, decision=decision)
    if await is_spent(run, request):
        # A process took the answer and died, so the question has to be asked anew.
        return GoOn(run, without_answers(position), first=False)
    return AskAgain(run, position, refusal)


def read_input(graph: FlowGraph, node_input: object) -> Mapping[str, object] | BaseModel:
    """Read what an invocation was started with: a mapping, a model, or a message of JSON text.

    Raises:
        FlowError: If it is none of these; the message says what to send.
    """
    if isinstance(node_input, types.Content):
        text = "".join(part.text or "" for part in node_input.parts or [])
        try:
            node_input = json.loads(text) if text.strip() else {}
        except ValueError:
            node_input = text
    elif node_input is None or isinstance(node_input, BaseModel):
        return node_input or {}
    if isinstance(node_input, dict):
        return node_input
    example = json.dumps(dict.fromkeys(graph.schema.rules, "..."))
    raise FlowError(
        f"the message is no JSON object; send the state to begin with, such as {example}",
        flow=graph.name,
    )


def _read_answer(run: Run, position: Position, value: object) -> ApprovalDecision:
    requests = [request for _, request in position.pending]
    request, decision = parse_answer(value, requests)
    if request.id != requests[0].id:
        raise AnswerRefused(f"{requests[0].id} has to be answered before {request.id}")
    check_answer(run, position, decision)
    return decision


def _refuse_late(answers: Mapping[str, object], why: str) -> None:
    for approval_id in answers:
        raise ApprovalAlreadyDecided(
            f"approval {approval_id!r} was answered before, {why}; nothing ran",
            approval_id=approval_id,
        )
