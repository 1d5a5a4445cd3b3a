"""A pause gate as a LangGraph node: it asks by interrupt, and the others of its superstep wait."""

from __future__ import annotations

from langgraph.types import Command

from accord import ApprovalDecision, ApprovalPending, ApprovalRequest, FlowError
from accord.kernel import apply_edits, ask, gate_request, is_spent, open_gate, store_of
from accord_langgraph._position import POSITION, PositionEvent, decision_data
from accord_langgraph._questions import Inbox, Question, ask_by_interrupt
from accord_langgraph._settle import answer_from, with_lasting_id
from accord_langgraph._view import View


def wait_for_gate(node: str) -> Command[str]:
    """Let `node` run again in the next LangGraph step, because a gate of its superstep is open."""
    return Command(update={POSITION: PositionEvent(waits=node)}, goto=node)


async def pass_gate(view: View, node: str) -> list[Command[str]]:
    """Ask the gate of `node`, and write its decision.

    The last gate of the superstep also writes the edits of all of them, in name order, so that
    the field channels merge them at once.

    Raises:
        GraphInterrupt: If the approval is pending.
        FlowError: If the gate's function fails, or the edits do not fit the state.
    """
    try:
        decision = await _decide(view, node)
        if not decision.approved:
            return [_gate_command(node, decision)]
        gates = {**view.gates, node: decision}
        if open_gate(view.graph, view.ready, gates) is not None:
            return [_gate_command(node, decision, goto=node)]
        apply_edits(view.graph, view.state, gates)
    except FlowError as error:
        error.within(view.graph.name)
        raise
    edits = [gates[gate].edited_args for gate in sorted(gates)]
    fields = sorted({key for edit in edits for key in edit})
    return [
        *(Command(update=edit) for edit in edits if edit),
        _gate_command(node, decision, goto=node, fields=fields),
    ]


def _gate_command(
    node: str,
    decision: ApprovalDecision,
    *,
    goto: str | tuple[()] = (),
    fields: list[str] | None = None,
) -> Command[str]:
    event = PositionEvent(gate=node, decision=decision_data(decision), fields=fields or [])
    return Command(update={POSITION: event}, goto=goto)


async def _decide(view: View, node: str) -> ApprovalDecision:
    """Return the decision that the task was resumed with, or that of the port."""
    run = view.run

    def check(decision: ApprovalDecision) -> None:
        if decision.approved:
            apply_edits(view.graph, view.state, {**view.gates, node: decision})

    inbox = Inbox()
    error: str | None = None
    asked: ApprovalRequest | None = None
    # The question as it was asked: the gate's function may say something else by now.
    last = await inbox.last() if await inbox.new() else None
    if last is not None and last.request.kind == "node":
        decision, refusal = await answer_from(inbox, last.request, run, check)
        if decision is not None:
            return decision
        error = None if refusal is None else str(refusal)
        asked = None if await is_spent(run, last.request) else last.request
    if asked is None:
        visit = view.kept["visits"].get(node, 0) + 1
        asked = await gate_request(run, node, view.state, visit=visit)
        if store_of(run.approval) is None:
            asked = with_lasting_id(asked)
        try:
            return await ask(run.approval, asked)
        except ApprovalPending as pause:
            asked = pause.request
            data = {"approval_id": asked.id}
            run.report("node.paused", node=node, visit=visit, data=data)
    question = Question(node=node, request=asked, seen=inbox.seen, error=error)
    return ask_by_interrupt(question, view.graph.name)
