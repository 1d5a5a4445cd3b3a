"""The checks of what a flow is made of: its state model, actions and options, and the warnings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.errors import PydanticUndefinedAnnotation

from accord.errors import ConfigError, FlowError, Problem
from accord.flow._digest import qualified_name
from accord.flow.actions import Call, Join, Map
from accord.flow.state import Merge, StateSchema
from accord.seal import canonical_text

if TYPE_CHECKING:
    from accord.flow._draft import Draft
    from accord.flow.graph import NodeSpec, RouteSpec

RESERVED = "aa_"
"""What names of nodes and state fields may not begin with; engines keep their own under it."""


def schema_of(model: object) -> StateSchema | Problem:
    """Return the schema of a state model, or why it has none."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or model is BaseModel:
        what = f"the class {model.__name__}" if isinstance(model, type) else f"{model!r}"
        return Problem(
            None,
            f"the state is {what}, which is no pydantic model",
            "pass a subclass of pydantic.BaseModel, the class itself: state=MyState",
        )
    try:
        return StateSchema(model)
    except ConfigError as error:
        return Problem(None, str(error), "pass another model as state=")
    except PydanticUndefinedAnnotation as error:
        return Problem(
            None,
            f"an annotation of the state {model.__name__} names {error.name!r}, which is unknown",
            "define or import it where the model is defined",
        )


def contents(draft: Draft[Any], schema: StateSchema | Problem) -> Iterator[Problem]:
    """Find what is wrong with the state, the nodes' actions and options, and the routes."""
    fields: Collection[str] | None = None
    if isinstance(schema, Problem):
        yield schema
    else:
        fields = schema.fields
        for name in fields:
            if name.startswith(RESERVED):
                yield Problem(
                    None,
                    f"the state field {name!r} is reserved for the engines",
                    f"choose a name that does not begin with {RESERVED}",
                )
    if not draft.nodes:
        yield Problem(None, "it has no nodes", "add one with .node(name, action)")
    for spec in draft.nodes.values():
        yield from _node(spec, fields)
    for node, routes in draft.routes.items():
        for route in routes:
            yield from _route(node, route)


def warnings(draft: Draft[Any], schema: StateSchema) -> Iterator[str]:
    """Find what is allowed but looks like a mistake, by kind and then by node name."""
    names = sorted(draft.nodes)
    for name in names:
        action = draft.nodes[name].action
        if isinstance(action, Map) and schema.rules[action.into] == Merge.replace:
            yield (
                f"node {name!r} maps into {action.into!r}, whose rule is replace, so two items "
                "with different values conflict; annotate the field with Merge.append or "
                "Merge.keyed"
            )
    for name in sorted(draft.routes):
        if any(r.max_loops is not None and r.on_exhausted is None for r in draft.routes[name]):
            yield (
                f"node {name!r} has a route with max_loops and no on_exhausted, so the run fails "
                "when the loop is spent; name the node to go to then"
            )
    if schema.model.__module__ == "__main__":
        yield _unfindable("the state model", schema.model)
    for name in names:
        for fn in _functions(draft.nodes[name], draft.routes.get(name, ())):
            if qualified_name(fn).startswith("__main__:"):
                yield _unfindable(f"a function of node {name!r}", fn)


def _unfindable(what: str, named: object) -> str:
    name = qualified_name(named).partition(":")[2]
    return (
        f"{what}, {name}, is defined in __main__, where another process does not find it, so "
        "checkpoints do not resume there; move it into a module"
    )


def _functions(spec: NodeSpec, routes: Collection[RouteSpec]) -> Iterator[object]:
    action: object = spec.action
    if isinstance(action, Call):
        action = action.args
    elif isinstance(action, Join):
        action = action.fn
    elif isinstance(action, Map):
        action = action.fn or action.args_fn
    for fn in (action, spec.pause, *(route.fn for route in routes)):
        if callable(fn):
            yield fn


