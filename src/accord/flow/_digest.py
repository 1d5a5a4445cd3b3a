"""What a graph does, as one SHA-256: a checkpoint resumes only where the digest is the same."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args, get_origin

from accord.flow.actions import Call, Join, Map
from accord.seal import canonical_text

if TYPE_CHECKING:
    from pydantic import JsonValue

    from accord.flow.graph import FlowGraph, NodeSpec, RouteSpec
    from accord.flow.state import StateSchema


def graph_digest(graph: FlowGraph) -> str:
    """Return a SHA-256 (64 hex digits) over what the graph does.

    Implements: "Building and validating".

    Covered are the name, the state model with its fields, annotations and merge rules, start, ends,
    edges, routes, and of each node its name, kind, gate and action. Prompts, concurrency and the
    version are not, nor is the order in which nodes and edges were added. A function counts by its
    module and qualified name alone.
    """
    tree: dict[str, JsonValue] = {
        "name": graph.name,
        "state": _state(graph.schema),
        "start": graph.start,
        "ends": [*sorted(graph.ends)],
        "edges": {node: [*sorted(targets)] for node, targets in graph.edges.items()},
        "routes": {node: _route(route) for node, route in graph.routes.items()},
        "nodes": {name: _node(node) for name, node in graph.nodes.items()},
    }
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def qualified_name(named: object) -> str:
    """Return `module:qualname` of a function or class.

    A `functools.partial` goes by the function that it wraps, an object without a name of its own
    (one with `__call__`, for instance) by its class. Two partials of one function therefore share
    a name, as do two instances of one class.
    """
    while isinstance(named, functools.partial):
        named = named.func
    name = getattr(named, "__qualname__", None) or getattr(named, "__name__", None)
    if not isinstance(name, str):
        named, name = type(named), type(named).__qualname__
    # A method of a built-in object has no module.
    return f"{getattr(named, '__module__', None) or 'builtins'}:{name}"


def _node(node: NodeSpec) -> JsonValue:
    return {
        "kind": node.kind,
        "gate": None if node.pause is None else qualified_name(node.pause),
        "action": _action(node),
    }


def _action(node: NodeSpec) -> JsonValue:
    action = node.action
    if isinstance(action, Call):
        args = action.args
        named = qualified_name(args) if callable(args) else canonical_text(dict(args), "args")
        return {"tool": action.tool, "into": action.into, "args": named}
    if isinstance(action, Map):
        functions = {"fn": action.fn, "args_fn": action.args_fn}
        return {
            **{key: qualified_name(fn) for key, fn in functions.items() if fn is not None},
            "over": action.over,
            "into": action.into,
            "tool": action.tool,
            "tool_from": action.tool_from,
            "args_from": action.args_from,
            "on_error": action.on_error,
        }
    if isinstance(action, Join):
        return {
            "sources": [*sorted(set(action.sources))],
            "fn": None if action.fn is None else qualified_name(action.fn),
        }
    return qualified_name(action)


def _route(route: RouteSpec) -> JsonValue:
    return {
        "fn": qualified_name(route.fn),
        "targets": {**route.targets},
        "max_loops": route.max_loops,
        "on_exhausted": route.on_exhausted,
    }


def _state(schema: StateSchema) -> JsonValue:
    fields: Mapping[str, JsonValue] = {
        name: {
            "annotation": _annotation(info.annotation),
            "rule": [schema.rules[name].kind, schema.rules[name].by],
        }
        for name, info in schema.model.model_fields.items()
    }
    return {"model": qualified_name(schema.model), "fields": {**fields}}


def _annotation(annotation: object) -> str:
    # Not repr: it shows addresses (of a validator in Annotated), and its words change with Python.
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotation(args[0])
    # typing keeps List[Union[a, b]] and List[Union[b, a]] as one object, in the order of whichever
    # came first in the process, so the order of a union or literal cannot count.
    if origin is Union or origin is UnionType:
        return " | ".join(sorted(map(_annotation, args)))
    if origin is Literal:
        return f"Literal[{', '.join(sorted(map(_literal, args)))}]"
    if origin is not None:
        return f"{qualified_name(origin)}[{', '.join(map(_annotation, args))}]"
    if isinstance(annotation, list):  # the parameters of a Callable
        return f"[{', '.join(map(_annotation, annotation))}]"
    return qualified_name(annotation)


def _literal(value: object) -> str:
    # An Enum may have any repr.
    if isinstance(value, Enum):
        return f"{qualified_name(type(value))}.{value.name}"
    return repr(value)
