"""Driving a scenario: what is observed, and what is refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from accord import (
    ApprovalDecision,
    ConfigError,
    Event,
    Flow,
    LLMRequest,
    ToolContext,
    ToolRegistry,
    node_model,
)
from accord_parity import Failure, Scenario, ScenarioError, run_scenario
from accord_parity.drive import ScenarioRun, ScriptMismatch
from accord_parity.observation import event_names
from accord_parity.scenarios import SCENARIOS

YES = ApprovalDecision(approved=True)
CONFIRMS = SCENARIOS["replay_two_confirms"]


class Note(BaseModel):
    text: str = ""


def note_flow(action: Any, **options: Any) -> Flow[Note]:
    return Flow("notes", state=Note).node("write", action, **options).end("write")


def scenario_of(flow: Flow[Note], **options: Any) -> Scenario:
    return Scenario(name="notes", summary="one node", flow=lambda: flow, input={}, **options)


async def ask_model(state: Note, ctx: ToolContext) -> dict[str, str]:
    model = node_model(ctx)
    assert model is not None
    reply = await model.generate(LLMRequest(messages=(), stage="write"))
    return {"text": reply.text}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_two_runs_of_a_scenario_are_observed_the_same(name: str) -> None:
    first = await run_scenario("native", SCENARIOS[name])
    second = await run_scenario("native", SCENARIOS[name])

    assert first == second
    assert json.loads(json.dumps(first.to_dict())) == first.to_dict()


async def test_a_failed_run_is_observed_with_its_error_and_no_state() -> None:
    def break_down(state: Note) -> None:
        raise ValueError("no ink")

    observation = await run_scenario("native", scenario_of(note_flow(break_down)))

    assert observation.statuses == ("failed",)
    assert observation.state is None
    assert observation.error == Failure(
        "FlowError", "node 'write' failed: ValueError: no ink", node="write"
    )


async def test_a_flow_with_problems_is_observed_as_a_failure() -> None:
    flow = Flow("notes", state=Note).node("write", lambda s: None).edge("write", "nowhere")

    observation = await run_scenario("native", scenario_of(flow))

    assert observation.statuses == ("failed",)
    assert observation.error is not None
    assert observation.error.type == "FlowDefinitionError"


async def test_ids_that_are_made_for_a_run_are_masked_in_an_error() -> None:
    def tell_id(state: Note) -> None:
        raise ValueError("approval 0123456789abcdef0123456789abcdef is gone")

    observation = await run_scenario("native", scenario_of(note_flow(tell_id)))

    assert observation.error is not None
    assert observation.error.message.endswith("approval <id> is gone")


async def test_a_leg_that_never_ends_is_reported_as_hung() -> None:
    async def wait_forever(state: Note) -> None:
        await asyncio.Event().wait()

    scenario = scenario_of(note_flow(wait_forever))

    observation = await run_scenario("native", scenario, leg_timeout=0.05)

    assert observation.statuses == ("hung",)
    assert observation.error == Failure("Hang", "no result within 0.05 s")


async def test_a_timeout_of_the_flow_itself_is_a_failure_and_no_hang() -> None:
    async def give_up(state: Note) -> None:
        raise TimeoutError("the printer did not answer")

    observation = await run_scenario("native", scenario_of(note_flow(give_up)))

    assert observation.statuses == ("failed",)


async def test_a_denied_gate_is_observed_with_the_state_before_it() -> None:
    flow = note_flow(lambda s: {"text": "written"}, pause=lambda s: {"ask": "really?"})
    scenario = scenario_of(flow, decisions=(ApprovalDecision(approved=False),))

    observation = await run_scenario("native", scenario)

    assert observation.statuses == ("paused", "denied")
    assert observation.state == {"text": ""}
    assert [(each.tool, each.arguments) for each in observation.pending] == [
        ("node:notes.write", {"ask": "really?"})
    ]


async def test_a_missing_decision_is_refused_and_says_what_was_asked() -> None:
    scenario = replace(CONFIRMS, decisions=(YES,))

    with pytest.raises(ScriptMismatch, match="pause 2 asks for 'C' and only 1 decisions") as raised:
        await run_scenario("native", scenario)

    assert raised.value.observation.statuses == ("paused", "paused")


async def test_a_decision_left_over_is_refused() -> None:
    scenario = replace(CONFIRMS, decisions=(YES, YES, YES))

    with pytest.raises(ScriptMismatch, match=r"ended \(done\) with 1 of 3 decisions left over"):
        await run_scenario("native", scenario)


async def test_a_model_request_without_a_scripted_reply_is_refused() -> None:
    with pytest.raises(ScenarioError, match="1 model requests and 0 replies are scripted"):
        await run_scenario("native", scenario_of(note_flow(ask_model)))


async def test_a_scripted_reply_left_over_is_refused() -> None:
    scenario = scenario_of(note_flow(ask_model), replies=("one", "two"))

    with pytest.raises(ScenarioError, match="1 model requests and 2 replies are scripted"):
        await run_scenario("native", scenario)


async def test_a_tool_that_is_not_scripted_fails_the_run_by_name() -> None:
    scenario = replace(CONFIRMS, tools=ToolRegistry, decisions=())

    observation = await run_scenario("native", scenario)

    assert observation.statuses == ("failed",)
    assert observation.error is not None
    assert "there is no tool 'A'" in observation.error.message


async def test_an_unknown_engine_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="there is no engine 'steam'"):
        await run_scenario("steam", CONFIRMS)


async def test_answering_a_run_that_is_not_paused_is_refused() -> None:
    run = ScenarioRun("native", CONFIRMS)

    with pytest.raises(ScenarioError, match="nothing to answer"):
        await run.answer(YES)


def test_a_scenario_without_a_mode_is_refused() -> None:
    with pytest.raises(ScenarioError, match="has no mode"):
        replace(CONFIRMS, modes=())


def test_event_names_do_not_depend_on_how_visits_and_calls_interleave() -> None:
    def event(name: str, node: str | None = None, call: int | None = None) -> Event:
        data = {} if call is None else {"call_id": f"shop:{node}:1:{call}"}
        return Event(name, "run", "shop", node, 1 if node else 0, 0.0, data)

    one_by_one = [
        event("run.started"),
        event("node.started", "a"),
        event("tool.started", "a", 9),
        event("tool.finished", "a", 9),
        event("tool.started", "a", 10),
        event("tool.finished", "a", 10),
        event("node.finished", "a"),
        event("node.started", "b"),
    ]
    interleaved = [one_by_one[i] for i in (0, 7, 1, 4, 2, 5, 3, 6)]

    assert event_names(interleaved) == event_names(one_by_one)
    assert event_names(one_by_one) == {
        "shop": ("run.started",),
        "shop:a:1": (
            "node.started",
            "tool.started",
            "tool.finished",
            "tool.started",
            "tool.finished",
            "node.finished",
        ),
        "shop:b:1": ("node.started",),
    }
