"""A graph for the eye: plain data for programs that draw, and Mermaid text for pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from accord.flow._digest import qualified_name
from accord.flow.actions import Call, Join, Map

if TYPE_CHECKING:
    from accord.flow.graph import FlowGraph, NodeSpec, RouteSpec

_SHAPES = {"function": ("[", "]"), "call": ("[/", "/]"), "map": ("[[", "]]"), "join": ("{{", "}}")}


def graph_data(graph: FlowGraph) -> dict[str, Any]:
    """Return the graph as JSON values, in the order in which it was built."""
    return {
        "name": graph.name,
        "version": graph.version,
        "digest": graph.digest,
        "state": {
            "model": qualified_name(graph.state),
            "rules": {name: str(rule) for name, rule in graph.schema.rules.items()},
        },
        "start": graph.start,
        "ends": sorted(graph.ends),
        "nodes": [_node_data(node) for node in graph.nodes.values()],
        "edges": {node: list(targets) for node, targets in graph.edges.items()},
        "routes": {node: _route_data(route) for node, route in graph.routes.items()},
        "warnings": list(graph.warnings),
    }


def mermaid_text(graph: FlowGraph) -> str:
    """Return the graph as a Mermaid flowchart.

    A box is a function, a slanted box a Call, a double box a Map, a hexagon a join. A gate says
    `pause`, the edge of a route its labels, and a bounded route how often it may go back.
    """
    return "\n".join(("flowchart TB", *_mermaid_lines(graph), ""))


def _node_data(node: NodeSpec) -> dict[str, Any]:
    data: dict[str, Any] = {"name": node.name, "kind": node.kind, "action": _action_data(node)}
    if node.pause is not None:
        data["pause"] = qualified_name(node.pause)
    if node.prompt is not None:
        data["prompt"] = node.prompt
    if node.concurrency is not None:
        data["concurrency"] = node.concurrency
    return data


def _action_data(node: NodeSpec) -> dict[str, Any]:
    action = node.action
    if isinstance(action, Call):
        named = {"args_fn": qualified_name(action.args)} if callable(action.args) else {}
        return {"tool": action.tool, "into": action.into, **named}
    if isinstance(action, Map):
        names = ("over", "tool", "tool_from", "into", "args_from", "on_error")
        functions = {"fn": action.fn, "args_fn": action.args_fn}
        return {
            **{name: getattr(action, name) for name in names},
            **{name: qualified_name(fn) for name, fn in functions.items() if fn is not None},
        }
    if isinstance(action, Join):
        fn = None if action.fn is None else qualified_name(action.fn)
        return {"sources": list(action.sources), "fn": fn}
    return {"fn": qualified_name(action)}


def _route_data(route: RouteSpec) -> dict[str, Any]:
    return {
        "fn": qualified_name(route.fn),
        "targets": dict(route.targets),
        "max_loops": route.max_loops,
        "on_exhausted": route.on_exhausted,
    }


def _mermaid_lines(graph: FlowGraph) -> Iterator[str]:
    for name, node in graph.nodes.items():
        opening, closing = _SHAPES[node.kind]
        yield f'  {_id(name)}{opening}"{"<br/>".join(_captions(node))}"{closing}'
    yield f"  start((start)) --> {_id(graph.start)}"
    for name, targets in graph.edges.items():
        for target in targets:
            yield f"  {_id(name)} --> {_id(target)}"
    for name, route in graph.routes.items():
        for target, labels in route.labels_by_target(f"after {route.max_loops} loops").items():
            yield f'  {_id(name)} -- "{_escaped(", ".join(labels))}" --> {_id(target)}'
    for name in sorted(graph.ends):
        yield f"  {_id(name)} --> finish((end))"


def _captions(node: NodeSpec) -> Iterator[str]:
    yield node.name
    action = node.action
    if isinstance(action, Call):
        yield f"Call {_escaped(action.tool)}"
    if isinstance(action, Map):
        yield f"Map over {action.over}"
    if isinstance(action, Join):
        yield "Join"
    if node.pause is not None:
        yield "pause"


def _id(name: str) -> str:
    # `end` and other words of Mermaid are good names of nodes.
    return f"node_{name}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
