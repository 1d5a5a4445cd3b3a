"""Random plans, drawn so that a counterexample shrinks to a small one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.second_opinion.plan import JOB_FAILS, Plan, PlannedDecision, PlannedNode, PlannedRoute

_NAMES = ("d", "b", "e", "a", "f", "c", "g")  # the order of a plan is not the order of names

_good_writes = st.fixed_dictionaries(
    {},
    optional={
        "total": st.integers(0, 3),
        "value": st.sampled_from(["x", "y"]),
        "hits": st.lists(
            st.fixed_dictionaries({"id": st.integers(0, 2), "n": st.integers(0, 5)}), max_size=2
        ),
    },
)
_bad_writes = st.sampled_from([{"nope": 1}, {"total": "many"}])
_edits = st.fixed_dictionaries(
    {}, optional={"total": st.integers(0, 3), "value": st.just("edited"), "log": st.just("edit")}
)
_rarely = st.sampled_from([False] * 7 + [True])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a valid plan: every node is reached, and every cycle is bounded."""
    count = draw(st.integers(1, len(_NAMES)))
    names = _NAMES[:count]
    forward = _forward_edges(draw, count)
    nodes = [_node(draw, names, position, forward[position]) for position in range(count)]
    return Plan(
        nodes=tuple(nodes),
        jobs=tuple(draw(st.lists(st.sampled_from([1, 2, 4, 5, JOB_FAILS]), max_size=4))),
        decisions=tuple(
            draw(
                st.lists(
                    st.builds(
                        PlannedDecision,
                        approved=st.sampled_from([True, True, True, False]),
                        edits=_edits,
                    ),
                    min_size=1,
                    max_size=3,
                )
            )
        ),
        max_steps=draw(st.sampled_from([4, 30])),
    )


def _forward_edges(draw: st.DrawFn, count: int) -> list[set[int]]:
    """Draw edges that lead onwards only, at least one into every node but the first."""
    forward: list[set[int]] = [set() for _ in range(count)]
    for position in range(1, count):
        forward[draw(st.integers(0, position - 1))].add(position)
    for position in range(count - 1):
        forward[position] |= draw(st.sets(st.integers(position + 1, count - 1), max_size=1))
    return forward


def _node(draw: st.DrawFn, names: tuple[str, ...], position: int, forward: set[int]) -> PlannedNode:
    targets = tuple(names[other] for other in sorted(forward))
    kinds = (
        ["function", "function", "call", "map", "each", "join"]
        if position
        else ["function", "call"]
    )
    kind = draw(st.sampled_from(kinds))
    shared: dict[str, Any] = {
        "name": names[position],
        "kind": kind,
        "writes": draw(_bad_writes if draw(_rarely) else _good_writes),
        "does": draw(st.sampled_from(["raises", "misbehaves"])) if draw(_rarely) else "returns",
        "is_async": draw(st.booleans()),
        "is_gate": draw(st.sampled_from([False, False, True])),
        "skips": draw(st.booleans()),
    }
    if not targets or not draw(st.booleans()):
        return PlannedNode(targets=targets, **shared)
    return PlannedNode(route=_route(draw, names, position, targets), **shared)


def _route(
    draw: st.DrawFn, names: tuple[str, ...], position: int, targets: tuple[str, ...]
) -> PlannedRoute:
    earlier = st.sampled_from(names[: position + 1])
    back: set[str] = draw(st.sets(earlier, max_size=2))
    labels = {f"to_{name}": name for name in (*targets, *sorted(back - set(targets)))}
    pick = st.lists(st.sampled_from(sorted(labels)), min_size=1, max_size=2, unique=True)
    picks = draw(st.lists(pick, min_size=1, max_size=3))
    if draw(_rarely):
        picks.append(draw(st.sampled_from([[], ["nowhere"]])))
    bounded = bool(back) or draw(st.booleans())
    return PlannedRoute(
        labels,
        tuple(tuple(pick) for pick in picks),
        max_loops=draw(st.integers(1, 3)) if bounded else None,
        on_exhausted=draw(st.none() | st.sampled_from(targets)) if bounded else None,
    )
