"""All problems at once in a stable order, and the warnings of a graph."""

from __future__ import annotations

import functools
import itertools
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, create_model

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Join, Map, Route
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


# --- all at once ---------------------------------------------------------------------------------


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


class Named:
    def __call__(self, state: object) -> None:
        return None


# --- warnings ------------------------------------------------------------------------------------


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
