"""The validated graph of a flow: frozen data that every engine reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal

from pydantic import BaseModel
from typing_extensions import TypeVar

from accord._invoke import AsyncFunction, off_the_loop, takes_argument
from accord.flow.actions import Action, Call, Join, Map

if TYPE_CHECKING:
    from accord.flow.actions import RouteFunction
    from accord.flow.state import StateSchema

NodeKind = Literal["function", "call", "map", "join"]
GateFunction = Callable[[Any], Any]

StateT = TypeVar("StateT", bound=BaseModel, default=BaseModel)
StateT_co = TypeVar("StateT_co", bound=BaseModel, default=BaseModel, covariant=True)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node.

    Attributes:
        name: The node's name.
        action: What it runs.
        pause: Makes it a gate: `pause(state)` is what the approver sees.
        prompt: Text for the node's model, read with `node_prompt`.
        concurrency: How many Map items run at once; None sets no cap.
        call: The node's function in async form, or None when it has none.
        arity: How many arguments that function takes: the state and a context, or for a Map an
            item, the state and a context.
    """

    name: str
    action: Action
    pause: GateFunction | None = None
    prompt: str | None = None
    concurrency: int | None = None
    call: AsyncFunction | None = field(init=False, repr=False, compare=False)
    arity: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        action = self.action
        if isinstance(action, Join | Map):
            fn = action.fn
        else:
            fn = None if isinstance(action, Call) else action
        # A signature is slow to read, so it is read here and not at each visit.
        arity = 0
        if callable(fn):
            arity, most = 1, 3 if isinstance(action, Map) else 2
            while arity < most and takes_argument(fn, arity):
                arity += 1
        object.__setattr__(self, "call", off_the_loop(fn) if callable(fn) else None)
        object.__setattr__(self, "arity", arity)

    @property
    def kind(self) -> NodeKind:
        """What sort of action the node runs."""
        if isinstance(self.action, Call):
            return "call"
        if isinstance(self.action, Map):
            return "map"
        return "join" if isinstance(self.action, Join) else "function"

    @property
    def repeats_call_ids(self) -> bool:
        """Whether its tool calls have the same ids when a visit runs again, as items have."""
        made_here = isinstance(self.action, Map) and self.action.fn is None
        return made_here or self.kind == "call"


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """The route that leaves a node.

    Attributes:
        fn: Chooses labels from the state.
        targets: The node of each label.
        max_loops: How often the route may go back; None only where no cycle needs it.
        on_exhausted: Where it goes then; None raises `FlowLoopExceeded`.
    """

    fn: RouteFunction
    targets: Mapping[str, str]
    max_loops: int | None = None
    on_exhausted: str | None = None

    def labels_by_target(self, exhausted: str = "on_exhausted") -> dict[str, tuple[str, ...]]:
        """Return the labels that lead to each successor, for whoever draws the route.

        Args:
            exhausted: The label of the way that a spent loop takes.
        """
        labels: dict[str, dict[str, None]] = {}
        for label, target in self.targets.items():
            labels.setdefault(target, {})[label] = None
        if self.on_exhausted is not None:
            labels.setdefault(self.on_exhausted, {})[exhausted] = None
        return {target: tuple(each) for target, each in labels.items()}

    @property
    def successors(self) -> tuple[str, ...]:
        """Every node that the route can lead to, each once."""
        extra = () if self.on_exhausted is None else (self.on_exhausted,)
        return tuple(dict.fromkeys((*self.targets.values(), *extra)))


@dataclass(frozen=True)
class FlowGraph(Generic[StateT_co]):
    """A flow that passed validation.

    Implements: "Building and validating".

    Attributes:
        name: The flow's name.
        version: The flow's version, for checkpoints.
        state: The pydantic model of the state.
        schema: The state's fields and merge rules.
        nodes: The nodes by name, in the order in which they were added.
        start: Where a run begins.
        ends: The nodes that end their branch.
        edges: The static successors by node.
        routes: The routes by node.
        warnings: What is allowed but looks like a mistake.
    """

    name: str
    version: str
    state: type[StateT_co]
    schema: StateSchema
    nodes: Mapping[str, NodeSpec]
    start: str
    ends: frozenset[str]
    edges: Mapping[str, tuple[str, ...]]
    routes: Mapping[str, RouteSpec]
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def joins(self) -> frozenset[str]:
        """The nodes that wait until nothing else is left."""
        return frozenset(name for name, node in self.nodes.items() if node.kind == "join")

    @cached_property
    def gates(self) -> frozenset[str]:
        """The nodes that ask before they run."""
        return frozenset(name for name, node in self.nodes.items() if node.pause is not None)

    @cached_property
    def digest(self) -> str:
        """A SHA-256 over what the graph does; a checkpoint resumes only under the same one."""
        from accord.flow._digest import graph_digest

        return graph_digest(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON values, for programs that show or store it.

        Implements: "Building and validating".
        """
        from accord.flow._drawing import graph_data

        return graph_data(self)

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart, with kinds, gates, labels and loops.

        Implements: "Building and validating".
        """
        from accord.flow._drawing import mermaid_text

        return mermaid_text(self)

    def successors(self, node: str) -> tuple[str, ...]:
        """Return every node that can follow `node`, each once."""
        route = self.routes.get(node)
        return self.edges.get(node, ()) if route is None else route.successors
