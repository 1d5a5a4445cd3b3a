"""The builder: a flow is written down once, in any order, and checked as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Generic

from accord.errors import FlowDefinitionError, Problem
from accord.flow._draft import Draft
from accord.flow._validate import check, no_such_node
from accord.flow.actions import Action, Route
from accord.flow.graph import FlowGraph, GateFunction, NodeSpec, RouteSpec, StateT


class Flow(Generic[StateT]):
    """A graph of nodes over one pydantic state, in the making.

    Implements: "Building and validating".

    Every method but `validate` and `with_prompts` adds to the flow and returns it. What it adds is
    checked by `validate`, so nodes and edges may come in any order.

    Args:
        name: The flow's name: a letter or `_`, then letters, digits and `_`, at most 64 in all.
        state: The pydantic model of the state.
        version: The flow's version, which checkpoints carry.

    Raises:
        TypeError: If a name, the version or a prompt is no text; so do all methods.
    """

    def __init__(self, name: str, *, state: type[StateT], version: str = "1") -> None:
        _texts("Flow", (name, version))
        self._draft = Draft(name, state, version)
        self._graph: FlowGraph[StateT] | None = None

    def node(
        self,
        name: str,
        action: Action,
        *,
        pause: GateFunction | None = None,
        prompt: str | None = None,
        concurrency: int | None = None,
    ) -> Flow[StateT]:
        """Add a node.

        Args:
            name: The node's name, by the rule for the flow's name.
            action: A function of the state, or of the state and a context; a Call, Map or Join.
            pause: Makes it a gate: `pause(state)` is what the approver sees.
            prompt: Text for the node's model, read with `node_prompt`.
            concurrency: How many items of a Map run at once, at least 1; None sets no cap.
        """
        _texts("node", (name,) if prompt is None else (name, prompt))
        spec = NodeSpec(name, action, pause=pause, prompt=prompt, concurrency=concurrency)
        if self._draft.nodes.setdefault(name, spec) is not spec:
            self._draft.repeated.add(name)
        return self._changed()

    def edge(self, source: str, target: str | Iterable[str]) -> Flow[StateT]:
        """Lead from a node to another, or to several that run in one superstep.

        An edge that exists already is kept once.
        """
        targets = (target,) if isinstance(target, str) else tuple(target)
        _texts("edge", (source, *targets))
        if targets:
            self._draft.edges.setdefault(source, {}).update(dict.fromkeys(targets))
        return self._changed()

    def route(
        self,
        source: str,
        route: Route,
        *,
        max_loops: int | None = None,
        on_exhausted: str | None = None,
    ) -> Flow[StateT]:
        """Let a function choose where to go after a node.

        Implements: "Routes and loops".

        Args:
            source: The node that the route leaves.
            route: The function and its targets.
            max_loops: How often the route may go back, at least 1; every cycle needs one.
            on_exhausted: Where it goes then; None raises `FlowLoopExceeded`.
        """
        _texts("route", (source,) if on_exhausted is None else (source, on_exhausted))
        if not isinstance(route, Route):
            raise TypeError(f"route() takes Route(fn, targets), not {route!r}")
        spec = RouteSpec(route.fn, MappingProxyType({**route.targets}), max_loops, on_exhausted)
        self._draft.routes.setdefault(source, []).append(spec)
        return self._changed()

    def start(self, name: str) -> Flow[StateT]:
        """Begin at this node instead of the first; the last call counts."""
        _texts("start", (name,))
        self._draft.start = name
        return self._changed()

    def end(self, *names: str) -> Flow[StateT]:
        """Let these nodes end their branch."""
        _texts("end", names)
        self._draft.ends.update(names)
        return self._changed()

    def validate(self) -> FlowGraph[StateT]:
        """Return the frozen graph: the same object until the flow changes.

        Raises:
            FlowDefinitionError: With every problem of the flow, in a stable order.
        """
        if self._graph is None:
            draft = self._draft
            start, schema, warnings = check(draft)
            self._graph = FlowGraph(
                name=draft.name,
                version=draft.version,
                state=draft.state,
                schema=schema,
                nodes=MappingProxyType({**draft.nodes}),
                start=start,
                ends=frozenset(draft.ends),
                edges=MappingProxyType(
                    {node: (*targets,) for node, targets in draft.edges.items()}
                ),
                routes=MappingProxyType({node: only for node, (only,) in draft.routes.items()}),
                warnings=warnings,
            )
        return self._graph

    def with_prompts(
        self, prompts: Mapping[str, str] | None = None, /, **named: str
    ) -> Flow[StateT]:
        """Return a copy of the flow with other prompts; this one keeps its own.

        Implements: "Inside a node".

        Args:
            prompts: The new prompts by node.
            named: More of them, as keywords.

        Raises:
            FlowDefinitionError: If a name is no node of the flow.
        """
        changes = {**(prompts or {}), **named}
        _texts("with_prompts", (*changes, *changes.values()))
        draft = self._draft.copy()
        problems = [
            Problem(name, "it has no node for this prompt", no_such_node(name, draft.nodes))
            for name in sorted(changes.keys() - draft.nodes)
        ]
        if problems:
            raise FlowDefinitionError(draft.name, problems)
        for name, prompt in changes.items():
            draft.nodes[name] = replace(draft.nodes[name], prompt=prompt)
        copied = Flow(draft.name, state=draft.state, version=draft.version)
        copied._draft = draft
        return copied

    def _changed(self) -> Flow[StateT]:
        self._graph = None
        return self


def _texts(method: str, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{method}() takes text here, not {value!r}")
