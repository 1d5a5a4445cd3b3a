"""The builder and its checks: every problem at once, in a stable order, each with a hint."""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel, create_model

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


class Reserved(BaseModel):
    aa_visits: int = 0
    plain: int = 0


class Empty(BaseModel):
    pass


class Bare(RootModel[int]):
    pass


class Dangling(BaseModel):
    other: Missing  # type: ignore[name-defined]  # noqa: F821 - the point of the test


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


# --- the builder -----------------------------------------------------------------------------


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


# --- prompts ---------------------------------------------------------------------------------


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


# --- names -----------------------------------------------------------------------------------


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


# --- endpoints -------------------------------------------------------------------------------


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


# --- exits -----------------------------------------------------------------------------------


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


# --- reachability ----------------------------------------------------------------------------


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


# --- joins -----------------------------------------------------------------------------------


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


# --- cycles ----------------------------------------------------------------------------------

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


# --- the state -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (dict, "the class dict"),
        (BaseModel, "the class BaseModel"),
        ({"a": int}, "{'a': <class 'int'>}"),
        (Empty(), "Empty()"),
        (None, "None"),
    ],
)
def test_the_state_is_a_pydantic_model_class(state: Any, what: str) -> None:
    flow = Flow("flow", state=state).node("m", Map("a", tool="t", into="b")).end("m")

    assert found(flow) == [
        Problem(
            None,
            f"the state is {what}, which is no pydantic model",
            "pass a subclass of pydantic.BaseModel, the class itself: state=MyState",
        )
    ]


def test_a_model_that_cannot_be_a_state_says_why() -> None:
    [problem] = found(Flow("flow", state=Bare).node("a", work).end("a"))

    assert problem.node is None
    assert problem.message.startswith("Bare cannot be a flow's state: it has no fields")
    assert problem.hint == "pass another model as state="


def test_a_model_with_an_unknown_annotation_says_which() -> None:
    assert found(Flow("flow", state=Dangling).node("a", work).end("a")) == [
        Problem(
            None,
            "an annotation of the state Dangling names 'Missing', which is unknown",
            "define or import it where the model is defined",
        )
    ]


def test_state_fields_that_are_reserved() -> None:
    assert found(Flow("flow", state=Reserved).node("a", work).end("a")) == [
        Problem(
            None,
            "the state field 'aa_visits' is reserved for the engines",
            "choose a name that does not begin with aa_",
        )
    ]


def test_a_flow_without_nodes() -> None:
    assert found(Flow("flow", state=Research)) == [
        Problem(None, "it has no nodes", "add one with .node(name, action)")
    ]


# --- actions and options ---------------------------------------------------------------------


def test_a_map_names_fields_of_the_state() -> None:
    flow = Flow("flow", state=Research).node("m", Map("step", tool="t")).end("m")

    hint = "use a field: again, found, question, steps"
    assert found(flow) == [
        Problem("m", "Map.into is '', which is no field of the state", hint),
        Problem("m", "Map.over is 'step', which is no field of the state", hint),
    ]


def test_a_map_over_a_state_without_fields() -> None:
    flow = Flow("flow", state=Empty).node("m", Map("steps", tool="t", into="steps")).end("m")

    hint = "use a field: the state has none yet"
    assert found(flow) == [
        Problem("m", "Map.into is 'steps', which is no field of the state", hint),
        Problem("m", "Map.over is 'steps', which is no field of the state", hint),
    ]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({}, "the Map has neither tool nor tool_from"),
        ({"tool": "a", "tool_from": "b"}, "the Map has both tool and tool_from"),
    ],
)
def test_a_map_has_exactly_one_of_tool_and_tool_from(tools: dict[str, str], message: str) -> None:
    flow = Flow("flow", state=Research).node("m", Map("steps", into="found", **tools)).end("m")  # type: ignore[arg-type] # mypy takes the value for on_error, too

    assert found(flow) == [
        Problem("m", message, "pass either tool=<name> or tool_from=<key of each item>")
    ]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"tool": ""}, "Map.tool is ''", "pass a text that is not empty"),
        ({"tool": 3}, "Map.tool is 3", "pass a text that is not empty"),
        ({"tool_from": ""}, "Map.tool_from is ''", "pass a text that is not empty"),
        ({"tool": "t", "args_from": ""}, "Map.args_from is ''", "pass a text that is not empty"),
        (
            {"tool": "t", "args_from": None},
            "Map.args_from is None",
            "pass a text that is not empty",
        ),
        ({"tool": "t", "on_error": "retry"}, "Map.on_error is 'retry'", "pass 'fail' or 'skip'"),
        ({"tool": "t", "on_error": ["fail"]}, "Map.on_error is ['fail']", "pass 'fail' or 'skip'"),
        (
            {"tool": "t", "over": ["steps"]},
            "Map.over is ['steps'], which is no field of the state",
            "use a field: again, found, question, steps",
        ),
    ],
)
def test_the_options_of_a_map(options: dict[str, Any], message: str, hint: str) -> None:
    mapping = Map(**{"over": "steps", "into": "found", **options})

    assert found(Flow("flow", state=Research).node("m", mapping).end("m")) == [
        Problem("m", message, hint)
    ]


