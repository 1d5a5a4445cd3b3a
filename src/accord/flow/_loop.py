"""The superstep loop: one generator that native and ADK runs drive, sans I/O.

It opens no file, asks no clock and starts no thread: visits are made by the `visit` callback,
and what should outlive the process is kept by whoever drives it, between two yields.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from accord._invoke import run_in_order
from accord.approval import ApprovalRequest, close
from accord.flow._gates import pass_gates
from accord.flow._journal import Journal, KeptAnswers
from accord.flow._nodes import Failed, Finished, Outcome, Paused, Visit
from accord.flow._position import Position, Updates
from accord.flow._step import advance, check_steps, ready_nodes

if TYPE_CHECKING:
    from accord.flow._run import Run
    from accord.flow.graph import FlowGraph

VisitDriver = Callable[[Visit], Awaitable[Outcome]]


async def supersteps(
    run: Run, position: Position, visit: VisitDriver
) -> AsyncGenerator[Position, None]:
    """Run supersteps until the flow is done, paused or denied.

    Implements: "The superstep".

    Args:
        run: The run.
        position: Where to begin: a fresh one, or one whose pending approval was answered.
        visit: Makes one visit, concurrently with its siblings. `run_visit`, or an engine's own
            child run around it.

    Yields:
        The position at each durable point: after every superstep, and at the end, which its
        `status` tells. It is the same live object every time; copy what you keep.

    Raises:
        FlowError: If a visit, a merge or a route fails, or a limit is reached. The position
            then still stands before the superstep that failed.
    """
    graph = run.graph
    while position.status == "running":
        check_steps(graph, position.steps, run.max_steps)
        ready = ready_nodes(graph, position.frontier)
        if _gates_ahead(graph, position, ready) and not await pass_gates(run, position):
            yield position
            return
        updates = await _visit_all(run, position, ready, visit)
        if updates is not None:
            position.apply(await advance(graph, position, updates))
        yield position


def _gates_ahead(graph: FlowGraph, position: Position, ready: tuple[str, ...]) -> bool:
    entered = position.opened is not None and position.opened.entered
    return not entered and not graph.gates.isdisjoint(ready)


async def _visit_all(
    run: Run, position: Position, ready: tuple[str, ...], visit: VisitDriver
) -> dict[str, Updates] | None:
    """Make the visits that are left; None means that the position is paused now."""
    opened = position.opened
    finished = {} if opened is None else dict(opened.updates)
    visits = [_prepare(run, position, node) for node in ready if node not in finished]
    try:
        outcomes = await _side_by_side(run, visits, visit)
    except GeneratorExit:
        raise  # nothing can be awaited any more
    except BaseException:
        await _close_open(run, position, visits, "the run was cancelled")
        raise
    paused: list[tuple[Visit, Paused]] = []
    failure: Failed | None = None
    for each, outcome in zip(visits, outcomes, strict=True):
        if isinstance(outcome, Finished):
            finished[each.node.name] = outcome.updates
        elif isinstance(outcome, Paused):
            paused.append((each, outcome))
        elif isinstance(outcome, Failed) and failure is None:
            failure = outcome
    if failure is not None:
        await _close_open(run, position, visits, "the run failed")
        raise failure.error
    before = position.pending
    if paused:
        _pause(position, finished, paused)
    still = {request.id for _, pause in paused for request in pause.requests}
    await _close_all(run, [each for _, each in before if each.id not in still], "superseded")
    return None if paused else finished


async def _side_by_side(
    run: Run, visits: list[Visit], visit: VisitDriver
) -> Sequence[Outcome | None]:
    if len(visits) == 1:  # no task for a lone node: its cost would show in every chain
        return [await visit(visits[0])]
    return await run_in_order(
        [partial(visit, each) for each in visits],
        failed=lambda outcome: isinstance(outcome, Failed),
        limit=run.concurrency,
    )


def _prepare(run: Run, position: Position, node: str) -> Visit:
    graph, opened = run.graph, position.opened
    visit = Visit(
        run,
        graph.nodes[node],
        position.visits.get(node, 0) + 1,
        graph.schema.view(position.state),
    )
    if opened is not None:
        visit.approval = opened.gates.get(node)
        visit.journal = opened.journals.get(node) or Journal()
        repeats_in = visit.call_id if visit.node.repeats_call_ids else None
        visit.answers = KeptAnswers(opened.answers.get(node, ()), repeats_in=repeats_in)
    return visit


def _pause(
    position: Position, finished: dict[str, Updates], paused: list[tuple[Visit, Paused]]
) -> None:
    position.pause(
        (visit.node.name, request) for visit, pause in paused for request in pause.requests
    )
    if opened := position.opened:
        opened.updates = finished
        opened.journals = {visit.node.name: pause.journal for visit, pause in paused}
        opened.answers = {visit.node.name: list(visit.answers.unused) for visit, _ in paused}


async def _close_open(run: Run, position: Position, visits: list[Visit], reason: str) -> None:
    asked = [request for each in visits for request in each.asked]
    # An earlier leg asked the others, and no visit may have come to them again.
    await _close_all(run, [*asked, *(request for _, request in position.pending)], reason)


async def _close_all(run: Run, requests: list[ApprovalRequest], reason: str) -> None:
    for request in requests:
        await close(request, reason, *run.stores)
