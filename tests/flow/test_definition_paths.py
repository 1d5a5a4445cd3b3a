"""Paths: the exits of a node, what is reachable, and what a join waits for."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Join, Route
from accord.flow.spec import Flow
from accord.flow.state import Merge


class Research(BaseModel):
    question: str = ""
    steps: list[dict[str, Any]] = Field(default_factory=list)
    found: Annotated[list[str], Merge.append] = Field(default_factory=list)
    again: bool = False


def work(state: Research) -> None:
    return None


def pick(state: Research) -> str:
    return "a"


def one_node(name: str = "only") -> Flow[Research]:
    return Flow("flow", state=Research).node(name, work).end(name)


def found(flow: Flow[Any]) -> list[Problem]:
    with pytest.raises(FlowDefinitionError) as refused:
        flow.validate()
    return list(refused.value.problems)


def places(flow: Flow[Any]) -> list[tuple[str | None, str]]:
    return [(problem.node, problem.message) for problem in found(flow)]


# --- exits ---------------------------------------------------------------------------------------


def test_a_node_has_edges_or_one_route_and_an_end_has_none() -> None:
    route = Route(pick, {"go": "end"})
    flow = (
        Flow("flow", state=Research)
        .node("start", work)
        .node("both", work)
        .node("twice", work)
        .node("stuck", work)
        .node("end", work)
        .node("end2", work)
        .edge("start", ["both", "twice", "stuck", "end2"])
        .edge("both", "end")
        .route("both", route)
        .route("twice", route)
        .route("twice", route)
        .route("end2", route)
        .edge("end", "stuck")
        .end("end", "end2")
    )

    assert found(flow) == [
        Problem(
            "both",
            "it has both edges and a route",
            "keep one of them; a route may pick several nodes",
        ),
        *(
            Problem(
                end,
                "it is an end but has an exit",
                "remove its edges and routes, or take it out of .end(...)",
            )
            for end in ("end", "end2")
        ),
        Problem(
            "stuck",
            "it has no exit",
            "add an edge or a route, or make it an end with .end('stuck')",
        ),
        Problem(
            "twice",
            "it has 2 routes",
            "keep one, whose function picks among all of their targets",
        ),
    ]


# --- reachability --------------------------------------------------------------------------------


def test_every_node_has_to_be_reachable_from_the_start() -> None:
    flow = one_node("a").node("b", work).node("c", work).edge("b", "c").edge("c", "a")

    hint = "lead an edge or a route to it, remove it, or choose another .start(...)"
    assert found(flow) == [
        Problem("b", "it cannot be reached from the start, 'a'", hint),
        Problem("c", "it cannot be reached from the start, 'a'", hint),
    ]
    assert flow.start("b").validate().start == "b"


def test_route_targets_and_on_exhausted_count_as_reachable() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).node("c", work)

    flow.route("a", Route(pick, {"again": "a", "go": "b"}), max_loops=1, on_exhausted="c")

    assert flow.end("b", "c").validate().successors("a") == ("a", "b", "c")


def test_without_a_start_no_node_is_called_unreachable() -> None:
    flow = one_node("a").start("lost")

    assert places(flow) == [(None, "the start is 'lost', which is no node")]


# --- joins ---------------------------------------------------------------------------------------


def test_a_join_may_join_edges_route_targets_and_on_exhausted() -> None:
    flow = (
        Flow("flow", state=Research)
        .node("start", work)
        .node("edge", work)
        .node("route", work)
        .node("spent", work)
        .node("out", work)
        .node("join", Join(["spent", "edge", "route", "edge"], work))
        .edge("start", ["edge", "route", "spent"])
        .edge("edge", "join")
        .route("route", Route(pick, {"on": "join"}))
        .route("spent", Route(pick, ["spent", "out"]), max_loops=1, on_exhausted="join")
        .end("join", "out")
    )

    assert flow.validate().joins == {"join"}


def test_every_source_of_a_join_is_a_predecessor() -> None:
    sources: Any = ["a", "b", "lost", "lost", ["a"]]
    flow = (
        Flow("flow", state=Research)
        .node("a", work)
        .node("b", work)
        .node("join", Join(sources))
        .node("none", Join([]))
        .edge("a", ["b", "join"])
        .edge("b", "none")
        .end("join", "none")
    )

    hint = "lead an edge or a route from there to 'join', or drop the source"
    assert found(flow) == [
        Problem("join", "it joins 'b', which does not lead to it", hint),
        Problem("join", "it joins 'lost', which does not lead to it", hint),
        Problem("join", "it joins ['a'], which does not lead to it", hint),
        Problem("none", "the join has no sources", "name the predecessors that it joins"),
    ]