def test_a_map_may_skip_failed_items() -> None:
    mapping = Map("steps", tool="t", into="found", on_error="skip")

    graph = Flow("flow", state=Research).node("m", mapping).end("m").validate()

    assert graph.nodes["m"].action == mapping


def test_an_action_and_a_gate_can_be_called() -> None:
    wrong: Any = "search"
    flow = Flow("flow", state=Research).node("a", wrong, pause=wrong).node("j", Join(["a"], wrong))

    assert found(flow.edge("a", "j").end("j")) == [
        Problem(
            "a",
            "pause is 'search', which cannot be called",
            "pass pause=fn(state), which returns what the approver sees",
        ),
        Problem(
            "a",
            "the action is 'search', which cannot be called",
            "pass fn(state), fn(state, ctx), Map(...) or Join(...)",
        ),
        Problem(
            "j",
            "the join's fn is 'search', which cannot be called",
            "pass fn(state) or fn(state, ctx), or leave it out",
        ),
    ]


@pytest.mark.parametrize("concurrency", [0, -1, True, "8", 1.5])
def test_concurrency_is_a_whole_number_of_one_or_more(concurrency: Any) -> None:
    mapping = Map("steps", tool="t", into="found")

    flow = Flow("flow", state=Research).node("m", mapping, concurrency=concurrency).end("m")

    assert found(flow) == [
        Problem("m", f"concurrency is {concurrency!r}", "pass a whole number of 1 or more")
    ]


def test_concurrency_is_for_a_map() -> None:
    flow = Flow("flow", state=Research).node("a", work, concurrency=1).end("a")

    assert found(flow) == [
        Problem(
            "a",
            "concurrency is set, but the action is no Map",
            "remove it; FlowRunner(concurrency=...) caps the nodes of a superstep",
        )
    ]


def test_a_map_may_run_one_item_at_a_time() -> None:
    mapping = Map("steps", tool="t", into="found")

    graph = Flow("flow", state=Research).node("m", mapping, concurrency=1).end("m").validate()

    assert graph.nodes["m"].concurrency == 1


# --- routes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_loops", [0, -3, False, "3"])
def test_max_loops_is_a_whole_number_of_one_or_more(max_loops: Any) -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).end("b")

    flow.route("a", Route(pick, ["a", "b"]), max_loops=max_loops, on_exhausted="b")

    assert found(flow) == [
        Problem("a", f"max_loops is {max_loops!r}", "pass a whole number of 1 or more")
    ]


def test_on_exhausted_needs_max_loops() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).end("b")

    assert found(flow.route("a", Route(pick, ["b"]), on_exhausted="b")) == [
        Problem("a", "the route has on_exhausted without max_loops", "add max_loops, or remove it")
    ]


def test_a_route_has_a_function_targets_and_labels_of_text() -> None:
    wrong: Any = "b"
    labels: Any = {True: "b", "": "b"}
    flow = (
        Flow("flow", state=Research)
        .node("a", work)
        .node("b", work)
        .node("c", work)
        .edge("a", ["b", "c"])
        .route("b", Route(wrong, {}))
        .node("end", work)
        .route("c", Route(pick, {**labels, "end": "end"}))
        .end("end")
    )
    flow.route("c", Route(pick, ["end"]))

    assert [problem for problem in found(flow) if "2 routes" not in problem.message] == [
        Problem(
            "b",
            "the route has no targets",
            "pass node names, or a mapping of labels to nodes",
        ),
        Problem(
            "b",
            "the route's fn is 'b', which cannot be called",
            "pass Route(fn, targets) with fn(state), which returns a label or a list of labels",
        ),
        Problem("c", "the route's label '' is no text", "use a text as label"),
        Problem("c", "the route's label True is no text", "use a text as label"),
    ]


# --- all at once -----------------------------------------------------------------------------


