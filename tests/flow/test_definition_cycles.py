"""Cycles: each has to be bounded, and is shown shortest first."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Route
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


def found(flow: Flow[Any]) -> list[Problem]:
    with pytest.raises(FlowDefinitionError) as refused:
        flow.validate()
    return list(refused.value.problems)


def places(flow: Flow[Any]) -> list[tuple[str | None, str]]:
    return [(problem.node, problem.message) for problem in found(flow)]


UNBOUNDED = "let it pass through a route with max_loops"


def test_a_cycle_passes_through_a_route_with_max_loops() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).node("end", work)
    flow.edge("a", "b").end("end")

    bounded = flow.with_prompts().route("b", Route(pick, ["a", "end"]), max_loops=1)
    unbounded = flow.with_prompts().route("b", Route(pick, ["a", "end"]))

    assert bounded.validate().routes["b"].max_loops == 1
    assert found(unbounded) == [Problem("a", "the cycle a -> b -> a has no bound", UNBOUNDED)]


def test_a_node_that_leads_to_itself_is_a_cycle() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("end", work).edge("a", ["a", "end"])

    assert found(flow.end("end")) == [Problem("a", "the cycle a -> a has no bound", UNBOUNDED)]


def test_a_route_with_max_loops_does_not_bound_a_cycle_beside_it() -> None:
    flow = (
        Flow("flow", state=Research)
        .node("a", work)
        .node("b", work)
        .node("c", work)
        .node("end", work)
        .edge("a", ["b", "c"])
        .edge("b", "a")
        .route("c", Route(pick, ["a", "end"]), max_loops=5, on_exhausted="end")
        .end("end")
    )

    assert found(flow) == [Problem("a", "the cycle a -> b -> a has no bound", UNBOUNDED)]


def test_each_group_of_cycles_shows_its_shortest_from_its_first_node_by_name() -> None:
    flow = (
        Flow("flow", state=Research)
        .node("start", work)
        .edge("start", "z")
        .node("z", work)
        .edge("z", ["y", "b"])
        .node("y", work)
        .edge("y", ["x", "z"])
        .node("x", work)
        .edge("x", ["y", "z"])
        .node("c", work)
        .edge("c", ["a", "end"])
        .node("b", work)
        .edge("b", ["c", "a"])
        .node("a", work)
        .edge("a", "b")
        .node("end", work)
        .end("end")
    )

    assert places(flow) == [
        ("a", "the cycle a -> b -> a has no bound"),
        ("x", "the cycle x -> y -> x has no bound"),
    ]


def test_of_equally_short_cycles_the_first_by_name_is_shown() -> None:
    names = ["k", "b", "e", "h", "d", "i", "c", "f", "g", "j"]
    flow = Flow("flow", state=Research).node("a", work).edge("a", names)
    for name in names:
        flow.node(name, work).edge(name, "a")
    flow.node("detour", work).edge("k", "detour").edge("detour", "a")

    assert places(flow) == [("a", "the cycle a -> b -> a has no bound")]


def test_a_shorter_cycle_is_shown_before_a_longer_one() -> None:
    flow = Flow("flow", state=Research).node("a", work).edge("a", ["b", "z"])
    flow.node("b", work).edge("b", "c").node("c", work).edge("c", "a").node("z", work)

    assert places(flow.edge("z", "a")) == [("a", "the cycle a -> z -> a has no bound")]


def test_a_long_cycle_is_shortened_and_no_length_of_flow_is_too_deep() -> None:
    size = 5 * sys.getrecursionlimit()
    ring, chain = Flow("ring", state=Research), Flow("chain", state=Research)
    for number in range(size):
        ring.node(f"n{number}", work).edge(f"n{number}", f"n{(number + 1) % size}")
        chain.node(f"n{number}", work).edge(f"n{number}", f"n{number + 1}")

    assert places(ring) == [
        (
            "n0",
            f"the cycle n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> ({size - 6} more) -> n0 has no bound",
        )
    ]
    assert len(chain.node(f"n{size}", work).end(f"n{size}").validate().nodes) == size + 1


@pytest.mark.parametrize("size", [7, 8])
def test_a_cycle_of_up_to_seven_nodes_is_shown_whole(size: int) -> None:
    flow = Flow("flow", state=Research)
    for number in range(size):
        flow.node(f"n{number}", work).edge(f"n{number}", f"n{(number + 1) % size}")

    shown = {
        7: "n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n0",
        8: "n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> (2 more) -> n0",
    }
    assert places(flow) == [("n0", f"the cycle {shown[size]} has no bound")]
