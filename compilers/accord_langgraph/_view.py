"""What the nodes of one superstep share: the state that they read, and how each of them ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from accord import ApprovalRequest, FlowError, FlowGraph
from accord.kernel import (
    Failed,
    Finished,
    Outcome,
    Paused,
    RunOptions,
    check_steps,
    close,
    open_gate,
    ready_nodes,
)
from accord_langgraph._position import (
    POSITION,
    KeptPosition,
    PositionEvent,
    gate_decisions,
    problem_of,
)
from accord_langgraph._task import saved_writes


class View:
    """The input of every node of one superstep; LangGraph builds it once for all of them.

    Attributes:
        graph: The graph.
        kept: The position before the superstep.
        ready: The nodes of the superstep, in update order.
        gates: The gates of the superstep that have approved.
        gate: The gate that is asked now, or None when the nodes may run.
        run: The run.
    """

    def __init__(self, graph: FlowGraph, options: RunOptions, values: dict[str, Any]) -> None:
        kept: KeptPosition = values.pop(POSITION)
        self.graph = graph
        self.kept = kept
        self.is_running = kept["status"] == "running"
        self.run = options.new_run(graph, kept["run_id"])
        self.ready = ready_nodes(graph, kept["frontier"])
        self.gates = gate_decisions(kept)
        self.gate = open_gate(graph, self.ready, self.gates)
        self._ends: dict[str, _End] = {}
        self._started: set[str] = set()
        self._changed = asyncio.Event()
        self._problem: FlowError | None = None
        try:
            self._check_digest()
            self.state = graph.schema.restore(values, kept["fields_set"])
        except FlowError as error:
            # LangGraph builds the view before it runs anything, so a node has to raise it.
            self._problem = error

    def __copy__(self) -> Self:
        return self

    def check(self) -> None:
        """Refuse to go on with a broken state or past `max_steps`.

        Raises:
            FlowError: If the model refuses the state, or the thread is another graph's.
            FlowLoopExceeded: If the limit is reached.
        """
        if self._problem is not None:
            raise self._problem
        check_steps(self.graph, self.kept["steps"], self.run.max_steps)

    def start(self, node: str) -> None:
        """Note that the visit of `node` begins."""
        self._started.add(node)

    def end(self, node: str, outcome: Outcome | None, late: FlowError | None = None) -> None:
        """Note how the visit of `node` ended.

        Args:
            node: The node.
            outcome: What came of the visit; None if it was cancelled.
            late: Why its updates do not merge or its route fails, which counts only when every
                visit has finished.
        """
        self._ends[node] = _End(outcome, late)
        self._changed.set()
        self._changed = asyncio.Event()

    async def fail_first(self, node: str) -> NoReturn:
        """Raise the failure that comes first, of this visit and those that it has to wait for.

        A failed visit waits for the earlier ones that have started; one whose updates do not merge
        waits for all of them. No visit waits before it has noted its own end.

        Raises:
            FlowError: The first failure by name order, else why the updates do not merge.
        """
        if isinstance(self._ends[node].outcome, Failed):
            await self._wait_for({other for other in self._started if other < node})
        else:
            await self._wait_for_all()
            await self._add_earlier_legs()
        await self.close_questions()
        raise self._located(self._first_failure() or self._joint_problem() or self._first_late())

    async def is_beside_a_pause(self) -> bool:
        """Tell, when all visits have ended, whether one of them waits and none has failed."""
        await self._wait_for_all()
        outcomes = [end.outcome for end in self._ends.values()]
        return any(isinstance(outcome, Paused) for outcome in outcomes) and not any(
            isinstance(outcome, Failed) for outcome in outcomes
        )

    async def check_joint_merge(self) -> None:
        """Merge what all nodes of the superstep wrote, if this visit was the last to end.

        Raises:
            FlowError: As the core's merge; nothing is kept of it.
        """
        if len(self.ready) == 1 or not self._ends.keys() >= self._started:
            return
        # A visit with a problem raises it, and one that waits will check when it has ended.
        if any(end.late or not isinstance(end.outcome, Finished) for end in self._ends.values()):
            return
        await self._add_earlier_legs()
        self._raise(next((end.late for end in self._ordered() if end.late), None))
        self._raise(self._joint_problem())

    async def _add_earlier_legs(self) -> None:
        """Add the ends of visits that finished in an earlier leg, which do not run again."""
        # Under a cap the others may just not have started, so that nothing is there to be read.
        if len(self._ends) < len(self.ready) and self.run.concurrency is None:
            for node, end in (await _saved_ends()).items():
                self._ends.setdefault(node, end)

    def _ordered(self) -> list[_End]:
        return [self._ends[node] for node in self.ready if node in self._ends]

    def _raise(self, error: FlowError | None) -> None:
        if error is not None:
            raise self._located(error)

    def _first_failure(self) -> FlowError | None:
        failures = [end.outcome for end in self._ordered() if isinstance(end.outcome, Failed)]
        return failures[0].error if failures else None

    def _joint_problem(self) -> FlowError | None:
        writes = []
        for node in self.ready:
            end = self._ends.get(node)
            if end is None or not isinstance(end.outcome, Finished):
                return None
            writes += [(node, update) for update in end.outcome.updates]
        try:
            self.graph.schema.apply_updates(self.state, writes)
        except FlowError as error:
            return error
        return None

    def _first_late(self) -> FlowError:
        return next(end.late for node in self.ready if (end := self._ends.get(node)) and end.late)

    def _located(self, error: FlowError) -> FlowError:
        error.within(self.graph.name)
        return error

    async def _wait_for_all(self) -> None:
        # LangGraph has made the tasks of the others by now; let them begin.
        await asyncio.sleep(0)
        await self._wait_for(self._started)

    async def _wait_for(self, nodes: Iterable[str]) -> None:
        while not self._ends.keys() >= set(nodes):
            await self._changed.wait()

    async def close_questions(self, also: Sequence[ApprovalRequest] = ()) -> None:
        """Close what the superstep asked, because it will not finish, and what it did `also`."""
        for request in (*self._questions(), *also):
            await close(request, "the superstep did not finish", *self.run.stores)

    def _questions(self) -> list[ApprovalRequest]:
        return [
            request
            for end in self._ends.values()
            if isinstance(end.outcome, Paused | Failed)
            for request in end.outcome.requests
        ]

    def _check_digest(self) -> None:
        if self.kept["digest"] != self.graph.digest:
            raise FlowError(
                f"the thread was started by another graph than this {self.graph.name!r}; nothing "
                "ran. Resume it with the flow that started it, or use another thread_id",
                flow=self.graph.name,
                code="graph-changed",
            )


@dataclass(frozen=True, slots=True)
class _End:
    outcome: Outcome | None
    late: FlowError | None


async def _saved_ends() -> dict[str, _End]:
    """Return how the visits ended that an earlier leg of this superstep has finished."""
    written: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in await saved_writes():
        written.setdefault(task, []).append((channel, value))
    ends = {}
    for writes in written.values():
        event: PositionEvent = dict(writes).get(POSITION, {})
        if "node" in event:
            updates = tuple({field: value} for field, value in writes if not _is_control(field))
            problem = problem_of(event) if "problem" in event else None
            ends[event["node"]] = _End(Finished(updates), problem)
    return ends


def _is_control(channel: str) -> bool:
    # LangGraph's own channels have a colon or underscores, which no field of a state begins with.
    return channel == POSITION or ":" in channel or channel.startswith("__")


def view_class(graph: FlowGraph, options: RunOptions) -> type[View]:
    """Return the `input_schema` of the flow's nodes: LangGraph wants a dataclass of the fields."""

    class FlowView(View):
        def __init__(self, **values: Any) -> None:
            super().__init__(graph, options, values)

    FlowView.__annotations__ = dict.fromkeys((*graph.schema.rules, POSITION), Any)
    FlowView.__name__ = FlowView.__qualname__ = f"{graph.state.__name__}View"
    return dataclass(init=False, repr=False, eq=False)(FlowView)