def test_all_problems_come_at_once_by_check_and_then_by_node() -> None:
    wrong: Any = None
    flow = (
        Flow("my flow", state=Reserved)
        .node("z-z", work)
        .node("aa_x", work)
        .node("twin", work)
        .node("twin", work)
        .node("lonely", work)
        .node("join", Join(["z-z"]))
        .node("bad", wrong)
        .edge("z-z", ["aa_x", "nowhere"])
        .edge("aa_x", ["twin", "aa_x"])
        .edge("twin", ["join", "bad"])
        .edge("join", "bad")
        .end("bad")
    )

    assert places(flow) == [
        (None, "the flow's name 'my flow' is not allowed"),
        ("aa_x", "the name is reserved for the engines"),
        ("twin", "several nodes have this name"),
        ("z-z", "the name is not allowed"),
        ("z-z", "an edge leads to 'nowhere', which is no node"),
        ("lonely", "it has no exit"),
        ("lonely", "it cannot be reached from the start, 'z-z'"),
        ("join", "it joins 'z-z', which does not lead to it"),
        ("aa_x", "the cycle aa_x -> aa_x has no bound"),
        (None, "the state field 'aa_visits' is reserved for the engines"),
        ("bad", "the action is None, which cannot be called"),
    ]
    assert all(problem.hint for problem in found(flow))
    with pytest.raises(FlowDefinitionError, match=r"flow 'my flow' has 11 problems:\n  - the flow"):
        flow.validate()


def test_the_order_in_which_a_flow_is_built_does_not_change_its_problems() -> None:
    edges = [
        ("start", "b"),
        ("start", "x"),
        ("a", "a"),
        ("a", "b"),
        ("b", "c"),
        ("b", "a"),
        ("c", "y"),
        ("c", "a"),
    ]
    seen = []
    for nodes in itertools.permutations(["start", "a", "b", "c"]):
        for ends in (["p", "q"], ["q", "p"]):
            flow = Flow("flow", state=Research).start("start").end(*ends)
            for source, target in edges:
                flow.edge(source, target)
            for name in nodes:
                flow.node(name, work)
            seen.append(places(flow))
        edges.reverse()

    assert seen == [
        [
            (None, "an end is 'p', which is no node"),
            (None, "an end is 'q', which is no node"),
            ("c", "an edge leads to 'y', which is no node"),
            ("start", "an edge leads to 'x', which is no node"),
            ("a", "the cycle a -> a has no bound"),
        ]
    ] * len(seen)


# --- warnings --------------------------------------------------------------------------------


class Named:
    def __call__(self, state: object) -> None:
        return None


def test_a_map_into_a_replace_field_is_a_warning() -> None:
    flow = Flow("flow", state=Research).node("m", Map("steps", tool="t", into="question")).end("m")

    assert flow.validate().warnings == (
        (
            "node 'm' maps into 'question', whose rule is replace, so two items with different "
            "values conflict; annotate the field with Merge.append or Merge.keyed"
        ),
    )


def test_a_bound_without_a_way_out_is_a_warning() -> None:
    flow = Flow("flow", state=Research).node("a", work).node("b", work).end("b")

    graph = flow.route("a", Route(pick, ["a", "b"]), max_loops=2).validate()

    assert graph.warnings == (
        (
            "node 'a' has a route with max_loops and no on_exhausted, so the run fails when the "
            "loop is spent; name the node to go to then"
        ),
    )


def test_functions_and_a_state_model_of_the_main_module_are_warnings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Named, "__module__", "__main__")
    local_state = create_model("Local", __module__="__main__", value=(str, ""))
    local: Any = Named()

    flow = (
        Flow("flow", state=local_state)
        .node("c", Join(["b"], local))
        .node("d", Map("value", tool="t", into="value"), pause=local)
        .node("a", functools.partial(local))
        .node("b", work, pause=work)
        .edge("a", "b")
        .route("b", Route(local, ["c"]))
        .edge("c", "d")
        .start("a")
        .end("d")
    )

    why = (
        "is defined in __main__, where another process does not find it, so checkpoints do not "
        "resume there; move it into a module"
    )
    assert flow.validate().warnings[1:] == (
        f"the state model, Local, {why}",
        f"a function of node 'a', Named, {why}",
        f"a function of node 'b', Named, {why}",
        f"a function of node 'c', Named, {why}",
        f"a function of node 'd', Named, {why}",
    )


def test_warnings_come_by_kind_and_then_by_node() -> None:
    into = Map("steps", tool="t", into="question")
    bounded = Route(pick, {"back": "m2", "on": "m1"})
    flow = (
        Flow("flow", state=Research)
        .node("m2", into)
        .node("r2", work)
        .node("m1", into)
        .node("r1", work)
        .node("end", work)
        .edge("m2", "r2")
        .route("r2", bounded, max_loops=1)
        .edge("m1", "r1")
        .route("r1", Route(pick, ["m1", "end"]), max_loops=1)
        .end("end")
    )

    assert [warning.split()[1] for warning in flow.validate().warnings] == [
        "'m1'",
        "'m2'",
        "'r1'",
        "'r2'",
    ]
