"""Taking the answer to a pause: checked, spent once, and carried into the position."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from accord.approval import (
    ApprovalDecision,
    ApprovalRequest,
    check_settle,
    close,
    settle,
    spent_approvals,
)
from accord.errors import FlowError, ToolError
from accord.flow._gates import apply_edits
from accord.flow._journal import Answer
from accord.flow._position import OpenSuperstep, Position

if TYPE_CHECKING:
    from accord.flow._run import Run


def check_answer(run: Run, position: Position, decision: ApprovalDecision) -> Position:
    """Return the position that goes on from an answer that is not spent yet.

    Implements: "Answers".

    Args:
        run: The run.
        position: Where the run paused; left as it is.
        decision: The answer to its first pending request.

    Raises:
        FlowError: If nothing is pending, or an edit does not fit the state or the tool.
    """
    if not isinstance(decision, ApprovalDecision):
        raise FlowError(
            f"resume takes an ApprovalDecision, not {type(decision).__name__}; nothing ran",
            flow=run.graph.name,
        )
    if position.status != "paused" or not position.pending:
        raise FlowError(
            f"the run is {position.status}, it waits for no approval; nothing ran",
            flow=run.graph.name,
        )
    node, request = position.pending[0]
    answered = position.copy()
    opened = answered.opened = answered.opened or OpenSuperstep()
    if request.kind == "node":
        opened.gates[node] = decision
        if decision.approved:
            apply_edits(run.graph, position.state, opened.gates)
    else:
        _check_tool_edits(run, node, request, decision)
        opened.answers.setdefault(node, []).append(Answer(request, decision))
    answered.pending = tuple(_repeated(run, position))
    answered.status = "running"
    return answered


def _check_tool_edits(
    run: Run, node: str, request: ApprovalRequest, decision: ApprovalDecision
) -> None:
    """Refuse edited arguments that the tool does not take, while the answer can be mended.

    A node may run tools of an executor of its own, which this one does not know.
    """
    registry = run.executor.registry
    if not decision.edited_args or request.tool not in registry:
        return
    try:
        registry.get(request.tool).validate({**request.arguments, **decision.edited_args})
    except ToolError as error:
        raise FlowError(
            f"the edited_args do not fit: {error}", flow=run.graph.name, node=node
        ) from error


def _repeated(run: Run, position: Position) -> Iterator[tuple[str, ApprovalRequest]]:
    """Yield the other requests whose records the visit finds again, by their call ids."""
    for node, request in position.pending[1:]:
        if run.graph.nodes[node].repeats_call_ids:
            yield node, request


async def take_answer(run: Run, position: Position, decision: ApprovalDecision) -> Position:
    """Spend the first pending approval and return the position that goes on from it.

    Implements: "Answers" and "Once".

    Args:
        run: The run.
        position: Where the run paused; left as it is.
        decision: The answer to its first pending request.

    Raises:
        FlowError: If nothing is pending, or an edit does not fit the state. The approval is not
            spent then.
        ApprovalAlreadyDecided: If the approval was answered before; nothing ran.
    """
    answered = check_answer(run, position, decision)
    (_, request), *others = position.pending
    try:
        await spend(run, position, decision)
        for each in others:
            # A function's call gets a new id, so nobody would ever ask for its record again.
            if each not in answered.pending:
                await close(each[1], "superseded", *run.stores)
    except asyncio.CancelledError:
        if await is_spent(run, request):  # nobody can come back for the others either
            for _, other in others:
                await close(other, "the run was cancelled", *run.stores)
        raise
    return answered


async def spend(run: Run, position: Position, decision: ApprovalDecision) -> None:
    """Use up the first pending approval, in this process's memory and in every store.

    Implements: "Once".

    Raises:
        ApprovalAlreadyDecided: If it is used up already, or a store holds another decision. A
            refused settle does not spend it.
    """
    _, request = position.pending[0]
    await spend_answer(run, request, decision)


async def spend_answer(run: Run, request: ApprovalRequest, decision: ApprovalDecision) -> None:
    """Use up one approval, in this process's memory and in every store.

    Implements: "Once".

    Raises:
        ApprovalAlreadyDecided: If it is used up already, or a store holds another decision. A
            refused settle does not spend it.
    """
    spent_approvals.claim(request.id)
    try:
        await settle(request, decision, *run.stores)
    except BaseException:
        spent_approvals.release(request.id)
        raise


async def check_unspent(run: Run, request: ApprovalRequest, decision: ApprovalDecision) -> None:
    """Refuse an answer that could not be spent any more; nothing is changed.

    Implements: "Once".

    Raises:
        ApprovalAlreadyDecided: If the approval is used up, or a store holds another decision.
    """
    spent_approvals.check(request.id)
    await check_settle(request, decision, *run.stores)


async def is_spent(run: Run, request: ApprovalRequest) -> bool:
    """Tell whether an approval is used up, in this process's memory or in a store.

    Implements: "Once".

    Raises:
        ConfigError: If a store cannot be used.
    """
    if spent_approvals.holds(request.id):
        return True
    records = [await store.get(request.id) for store in run.stores]
    return any(record is not None and record.status == "consumed" for record in records)


def without_answers(position: Position) -> Position:
    """Return the position from which a crashed leg goes on, or one whose answer was lost.

    Implements: "Once".

    What finished before the pause is kept; answers are not, because they are used up. So every
    question that waited asks anew.

    Args:
        position: A paused or an answered position; left as it is.
    """
    recovered = position.copy()
    recovered.pending = ()
    recovered.status = "running"
    if recovered.opened is not None:
        recovered.opened.answers = {}
        if not recovered.opened.entered:
            recovered.opened.gates = {}
    return recovered
