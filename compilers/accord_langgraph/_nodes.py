"""A node of a flow as a LangGraph node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from langgraph.types import Command

from accord import FlowError
from accord.kernel import Exit, Failed, NodeSpec, Paused, Updates, Visit, leave_first, run_visit
from accord_langgraph._answers import InterruptAnswers
from accord_langgraph._gates import pass_gate, wait_for_gate
from accord_langgraph._position import POSITION, PositionEvent, problem_event
from accord_langgraph._view import View

Writes: TypeAlias = Command[str] | list[Command[str]] | None


def node_function(spec: NodeSpec) -> Callable[[View], Awaitable[Writes]]:
    """Return the function that LangGraph runs for a node.

    Each call ends in one `Command` with the node's event and its exit; a Map's items are further
    commands before it, one write each. What a run means is decided by the core.
    """

    async def run_node(view: View) -> Writes:
        if not view.is_running or spec.name not in view.ready:
            return None  # the run ended while this node waited
        view.check()
        if view.gate is None:
            return await _visit(view, spec)
        if view.gate == spec.name:
            return await pass_gate(view, spec.name)
        return wait_for_gate(spec.name)

    return run_node


async def _visit(view: View, spec: NodeSpec) -> Writes:
    name, graph = spec.name, view.graph
    answers = InterruptAnswers(view.run, name)
    visit = Visit(
        view.run,
        spec,
        view.kept["visits"].get(name, 0) + 1,
        graph.schema.view(view.state),
        approval=view.gates.get(name),
        answers=answers,
    )
    view.start(name)
    try:
        outcome = await run_visit(visit)
    except BaseException:  # cancelled, by the caller or by a sibling's failure
        view.end(name, None)
        await view.close_questions(visit.asked)
        raise
    if isinstance(outcome, Failed):
        view.end(name, outcome)
        await view.fail_first(name)
    if isinstance(outcome, Paused):
        view.end(name, outcome)
        await answers.interrupt(outcome.requests)
    try:
        exit_ = await leave_first(
            graph,
            name,
            view.state,
            outcome.updates,
            alone=len(view.ready) == 1,
            visits=view.kept["visits"],
            loops=view.kept["loops"],
        )
    except FlowError as error:
        view.end(name, outcome, late=error)
        if await view.is_beside_a_pause():
            # The run pauses first; whoever ends the superstep then raises the problem.
            return Command(update={POSITION: problem_event(name, error)})
        await view.fail_first(name)
    view.end(name, outcome)
    await view.check_joint_merge()
    return _writes(name, outcome.updates, exit_)


def _writes(node: str, updates: Updates, exit_: Exit) -> Writes:
    event = PositionEvent(
        node=node,
        targets=list(exit_.targets),
        looped=exit_.looped,
        fields=sorted({key for update in updates for key in update}),
    )
    *first, last = updates or ({},)
    return [
        *(Command(update=dict(update)) for update in first),
        Command(update={**last, POSITION: event}, goto=exit_.targets),
    ]
