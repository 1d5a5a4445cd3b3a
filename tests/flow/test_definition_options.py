"""The options of nodes, maps and routes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Join, Map, Route
from accord.flow.spec import Flow
from accord.flow.state import Merge


class Research(BaseModel):
    question: str = ""
    steps: list[dict[str, Any]] = Field(default_factory=list)
    found: Annotated[list[str], Merge.append] = Field(default_factory=list)
    again: bool = False


class Empty(BaseModel):
    pass


def work(state: Research) -> None:
    return None


def pick(state: Research) -> str:
    return "a"


def found(flow: Flow[Any]) -> list[Problem]:
    with pytest.raises(FlowDefinitionError) as refused:
        flow.validate()
    return list(refused.value.problems)


# --- actions and options -------------------------------------------------------------------------


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
        ({}, "the Map has no tool, tool_from or fn"),
        ({"tool": "a", "tool_from": "b"}, "the Map has tool and tool_from"),
    ],
)
def test_a_map_has_exactly_one_of_tool_tool_from_and_fn(
    tools: dict[str, str], message: str
) -> None:
    flow = Flow("flow", state=Research).node("m", Map("steps", into="found", **tools)).end("m")  # type: ignore[arg-type] # mypy takes the value for on_error, too

    assert found(flow) == [
        Problem(
            "m",
            message,
            "pass one of tool=<name>, tool_from=<key of each item> and fn=<function of an item>",
        )
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
            "pass fn(state), fn(state, ctx), Call(...), Map(...) or Join(...)",
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


# --- routes --------------------------------------------------------------------------------------


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
