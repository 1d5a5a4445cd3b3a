"""The builder: what a graph holds, and when it is built anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Join, Map, Route
from accord.flow.graph import FlowGraph
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


def test_the_graph_holds_what_the_flow_was_built_from() -> None:
    def payload(state: Research) -> dict[str, str]:
        return {}

    route = Route(pick, {"more": "retrieve", "done": "approve"})
    mapping = Map("steps", tool_from="tool", into="found")
    join = Join(["retrieve"])

    graph = (
        Flow("research", state=Research, version="3")
        .node("classify", work)
        .node("retrieve", mapping, concurrency=8)
        .node("merge", join)
        .node("reason", work, prompt="Answer from the evidence only.")
        .node("approve", work, pause=payload)
        .edge("classify", "retrieve")
        .edge("retrieve", "merge")
        .edge("merge", "reason")
        .route("reason", route, max_loops=3, on_exhausted="approve")
        .end("approve")
        .validate()
    )

    assert (graph.name, graph.version, graph.state) == ("research", "3", Research)
    assert list(graph.nodes) == ["classify", "retrieve", "merge", "reason", "approve"]
    assert graph.nodes["retrieve"].action is mapping
    assert graph.nodes["retrieve"].concurrency == 8
    assert graph.nodes["merge"].action is join
    assert graph.nodes["reason"].prompt == "Answer from the evidence only."
    assert graph.nodes["approve"].pause is payload
    assert graph.start == "classify"
    assert graph.ends == {"approve"}
    assert graph.edges == {"classify": ("retrieve",), "retrieve": ("merge",), "merge": ("reason",)}
    assert graph.routes["reason"].fn is pick
    assert graph.routes["reason"].targets == {"more": "retrieve", "done": "approve"}
    assert graph.routes["reason"].max_loops == 3
    assert graph.routes["reason"].on_exhausted == "approve"
    assert graph.schema.rules["found"] == Merge.append
    assert graph.warnings == ()


def test_an_edge_may_lead_to_several_nodes_and_is_kept_once() -> None:
    flow = (
        Flow("flow", state=Research)
        .node("a", work)
        .node("b", work)
        .node("c", work)
        .edge("a", ["b", "c"])
        .edge("a", "c")
        .edge("a", [])
        .edge("b", [])
        .end("b", "c", "c")
    )

    graph = flow.validate()

    assert graph.edges == {"a": ("b", "c")}
    assert graph.ends == {"b", "c"}


def test_a_flow_may_begin_elsewhere_than_at_its_first_node_and_the_last_start_counts() -> None:
    flow = Flow("flow", state=Research).node("last", work).node("first", work).end("last")
    flow.edge("first", "last").start("last").start("first")

    assert flow.validate().start == "first"


def test_nodes_may_come_after_what_names_them() -> None:
    flow = Flow("flow", state=Research).start("a").end("b").edge("a", "b")

    graph = flow.node("b", work).node("a", work).validate()

    assert graph.start == "a"


def test_validate_returns_the_same_graph_until_the_flow_changes() -> None:
    flow = one_node("a")
    first = flow.validate()
    assert flow.validate() is first

    changes: list[Flow[Research]] = []
    graphs: list[FlowGraph[Research]] = [first]
    steps: list[Callable[[], Flow[Research]]] = [
        lambda: flow.node("b", work).edge("b", "a").start("b"),
        lambda: flow.node("c", work, prompt="p").end("c").edge("b", "c"),
        lambda: flow.start("b"),
        lambda: flow.edge("b", "a"),
        lambda: flow.end("a"),
    ]
    for change in steps:
        changes.append(change())
        graphs.append(flow.validate())
        assert flow.validate() is graphs[-1]

    assert all(changed is flow for changed in changes)
    assert len({id(graph) for graph in graphs}) == len(graphs)
    flow.route("a", Route(pick, ["a"]), max_loops=1)
    assert places(flow) == [("a", "it is an end but has an exit")]


def test_a_graph_does_not_change_with_its_flow_or_the_routes_targets() -> None:
    targets = {"on": "b"}
    route = Route(pick, targets)
    flow = Flow("flow", state=Research).node("a", work).node("b", work).route("a", route).end("b")
    graph = flow.validate()

    flow.node("c", work).end("c").edge("c", "a")
    targets["off"] = "c"
    dict.update(route.targets, off="c")

    assert list(graph.nodes) == ["a", "b"]
    assert graph.edges == {}
    assert graph.ends == {"b"}
    assert graph.routes["a"].targets == {"on": "b"}
    with pytest.raises(TypeError, match="item assignment"):
        graph.nodes["c"] = graph.nodes["a"]  # type: ignore[index] # frozen, which is the point


def test_a_name_that_is_no_text_is_refused_where_it_is_given() -> None:
    flow, wrong = one_node(), 5
    untyped: Any = flow

    misuses: list[tuple[Callable[[], object], str]] = [
        (lambda: Flow(wrong, state=Research), "Flow"),  # type: ignore[arg-type] # the misuse
        (lambda: untyped.node(wrong, work), "node"),
        (lambda: untyped.node("a", work, prompt=wrong), "node"),
        (lambda: untyped.edge(wrong, "a"), "edge"),
        (lambda: untyped.edge("a", ["b", wrong]), "edge"),
        (lambda: untyped.route(wrong, Route(pick, ["a"])), "route"),
        (lambda: untyped.route("a", Route(pick, ["a"]), on_exhausted=wrong), "route"),
        (lambda: untyped.start(wrong), "start"),
        (lambda: untyped.end("a", wrong), "end"),
        (lambda: untyped.with_prompts(only=wrong), "with_prompts"),
        (lambda: untyped.with_prompts({wrong: "text"}), "with_prompts"),
    ]
    for misuse, method in misuses:
        with pytest.raises(TypeError, match=re.escape(f"{method}() takes text here, not 5")):
            misuse()
    with pytest.raises(TypeError, match=r"route\(\) takes Route\(fn, targets\), not <function"):
        untyped.route("a", pick)

    assert list(flow.validate().nodes) == ["only"]
