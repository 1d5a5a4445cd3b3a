"""Names: which are allowed, and what names a missing node."""

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


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "_", "_a", "A9_", "a" * 64, "__a", "a__", "aa", "aaa_b"])
def test_names_that_are_allowed(name: str) -> None:
    graph = Flow(name, state=Research).node(name, work).end(name).validate()

    assert graph.name == graph.start == name


@pytest.mark.parametrize("name", ["", "9a", "a-b", "a b", "a.b", "é", "a\n", "a" * 65, "٣", "a٣"])
def test_names_that_are_not_allowed(name: str) -> None:
    rule = "use a letter or _, then letters, digits and _, at most 64 in all"

    assert found(Flow(name, state=Research).node(name, work).end(name)) == [
        Problem(None, f"the flow's name {name!r} is not allowed", rule),
        Problem(name, "the name is not allowed", rule),
    ]


@pytest.mark.parametrize("name", ["aa_", "aa_loop_counts", "__start__", "____"])
def test_node_names_that_are_reserved(name: str) -> None:
    assert found(one_node(name)) == [
        Problem(
            name,
            "the name is reserved for the engines",
            "choose one that neither begins with aa_ nor has the form __name__",
        )
    ]


def test_a_flow_may_have_a_name_that_nodes_may_not_have() -> None:
    graph = Flow("aa_flow", state=Research).node("a", work).end("a").validate()

    assert graph.name == "aa_flow"


def test_a_node_name_that_is_used_again_is_one_problem() -> None:
    flow = one_node("a").node("a", Map("steps", tool="t", into="found")).node("a", work)

    assert found(flow) == [
        Problem("a", "several nodes have this name", "give each node a name of its own")
    ]


# --- endpoints -----------------------------------------------------------------------------------


def test_whatever_names_a_missing_node_is_a_problem() -> None:
    flow = (
        Flow("flow", state=Research)
        .node("retrieve", work)
        .node("reason", work)
        .edge("retrieve", ["reason", "xx"])
        .edge("from", "reason")
        .route("reason", Route(pick, {"go": "zz"}), max_loops=1, on_exhausted="yy")
        .route("nowhere", Route(pick, {"go": "reason"}))
        .start("retreive")
        .end("END")
    )

    def add(name: str) -> str:
        return f"add .node({name!r}, ...), or correct the name"

    assert found(flow) == [
        Problem(None, "a route leaves 'nowhere', which is no node", add("nowhere")),
        Problem(None, "an edge leaves 'from', which is no node", add("from")),
        Problem(None, "an end is 'END', which is no node", add("END")),
        Problem(
            None,
            "the start is 'retreive', which is no node",
            "did you mean 'retrieve'? If not, add .node('retreive', ...)",
        ),
        Problem("reason", "on_exhausted is 'yy', which is no node", add("yy")),
        Problem("reason", "the route's label 'go' leads to 'zz', which is no node", add("zz")),
        Problem("retrieve", "an edge leads to 'xx', which is no node", add("xx")),
    ]


def test_in_a_large_flow_no_similar_name_is_searched() -> None:
    flow = Flow("flow", state=Research).node("node0", work).edge("node0", "nodeX")
    for number in range(1, 201):
        flow.node(f"node{number}", work).edge("node0", f"node{number}").end(f"node{number}")

    assert found(flow) == [
        Problem(
            "node0",
            "an edge leads to 'nodeX', which is no node",
            "add .node('nodeX', ...), or correct the name",
        )
    ]


def test_a_route_target_that_is_no_text_is_no_node() -> None:
    wrong: Any = {"list": ["b"], "go": "b"}
    flow = Flow("flow", state=Research).node("a", work).node("b", work).end("b")

    assert found(flow.route("a", Route(pick, wrong))) == [
        Problem(
            "a",
            "the route's label 'list' leads to ['b'], which is no node",
            "add .node(['b'], ...), or correct the name",
        )
    ]
