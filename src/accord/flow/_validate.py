"""The checks that a flow definition has to pass as a graph, and all of them as one verdict."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.errors import FlowDefinitionError, Problem
from accord.flow._contents import RESERVED, contents, schema_of, warnings
from accord.flow._walk import Links, cycles, reachable, reversed_links
from accord.flow.actions import Join

if TYPE_CHECKING:
    from accord.flow._draft import Draft
    from accord.flow.state import StateSchema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# The search for a similar name takes time with every candidate.
_SUGGEST_AMONG = 200
_CYCLE_SHOWN = 8


class Checked(NamedTuple):
    """What the checks found out about a flow without problems.

    Attributes:
        start: Where a run begins.
        schema: The state's fields and merge rules.
        warnings: What is allowed but looks like a mistake, in a stable order.
    """

    start: str
    schema: StateSchema
    warnings: tuple[str, ...]


def check(draft: Draft[Any]) -> Checked:
    """Check a flow definition as a whole.

    Implements: "Building and validating".

    Raises:
        FlowDefinitionError: With every problem: by check in the order of the table, then by node
            name, whatever the order in which the flow was built. Of nodes that all lead to each
            other without a bound, one cycle is shown.
    """
    schema = schema_of(draft.state)
    links = _links(draft)
    groups = (
        _names(draft),
        _endpoints(draft),
        _exits(draft),
        _reachability(draft, links),
        _joins(draft, links),
        _cycles(_links(draft, bounded=False)),
        contents(draft, schema),
    )
    problems = [problem for group in groups for problem in sorted(group, key=_place)]
    if problems or draft.first is None or isinstance(schema, Problem):
        raise FlowDefinitionError(draft.name, problems)
    return Checked(draft.first, schema, (*warnings(draft, schema),))


def no_such_node(name: object, nodes: Collection[str]) -> str:
    """Return the hint for a name that no node has."""
    if isinstance(name, str) and len(nodes) <= _SUGGEST_AMONG:
        from difflib import get_close_matches

        for similar in get_close_matches(name, sorted(nodes), 1):
            return f"did you mean {similar!r}? If not, add .node({name!r}, ...)"
    return f"add .node({name!r}, ...), or correct the name"


def _place(problem: Problem) -> tuple[str, str]:
    return problem.node or "", problem.message


def _links(draft: Draft[Any], *, bounded: bool = True) -> Links:
    """Collect the existing successors of each node; routes with `max_loops` only if `bounded`."""
    links: dict[str, tuple[str, ...]] = {}
    for node in draft.nodes:
        targets: set[str | None] = {*draft.edges.get(node, ())}
        for route in draft.routes.get(node, ()):
            if bounded or route.max_loops is None:
                targets.update(map(_text, (*route.targets.values(), route.on_exhausted)))
        # Sorted, so that a cycle reads the same however the flow was built.
        links[node] = (*sorted(draft.nodes.keys() & targets),)
    return links


def _text(target: object) -> str | None:
    return target if isinstance(target, str) else None


def _names(draft: Draft[Any]) -> Iterator[Problem]:
    rule = "use a letter or _, then letters, digits and _, at most 64 in all"
    if not _NAME.fullmatch(draft.name):
        yield Problem(None, f"the flow's name {draft.name!r} is not allowed", rule)
    for name in draft.nodes:
        if not _NAME.fullmatch(name):
            yield Problem(name, "the name is not allowed", rule)
        elif name.startswith(RESERVED) or (name.startswith("__") and name.endswith("__")):
            yield Problem(
                name,
                "the name is reserved for the engines",
                f"choose one that neither begins with {RESERVED} nor has the form __name__",
            )
    for name in draft.repeated:
        yield Problem(name, "several nodes have this name", "give each node a name of its own")


def _endpoints(draft: Draft[Any]) -> Iterator[Problem]:
    nodes = draft.nodes

    def missing(node: str | None, what: str, name: object) -> Iterator[Problem]:
        if not isinstance(name, str) or name not in nodes:
            yield Problem(node, f"{what} {name!r}, which is no node", no_such_node(name, nodes))

    if draft.start is not None:
        yield from missing(None, "the start is", draft.start)
    for end in draft.ends:
        yield from missing(None, "an end is", end)
    for node, targets in draft.edges.items():
        yield from missing(None, "an edge leaves", node)
        for target in targets:
            yield from missing(node, "an edge leads to", target)
    for node, routes in draft.routes.items():
        yield from missing(None, "a route leaves", node)
        for route in routes:
            for label, target in route.targets.items():
                yield from missing(node, f"the route's label {label!r} leads to", target)
            if route.on_exhausted is not None:
                yield from missing(node, "on_exhausted is", route.on_exhausted)


def _exits(draft: Draft[Any]) -> Iterator[Problem]:
    for node in draft.nodes:
        edges, routes = len(draft.edges.get(node, ())), len(draft.routes.get(node, ()))
        if edges and routes:
            yield Problem(
                node,
                "it has both edges and a route",
                "keep one of them; a route may pick several nodes",
            )
        if routes > 1:
            yield Problem(
                node,
                f"it has {routes} routes",
                "keep one, whose function picks among all of their targets",
            )
        if node in draft.ends and (edges or routes):
            yield Problem(
                node,
                "it is an end but has an exit",
                "remove its edges and routes, or take it out of .end(...)",
            )
        if node not in draft.ends and not (edges or routes):
            yield Problem(
                node,
                "it has no exit",
                f"add an edge or a route, or make it an end with .end({node!r})",
            )


def _reachability(draft: Draft[Any], links: Links) -> Iterator[Problem]:
    start = draft.first
    if start is None or start not in links:
        return  # said already; without a start, every node would be named here
    for node in links.keys() - reachable(start, links):
        yield Problem(
            node,
            f"it cannot be reached from the start, {start!r}",
            "lead an edge or a route to it, remove it, or choose another .start(...)",
        )


def _joins(draft: Draft[Any], links: Links) -> Iterator[Problem]:
    predecessors = reversed_links(links)
    for node, spec in draft.nodes.items():
        if not isinstance(spec.action, Join):
            continue
        if not spec.action.sources:
            yield Problem(node, "the join has no sources", "name the predecessors that it joins")
        # By repr, because a source may be anything that the author wrote.
        known = {repr(name) for name in predecessors[node]}
        for source in dict.fromkeys(map(repr, spec.action.sources)):
            if source not in known:
                yield Problem(
                    node,
                    f"it joins {source}, which does not lead to it",
                    f"lead an edge or a route from there to {node!r}, or drop the source",
                )


def _cycles(links: Links) -> Iterator[Problem]:
    for cycle in cycles(links):
        shown = [*cycle, cycle[0]]
        if len(shown) > _CYCLE_SHOWN:
            shown[_CYCLE_SHOWN - 2 : -1] = [f"({len(shown) - _CYCLE_SHOWN + 1} more)"]
        yield Problem(
            cycle[0],
            f"the cycle {' -> '.join(shown)} has no bound",
            "let it pass through a route with max_loops",
        )
