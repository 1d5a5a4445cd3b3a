"""The position of a run as LangGraph keeps it: plain data, moved on by events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from accord import ApprovalDecision, FlowError, FlowGraph, FlowLoopExceeded
from accord.kernel import Exit, OpenSuperstep, Position, Progress

POSITION = "aa_position"
"""The name of the channel that holds the position."""

START_NODE = "aa_start"
"""The name of the node that validates the input."""


class KeptPosition(TypedDict):
    """A position without its state, which the field channels hold; all values fit msgpack."""

    run_id: str
    digest: str
    frontier: list[str]
    visits: dict[str, int]
    loops: dict[str, int]
    steps: int
    status: str
    denied_at: str | None
    gates: dict[str, dict[str, Any]]
    fields_set: list[str]


class KeptProblem(TypedDict):
    """A `FlowError` as plain data."""

    message: str
    field: str | None
    exceeded: bool


class PositionEvent(TypedDict, total=False):
    """What one task tells the position; each task of a superstep writes exactly one.

    `start` begins a run. `node` with `targets`, `looped` and `fields` is a finished visit, with
    `problem` one whose updates do not merge. `gate` with `decision` and `fields` is an answered
    gate. `waits` is a node that a gate keeps waiting.
    """

    start: KeptPosition
    node: str
    targets: list[str]
    looped: bool
    fields: list[str]
    problem: KeptProblem
    gate: str
    decision: dict[str, Any]
    waits: str


def started(position: Position, run_id: str, graph: FlowGraph) -> KeptPosition:
    """Return the kept form of a position at which a run begins."""
    return KeptPosition(
        run_id=run_id,
        digest=graph.digest,
        frontier=sorted(position.frontier),
        visits={},
        loops={},
        steps=0,
        status="running",
        denied_at=None,
        gates={},
        fields_set=sorted(position.state.model_fields_set),
    )


def moved_on(kept: KeptPosition | None, events: Sequence[PositionEvent]) -> KeptPosition | None:
    """Return the position after the events of one LangGraph step, in node name order.

    Raises:
        FlowError: If a visit noted a problem.
    """
    finished: list[PositionEvent] = []
    for event in events:
        if "start" in event:
            return event["start"]
        if kept is not None and "gate" in event:
            return _answered(kept, event)
        if "problem" in event:
            raise problem_of(event)
        if "node" in event:
            finished.append(event)
    return _stepped(kept, finished) if kept is not None and finished else kept


def problem_event(node: str, error: FlowError) -> PositionEvent:
    """Return the event of a visit whose updates do not merge, beside one that waits."""
    exceeded = isinstance(error, FlowLoopExceeded)
    problem = KeptProblem(message=error.message, field=error.field, exceeded=exceeded)
    return PositionEvent(node=node, problem=problem)


def problem_of(event: PositionEvent) -> FlowError:
    """Return the error of a visit that noted a problem."""
    problem = event["problem"]
    kind = FlowLoopExceeded if problem["exceeded"] else FlowError
    return kind(problem["message"], node=event["node"], field=problem["field"])


def _answered(kept: KeptPosition, event: PositionEvent) -> KeptPosition:
    node, decision = event["gate"], event["decision"]
    if not decision["approved"]:
        progress = _progress(kept)
        progress.deny(node)
        return _kept(kept, progress, gates={})
    return {
        **kept,
        "gates": {**kept["gates"], node: decision},
        "fields_set": sorted({*kept["fields_set"], *event["fields"]}),
    }


def _stepped(kept: KeptPosition, finished: Sequence[PositionEvent]) -> KeptPosition:
    progress = _progress(kept)
    progress.finish(
        {event["node"]: Exit(tuple(event["targets"]), event["looped"]) for event in finished}
    )
    written = {field for event in finished for field in event["fields"]}
    return _kept(
        {**kept, "fields_set": sorted({*kept["fields_set"], *written})}, progress, gates={}
    )


def _progress(kept: KeptPosition) -> Progress:
    status = kept["status"]
    return Progress(
        frontier=frozenset(kept["frontier"]),
        visits=dict(kept["visits"]),
        loops=dict(kept["loops"]),
        steps=kept["steps"],
        status="denied" if status == "denied" else "done" if status == "done" else "running",
        denied_at=kept["denied_at"],
    )


def _kept(
    kept: KeptPosition, progress: Progress, *, gates: dict[str, dict[str, Any]]
) -> KeptPosition:
    return {
        **kept,
        "frontier": sorted(progress.frontier),
        "visits": progress.visits,
        "loops": progress.loops,
        "steps": progress.steps,
        "status": progress.status,
        "denied_at": progress.denied_at,
        "gates": gates,
    }


def decision_data(decision: ApprovalDecision) -> dict[str, Any]:
    """Return a decision as plain data."""
    return decision.model_dump()


def gate_decisions(kept: KeptPosition) -> dict[str, ApprovalDecision]:
    """Return the approvals of the open superstep's gates, by node."""
    return {
        node: ApprovalDecision.model_validate(decision) for node, decision in kept["gates"].items()
    }


def core_position(graph: FlowGraph, kept: KeptPosition, values: Mapping[str, object]) -> Position:
    """Return the core's form of a kept position, with the state of the field channels.

    Raises:
        FlowError: If the state model refuses the values.
    """
    progress = _progress(kept)
    gates = gate_decisions(kept)
    return Position(
        state=graph.schema.restore(values, kept["fields_set"]),
        frontier=progress.frontier,
        visits=progress.visits,
        loops=progress.loops,
        steps=progress.steps,
        status=progress.status,
        denied_at=progress.denied_at,
        opened=OpenSuperstep(gates=gates) if gates else None,
    )
