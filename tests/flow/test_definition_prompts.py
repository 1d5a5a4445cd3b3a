"""Prompts: a copy of a flow with other prompts."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Map, Route
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


def test_with_prompts_copies_the_flow_and_leaves_the_original_alone() -> None:
    flow = (
        Flow("flow", state=Research, version="2")
        .node("a", work, prompt="old a")
        .node("b", Map("steps", tool="search", into="found"), prompt="old b", concurrency=2)
        .node("c", work)
        .edge("a", "b")
        .route("b", Route(pick, ["c"]), max_loops=2, on_exhausted="c")
        .start("a")
        .end("c")
    )
    before = flow.validate()

    copy = flow.with_prompts({"a": "new a"}, c="new c")

    assert flow.validate() is before
    assert [node.prompt for node in before.nodes.values()] == ["old a", "old b", None]
    graph = copy.validate()
    assert [node.prompt for node in graph.nodes.values()] == ["new a", "old b", "new c"]
    assert (graph.name, graph.version, graph.state) == ("flow", "2", Research)
    assert graph.nodes["b"].concurrency == 2
    assert (graph.start, graph.ends) == (before.start, before.ends)
    assert (graph.edges, graph.routes) == (before.edges, before.routes)
    assert graph.digest == before.digest


def test_a_copy_with_prompts_and_its_original_change_independently() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).edge("a", "b").end("b")
    routed = Route(pick, ["b"])

    copy = flow.with_prompts(a="new")
    copy.node("c", work).edge("a", "c").end("c")
    other = flow.with_prompts(a="other").node("d", work).node("d", work).route("d", routed)

    assert list(flow.validate().nodes) == ["a", "b"]
    assert flow.validate().edges == {"a": ("b",)}
    assert copy.validate().edges == {"a": ("b", "c")}
    assert [node for node, _ in places(other)] == ["d", "d"]


def test_a_route_added_to_a_copy_does_not_reach_the_original() -> None:
    route = Route(pick, ["b"])
    flow = Flow("flow", state=Research).node("a", work).node("b", work).route("a", route).end("b")

    copy = flow.with_prompts(a="new").route("a", route)

    assert places(copy) == [("a", "it has 2 routes")]
    assert flow.with_prompts().validate().routes == flow.validate().routes


def test_with_prompts_keeps_the_problems_of_the_flow() -> None:
    flow = one_node("a").node("a", work).route("x", Route(pick, ["a"]))

    assert found(flow.with_prompts(a="new")) == found(flow)


def test_with_prompts_refuses_every_name_that_is_no_node() -> None:
    flow = one_node("reason")

    with pytest.raises(FlowDefinitionError) as refused:
        flow.with_prompts({"zebra": "z", "reason": "r"}, reson="s")

    assert refused.value.flow == "flow"
    assert refused.value.problems == (
        Problem(
            "reson",
            "it has no node for this prompt",
            "did you mean 'reason'? If not, add .node('reson', ...)",
        ),
        Problem(
            "zebra",
            "it has no node for this prompt",
            "add .node('zebra', ...), or correct the name",
        ),
    )


def test_a_node_may_be_called_like_a_parameter() -> None:
    flow = one_node("prompts").node("self", work).edge("self", "prompts").start("self")

    graph = flow.with_prompts(prompts="p", self="s").validate()

    assert [node.prompt for node in graph.nodes.values()] == ["p", "s"]
