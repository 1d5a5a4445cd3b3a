"""The superstep as pure functions: which nodes are ready, where they lead, what changes.

No function here knows an engine, does I/O or changes what it is given; a route function of the
flow's author is the only foreign code that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from accord._invoke import inline
from accord.errors import FlowError, FlowLoopExceeded
from accord.flow._position import Exit, Step, Updates

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.flow._position import Position
    from accord.flow.graph import FlowGraph, RouteSpec


def ready_nodes(graph: FlowGraph, frontier: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes of the next superstep in update order.

    Implements: "The superstep" and "Joins".

    Joins are ready only when nothing else is left, and then all of them.
    """
    if len(frontier := frozenset(frontier)) > 1 and (others := frontier - graph.joins):
        return tuple(sorted(others))
    return tuple(sorted(frontier))


def check_steps(graph: FlowGraph, steps: int, max_steps: int) -> None:
    """Refuse the next superstep when `max_steps` of them have finished.

    Implements: "Limits".

    Raises:
        FlowLoopExceeded: If the limit is reached.
    """
    if steps >= max_steps:
        raise FlowLoopExceeded(
            f"the run reached max_steps={max_steps} before it ended; raise max_steps, or bound "
            "the loop with max_loops",
            flow=graph.name,
        )


async def leave(
    graph: FlowGraph,
    node: str,
    state: BaseModel,
    *,
    visits: Mapping[str, int],
    loops: Mapping[str, int],
) -> Exit:
    """Decide where a finished visit of `node` leads.

    Implements: "Routes and loops".

    Args:
        graph: The graph.
        node: The node that finished.
        state: The superstep's input plus this node's own updates.
        visits: How often each node had finished before this superstep.
        loops: How often each route had gone back before this superstep.

    Returns:
        The nodes that follow, and whether that counts a loop.

    Raises:
        FlowLoopExceeded: If the loop is spent and the route has no `on_exhausted`.
        FlowError: If the route picks nothing or an unknown label, or its function fails.
    """
    route = graph.routes.get(node)
    if route is None:
        return Exit(graph.edges.get(node, ()))
    targets = await _pick(graph, node, route, state)
    if not any(target == node or visits.get(target, 0) for target in targets):
        return Exit(targets)
    if route.max_loops is None or loops.get(node, 0) < route.max_loops:
        return Exit(targets, looped=True)
    if route.on_exhausted is None:
        raise FlowLoopExceeded(
            f"the route of {node!r} went back {route.max_loops} times, its max_loops, and has no "
            "on_exhausted; add one, or raise max_loops",
            flow=graph.name,
            node=node,
        )
    return Exit((route.on_exhausted,))


async def advance(graph: FlowGraph, position: Position, updates: Mapping[str, Updates]) -> Step:
    """Return what a finished superstep changes.

    Implements: "The superstep".

    Args:
        graph: The graph.
        position: Where the run stood when the superstep began, gate edits included.
        updates: What each ready node wrote, by node.

    Raises:
        FlowError: If the updates do not merge, or a route fails. Nothing is half merged.
    """
    ready = ready_nodes(graph, position.frontier)
    schema = graph.schema
    state = schema.apply_updates(
        position.state, [(node, update) for node in ready for update in updates[node]]
    )
    exits: dict[str, Exit] = {}
    for node in ready:
        own = state
        if node in graph.routes and len(ready) > 1:
            own = _own_state(graph, position.state, node, updates[node])
        exits[node] = await leave(graph, node, own, visits=position.visits, loops=position.loops)
    return Step(state, exits)


async def leave_first(
    graph: FlowGraph,
    node: str,
    state: BaseModel,
    updates: Updates,
    *,
    alone: bool,
    visits: Mapping[str, int],
    loops: Mapping[str, int],
) -> Exit:
    """Check what one node wrote and decide where it leads, before its siblings have finished.

    Implements: "Routes and loops".

    For an engine that lets each node write its own exit. The joint merge is still to be checked.

    Args:
        graph: The graph.
        node: The node that finished.
        state: The superstep's input.
        updates: What the node wrote.
        alone: Whether it is the only node of its superstep.
        visits: How often each node had finished before this superstep.
        loops: How often each route had gone back before this superstep.

    Raises:
        FlowError: If the updates can be part of no merge, or the route fails.
    """
    if node not in graph.routes and graph.schema.revalidates_whole and not alone:
        # The model may accept this update only together with those of the other nodes.
        graph.schema.check_updates(state, node, updates)
        return Exit(graph.edges.get(node, ()))
    own = _own_state(graph, state, node, updates)
    return await leave(graph, node, own, visits=visits, loops=loops)


def _own_state(graph: FlowGraph, state: BaseModel, node: str, updates: Updates) -> BaseModel:
    return graph.schema.apply_updates(state, [(node, update) for update in updates])


async def _pick(graph: FlowGraph, node: str, route: RouteSpec, state: BaseModel) -> tuple[str, ...]:
    try:
        picked = await inline(route.fn, state)
    except Exception as error:
        raise FlowError(
            f"the route of {node!r} failed: {type(error).__name__}: {error}",
            flow=graph.name,
            node=node,
        ) from error
    labels = tuple(picked) if isinstance(picked, list | tuple) else (picked,)
    known = route.targets.keys()
    unknown = [label for label in labels if not isinstance(label, str) or label not in known]
    if unknown or not labels:
        what = f"the unknown label {unknown[0]!r}" if unknown else "nothing"
        raise FlowError(
            f"the route of {node!r} picked {what}; its labels are {', '.join(route.targets)}",
            flow=graph.name,
            node=node,
        )
    return tuple(dict.fromkeys(route.targets[label] for label in labels))
