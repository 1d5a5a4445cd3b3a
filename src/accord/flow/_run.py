"""What stays the same during one run: the graph, the options and where things are reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.approval import store_of
from accord.events import EventValue, emit

if TYPE_CHECKING:
    from accord.approval import ApprovalPort, ApprovalStore
    from accord.events import EventSink
    from accord.flow.graph import FlowGraph
    from accord.models import InstrumentedModel
    from accord.tools import Executor


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one graph.

    Attributes:
        graph: The graph.
        run_id: The run's id.
        executor: Runs tool and model calls.
        approval: The port that pause gates ask.
        model: The model that nodes get from `node_model`.
        sink: Where events go.
        max_steps: How many supersteps may finish.
        concurrency: How many nodes of a superstep run at once; None sets no cap.
    """

    graph: FlowGraph
    run_id: str
    executor: Executor
    approval: ApprovalPort | None = None
    model: InstrumentedModel | None = None
    sink: EventSink | None = None
    max_steps: int = 100
    concurrency: int | None = None

    @property
    def stores(self) -> tuple[ApprovalStore, ...]:
        """The approval stores that this run's ports write to, each once."""
        found: list[ApprovalStore] = []
        for port in (self.approval, self.executor.approval):
            store = store_of(port)
            if store is not None and store not in found:
                found.append(store)
        return tuple(found)

    def report(
        self,
        name: str,
        *,
        node: str | None = None,
        visit: int = 0,
        data: Mapping[str, EventValue] | None = None,
    ) -> None:
        """Emit an event of this run, if anybody listens."""
        if self.sink is not None:
            emit(
                self.sink,
                name,
                run_id=self.run_id,
                flow=self.graph.name,
                node=node,
                visit=visit,
                data=data,
            )
