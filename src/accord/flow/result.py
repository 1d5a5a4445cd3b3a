"""What a leg of a run ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal

from accord.errors import FlowError
from accord.flow.graph import StateT, StateT_co

if TYPE_CHECKING:
    from accord.approval import ApprovalRequest
    from accord.flow._position import Position
    from accord.flow.checkpoint import FlowCheckpoint
    from accord.flow.graph import FlowGraph


@dataclass(frozen=True, slots=True)
class FlowResult(Generic[StateT_co]):
    """How a run or a resume ended; a failure is raised instead.

    Implements: "Results".

    Attributes:
        status: `done`, `paused` or `denied`.
        run_id: The run.
        state: The state; for a paused or denied run, before the open superstep.
        steps: How many supersteps finished.
        visits: How often each node finished.
        pending: What a paused run waits for.
        checkpoint: Where a paused run continues.
        denied_at: The gate that was denied.
    """

    status: Literal["done", "paused", "denied"]
    run_id: str
    state: StateT_co
    steps: int
    visits: Mapping[str, int]
    pending: ApprovalRequest | None = None
    checkpoint: FlowCheckpoint | None = None
    denied_at: str | None = None


def result_of(
    graph: FlowGraph[StateT], run_id: str, position: Position, checkpoint: FlowCheckpoint | None
) -> FlowResult[StateT]:
    """Return the result of a leg that ended at `position`.

    Implements: "Results".

    Args:
        graph: The graph that ran.
        run_id: The run.
        position: Where the leg ended.
        checkpoint: The sealed position, if the run paused.

    Raises:
        FlowError: If the position has not ended, or is not one of this graph.
    """
    if position.status == "running" or not isinstance(position.state, graph.state):
        raise FlowError("the leg did not end at a position of this graph", flow=graph.name)
    return FlowResult(
        status=position.status,
        run_id=run_id,
        state=position.state,
        steps=position.steps,
        visits=dict(position.visits),
        pending=position.pending[0][1] if position.pending else None,
        checkpoint=checkpoint,
        denied_at=position.denied_at,
    )
