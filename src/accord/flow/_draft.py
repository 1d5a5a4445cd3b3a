"""What a flow builder has collected: a definition of which nothing is checked yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from accord.flow.graph import NodeSpec, RouteSpec, StateT


@dataclass(slots=True)
class Draft(Generic[StateT]):
    """A flow definition in the making.

    Attributes:
        name: The flow's name.
        state: What was given as the state model.
        version: The flow's version.
        nodes: The nodes by name, in the order in which they were added; of several with one name,
            the first.
        repeated: The names that were added more than once.
        start: Where a run begins; None stands for the first node.
        ends: The nodes that end their branch.
        edges: The successors of each node with edges, as the keys of a dict, so each once.
        routes: The routes of each node with any.
    """

    name: str
    state: type[StateT]
    version: str
    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    repeated: set[str] = field(default_factory=set)
    start: str | None = None
    ends: set[str] = field(default_factory=set)
    edges: dict[str, dict[str, None]] = field(default_factory=dict)
    routes: dict[str, list[RouteSpec]] = field(default_factory=dict)

    @property
    def first(self) -> str | None:
        """Where a run begins; None when there is no node to begin with."""
        return self.start if self.start is not None else next(iter(self.nodes), None)

    def copy(self) -> Draft[StateT]:
        """Return a draft that changes independently; it shares the nodes, which are frozen."""
        return Draft(
            self.name,
            self.state,
            self.version,
            dict(self.nodes),
            set(self.repeated),
            self.start,
            set(self.ends),
            {node: dict(targets) for node, targets in self.edges.items()},
            {node: list(routes) for node, routes in self.routes.items()},
        )