def _node(spec: NodeSpec, fields: Collection[str] | None) -> Iterator[Problem]:
    name, action, pause = spec.name, spec.action, _anything(spec.pause)
    if isinstance(action, Call):
        yield from _call(name, action, fields)
    elif isinstance(action, Map):
        yield from _map(name, action, fields)
    elif isinstance(action, Join):
        if action.fn is not None and not callable(_anything(action.fn)):
            yield Problem(
                name,
                f"the join's fn is {action.fn!r}, which cannot be called",
                "pass fn(state) or fn(state, ctx), or leave it out",
            )
    elif not callable(_anything(action)):
        yield Problem(
            name,
            f"the action is {action!r}, which cannot be called",
            "pass fn(state), fn(state, ctx), Call(...), Map(...) or Join(...)",
        )
    if pause is not None and not callable(pause):
        yield Problem(
            name,
            f"pause is {pause!r}, which cannot be called",
            "pass pause=fn(state), which returns what the approver sees",
        )
    if spec.concurrency is not None:
        if not isinstance(action, Map):
            yield Problem(
                name,
                "concurrency is set, but the action is no Map",
                "remove it; FlowRunner(concurrency=...) caps the nodes of a superstep",
            )
        if not _is_count(spec.concurrency):
            yield Problem(
                name, f"concurrency is {spec.concurrency!r}", "pass a whole number of 1 or more"
            )


def _call(name: str, action: Call, fields: Collection[str] | None) -> Iterator[Problem]:
    yield from _field(name, "Call.into", action.into, fields)
    if not _is_text(action.tool):
        yield Problem(name, f"Call.tool is {action.tool!r}", "pass a text that is not empty")
    args = _anything(action.args)
    if not callable(args) and not isinstance(args, Mapping):
        yield Problem(
            name,
            f"Call.args is {args!r}",
            "pass the arguments by name, or a function of the state that returns them",
        )
    elif isinstance(args, Mapping):
        try:
            canonical_text(dict(args), "Call.args")
        except FlowError as error:
            # They count in the graph's digest, which has to be the same in every process.
            yield Problem(name, str(error), "pass a function of the state that returns them")


def _field(name: str, option: str, field: str, fields: Collection[str] | None) -> Iterator[Problem]:
    # By repr, because the value may be anything that the author wrote.
    if fields is not None and repr(field) not in map(repr, fields):
        yield Problem(
            name,
            f"{option} is {field!r}, which is no field of the state",
            f"use a field: {', '.join(sorted(fields)) or 'the state has none yet'}",
        )


def _map(name: str, action: Map, fields: Collection[str] | None) -> Iterator[Problem]:
    yield from _field(name, "Map.over", action.over, fields)
    yield from _field(name, "Map.into", action.into, fields)
    given = [each for each in ("tool", "tool_from", "fn") if getattr(action, each) is not None]
    if len(given) != 1:
        yield Problem(
            name,
            f"the Map has {' and '.join(given) or 'no tool, tool_from or fn'}",
            "pass one of tool=<name>, tool_from=<key of each item> and fn=<function of an item>",
        )
    for option in ("fn", "args_fn"):
        function: object = getattr(action, option)
        if function is not None and not callable(function):
            yield Problem(name, f"Map.{option} is {function!r}", "pass a function of the item")
    if action.args_fn is not None and action.tool is None:
        yield Problem(name, "the Map has args_fn without tool", "add tool=<name>, or remove it")
    for option in ("tool", "tool_from", "args_from"):
        text: object = getattr(action, option)
        if not _is_text(text) and (text is not None or option == "args_from"):
            yield Problem(name, f"Map.{option} is {text!r}", "pass a text that is not empty")
    if action.on_error not in ("fail", "skip"):
        yield Problem(name, f"Map.on_error is {action.on_error!r}", "pass 'fail' or 'skip'")


def _route(node: str, route: RouteSpec) -> Iterator[Problem]:
    if not callable(_anything(route.fn)):
        yield Problem(
            node,
            f"the route's fn is {route.fn!r}, which cannot be called",
            "pass Route(fn, targets) with fn(state), which returns a label or a list of labels",
        )
    if not route.targets:
        yield Problem(
            node, "the route has no targets", "pass node names, or a mapping of labels to nodes"
        )
    for label in route.targets:
        if not _is_text(label):
            yield Problem(node, f"the route's label {label!r} is no text", "use a text as label")
    if route.max_loops is not None and not _is_count(route.max_loops):
        yield Problem(node, f"max_loops is {route.max_loops!r}", "pass a whole number of 1 or more")
    if route.on_exhausted is not None and route.max_loops is None:
        yield Problem(
            node, "the route has on_exhausted without max_loops", "add max_loops, or remove it"
        )


def _anything(value: object) -> object:
    """Return `value`, whose declared type its author may not have kept to."""
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
