"""The app under a plain ADK `Runner`: pauses, answers, refusals and recovery, without our door."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from google.adk.apps import App, ResumabilityConfig
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import BaseModel, Field

from accord import (
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ConfigError,
    DeferredApproval,
    Executor,
    Flow,
    FlowError,
    MemoryApprovalStore,
    MemorySink,
    Merge,
    ToolContext,
    ToolRegistry,
)
from accord_adk import CompiledFlow, compile_flow

YES = ApprovalDecision(approved=True)


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0
    note: str = ""
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)


class Desk:
    """A compiled flow with one confirmed tool, and a plain Runner on a session of its own."""

    def __init__(self, *, app: App | None = None, **options: Any) -> None:
        self.calls: list[str] = []
        registry = ToolRegistry()

        @registry.tool(confirm=True)
        async def pay(amount: int) -> int:
            self.calls.append(f"pay {amount}")
            return amount

        async def node(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            return {"paid": await ctx.call("pay", amount=1) + await ctx.call("pay", amount=2)}

        flow = (
            Flow("desk", state=Ledger)
            .node("start", lambda s: self.calls.append("start"))
            .node("node", node)
            .node(
                "gate", lambda s: {"log": f"gate sees {s.paid}"}, pause=lambda s: {"paid": s.paid}
            )
            .edge("start", "node")
            .edge("node", "gate")
            .end("gate")
        )
        self.store = MemoryApprovalStore()
        executor = Executor(registry, approval=DeferredApproval(self.store))
        self.compiled: CompiledFlow[Ledger] = compile_flow(flow, executor, **options)
        self.service = InMemorySessionService()
        self.app = self.compiled.app

    async def send(self, *parts: types.Part, invocation_id: str | None = None) -> list[Any]:
        """Send a message, or enter an invocation again with none, through a new Runner."""
        runner = Runner(app=self.app, session_service=self.service, auto_create_session=True)
        message = types.Content(role="user", parts=list(parts)) if parts else None
        return [
            event
            async for event in runner.run_async(
                user_id="u", session_id="s", new_message=message, invocation_id=invocation_id
            )
        ]

    async def answer(self, question: types.FunctionCall, response: dict[str, Any]) -> list[Any]:
        """Answer a question as a client of ADK does."""
        return await self.send(
            types.Part(
                function_response=types.FunctionResponse(
                    id=question.id, name=question.name, response=response
                )
            )
        )


def questions(events: list[Any]) -> list[types.FunctionCall]:
    return [call for event in events for call in event.get_function_calls()]


START = types.Part(text='{"note": "hello"}')


async def test_a_pause_is_a_request_for_input_that_shows_what_waits() -> None:
    desk = Desk()

    events = await desk.send(START)

    (question,) = questions(events)
    (record,) = await desk.store.list()
    assert question.name == "adk_request_input"
    assert events[-1].long_running_tool_ids == {question.id}
    assert question.id is not None
    assert record.request.id in question.id
    assert question.args is not None
    assert question.args["payload"] == {
        "tool": "pay",
        "arguments": {"amount": 1},
        "approval_id": record.request.id,
        "flow": "desk",
        "node": "node",
        "run_id": events[0].invocation_id,
    }
    assert question.args["response_schema"] is None
    assert "May pay go on?" in question.args["message"]
    assert events[-1].node_info.path.startswith("desk@1/node@ask")


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("durability", ["superstep", "pause"])
async def test_raw_answers_bring_the_run_to_its_end(resumable: bool, durability: Any) -> None:
    desk = Desk(durability=durability)
    desk.app = App(
        name="desk",
        root_agent=desk.compiled.workflow,
        resumability_config=ResumabilityConfig(is_resumable=resumable),
    )

    (first,) = questions(await desk.send(START))
    (second,) = questions(await desk.answer(first, {"approved": True}))
    (gate,) = questions(await desk.answer(second, {"result": '{"approved": true}'}))
    edited = {"approved": True, "edited_args": {"paid": 10, "note": "edited"}}
    events = await desk.answer(gate, edited)

    assert questions(events) == []
    assert events[-1].output == {
        "status": "done",
        "steps": 3,
        "state": {"paid": 13, "note": "edited", "log": ["gate sees 13"]},
    }
    assert json.loads(events[-1].content.parts[0].text) == events[-1].output
    assert desk.calls == ["start", "pay 1", "pay 2"]
    assert [record.status for record in await desk.store.list()] == ["consumed"] * 3


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"approved": "yes"}, "approved: Input should be a valid boolean"),
        ({"approve": True}, "approved: Field required"),
        ({"result": "sure"}, "result is not JSON text"),
        ({"approved": True, "approval_id": "other"}, "no approval 'other' waits"),
    ],
)
async def test_a_malformed_answer_is_asked_again_with_the_reason_and_recovers(
    response: dict[str, Any], reason: str
) -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))

    (again,) = questions(await desk.answer(first, response))
    (third,) = questions(await desk.answer(again, {}))

    assert len({first.id, again.id, third.id}) == 3
    assert again.args is not None
    assert reason in again.args["message"]
    assert again.args["payload"] == (first.args or {})["payload"]
    assert desk.calls == ["start"]
    (second,) = questions(await desk.answer(third, {"approved": True}))
    assert desk.calls == ["start", "pay 1"]
    assert second.args is not None
    assert second.args["payload"]["arguments"] == {"amount": 2}


async def test_an_edit_that_does_not_fit_is_asked_again_and_spends_nothing() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))
    (second,) = questions(await desk.answer(first, {"approved": True}))
    (gate,) = questions(await desk.answer(second, {"approved": True}))

    (again,) = questions(await desk.answer(gate, {"approved": True, "edited_args": {"nowhere": 1}}))

    assert again.args is not None
    assert "nowhere" in again.args["message"]
    assert (await desk.answer(again, {"approved": True}))[-1].output["status"] == "done"


async def test_the_older_form_of_a_question_that_was_asked_again_may_be_answered() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))
    await desk.answer(first, {"approved": "yes"})

    (second,) = questions(await desk.answer(first, {"approved": True}))

    assert desk.calls == ["start", "pay 1"]
    assert second.id != first.id


async def test_a_late_or_a_duplicate_answer_runs_nothing() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))
    (second,) = questions(await desk.answer(first, {"approved": True}))

    with pytest.raises(ApprovalAlreadyDecided):
        await desk.answer(first, {"approved": True})
    (gate,) = questions(await desk.answer(second, {"approved": True}))
    await desk.answer(gate, {"approved": False})
    ran = list(desk.calls)
    for question in (first, second, gate):
        with pytest.raises(ApprovalAlreadyDecided):
            await desk.answer(question, {"approved": True})

    assert desk.calls == ran == ["start", "pay 1", "pay 2"]


async def test_of_two_raw_answers_at_once_one_runs() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))

    results = await asyncio.gather(
        desk.answer(first, {"approved": True}),
        desk.answer(first, {"approved": True}),
        return_exceptions=True,
    )

    refused = [result for result in results if isinstance(result, BaseException)]
    assert [type(error) for error in refused] == [ApprovalAlreadyDecided]
    assert desk.calls == ["start", "pay 1"]


async def test_a_raw_answer_to_a_run_that_was_resumed_elsewhere_is_refused() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))
    (record,) = await desk.store.list()
    await desk.store.decide(record.request.id, YES)
    await desk.store.consume(record.request.id)

    with pytest.raises(ApprovalAlreadyDecided):
        await desk.answer(first, {"approved": True})

    assert desk.calls == ["start"]


async def test_an_answer_that_the_store_contradicts_leaves_the_run_waiting() -> None:
    desk = Desk()
    (first,) = questions(await desk.send(START))
    (record,) = await desk.store.list()
    await desk.store.decide(record.request.id, ApprovalDecision(approved=False))

    with pytest.raises(ApprovalAlreadyDecided, match="was decided otherwise"):
        await desk.answer(first, {"approved": True})
    with pytest.raises(FlowError, match="ApprovalDenied"):
        await desk.answer(first, {"approved": False})

    assert desk.calls == ["start"]


async def test_a_raw_pause_is_resumed_through_the_compiled_flow() -> None:
    desk = Desk(session_service=(service := InMemorySessionService()), user_id="u")
    desk.service = service
    await desk.send(START)
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    assert session is not None
    (text,) = session.state.values()

    second = await desk.compiled.resume(desk.compiled.load_checkpoint(text), YES)

    assert second.status == "paused"
    assert desk.calls == ["start", "pay 1"]


async def test_a_pause_of_the_compiled_flow_takes_a_raw_answer() -> None:
    desk = Desk(session_service=(service := InMemorySessionService()), user_id="u")
    desk.service = service
    paused = await desk.compiled.run({"note": "hello"}, run_id="s")
    assert paused.checkpoint is not None
    question = types.FunctionCall(
        id=paused.checkpoint.engine["interrupt_id"], name="adk_request_input"
    )

    events = await desk.answer(question, {"approved": True})

    assert len(questions(events)) == 1
    assert desk.calls == ["start", "pay 1"]
    with pytest.raises(ApprovalAlreadyDecided):
        await desk.compiled.resume(paused.checkpoint, YES)


async def test_two_runs_in_one_session_wait_for_their_own_answers() -> None:
    desk = Desk()
    (one,) = questions(await desk.send(START))
    (two,) = questions(await desk.send(types.Part(text='{"note": "other"}')))

    (second_of_two,) = questions(await desk.answer(two, {"approved": True}))
    (second_of_one,) = questions(await desk.answer(one, {"approved": True}))
    (gate_of_one,) = questions(await desk.answer(second_of_one, {"approved": True}))
    done = (await desk.answer(gate_of_one, {"approved": True}))[-1].output
    (gate_of_two,) = questions(await desk.answer(second_of_two, {"approved": True}))
    other = (await desk.answer(gate_of_two, {"approved": True}))[-1].output

    assert (done["state"]["note"], other["state"]["note"]) == ("hello", "other")


@pytest.mark.parametrize("text", ["what now?", "[1]", '"text"'])
async def test_a_message_that_is_no_json_object_says_what_to_send(text: str) -> None:
    desk = Desk()

    with pytest.raises(FlowError, match="send the state to begin with, such as") as caught:
        await desk.send(types.Part(text=text))

    assert caught.value.flow == "desk"
    assert desk.calls == []


async def test_an_error_of_a_node_reaches_the_caller_of_a_plain_runner() -> None:
    def fails(state: Ledger) -> None:
        raise KeyError("gone")

    flow = Flow("failing", state=Ledger).node("fails", fails).end("fails")
    desk = Desk()
    desk.app = compile_flow(flow, Executor(ToolRegistry())).app

    with pytest.raises(FlowError, match="node 'fails' failed: KeyError") as caught:
        await desk.send(types.Part(text="{}"))

    assert (caught.value.flow, caught.value.node) == ("failing", "fails")


async def test_entering_a_paused_run_without_an_answer_asks_again_and_runs_nothing() -> None:
    desk = Desk()
    events = await desk.send(START)
    (first,) = questions(events)

    (again,) = questions(await desk.send(invocation_id=events[0].invocation_id))

    assert again.id != first.id
    assert again.args is not None
    assert first.args is not None
    assert again.args["payload"] == first.args["payload"]
    assert desk.calls == ["start"]


async def test_entering_an_ended_run_without_an_answer_does_nothing() -> None:
    desk = Desk()
    desk.app = compile_flow(
        Flow("brief", state=Ledger).node("only", lambda s: desk.calls.append("only")).end("only"),
        Executor(ToolRegistry()),
    ).app
    events = await desk.send(types.Part(text="{}"))

    assert await desk.send(invocation_id=events[0].invocation_id) == []
    assert desk.calls == ["only"]


async def test_an_approval_that_was_spent_by_a_lost_process_is_asked_anew() -> None:
    desk = Desk()
    events = await desk.send(START)
    (record,) = await desk.store.list()
    # A process spent the answer and died before the session knew of it.
    await desk.store.decide(record.request.id, YES)
    await desk.store.consume(record.request.id)

    (anew,) = questions(await desk.send(invocation_id=events[0].invocation_id))

    assert anew.args is not None
    assert anew.args["payload"]["approval_id"] != record.request.id
    assert desk.calls == ["start"]
    assert len(questions(await desk.answer(anew, {"approved": True}))) == 1
    assert desk.calls == ["start", "pay 1"]


async def test_a_crashed_run_goes_on_at_its_last_superstep_and_its_answers_ask_anew() -> None:
    desk = Desk()
    events = await desk.send(START)
    (first,) = questions(events)
    (second,) = questions(await desk.answer(first, {"approved": True}))
    # The caller stops at the event that claims the second answer, as a killed process would.
    runner = Runner(app=desk.app, session_service=desk.service)
    response = types.FunctionResponse(id=second.id, name=second.name, response={"approved": True})
    message = types.Content(role="user", parts=[types.Part(function_response=response)])
    leg = runner.run_async(user_id="u", session_id="s", new_message=message)
    await anext(leg)
    await leg.aclose()

    (anew,) = questions(await desk.send(invocation_id=events[0].invocation_id))

    assert desk.calls == ["start", "pay 1"]
    assert anew.args is not None
    assert anew.args["payload"]["arguments"] == {"amount": 2}
    (gate,) = questions(await desk.answer(anew, {"approved": True}))
    assert gate.args is not None
    assert gate.args["payload"]["tool"] == "node:desk.gate"
    assert desk.calls == ["start", "pay 1", "pay 2"]


async def test_a_caller_that_stops_listening_cancels_the_run_which_can_be_entered_again() -> None:
    sink = MemorySink()
    ran: list[str] = []
    flow = (
        Flow("left", state=Ledger)
        .node("one", lambda s: ran.append("one"))
        .node("two", lambda s: ran.append("two"))
        .node("three", lambda s: ran.append("three"))
        .edge("one", "two")
        .edge("two", "three")
        .end("three")
    )
    desk = Desk()
    desk.app = compile_flow(flow, Executor(ToolRegistry()), sink=sink).app
    runner = Runner(app=desk.app, session_service=desk.service, auto_create_session=True)
    leg = runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(text="{}")]),
    )
    # The start, the visit of `one`, the position after it.
    events = [await anext(leg) for _ in range(3)]
    await leg.aclose()

    done = await desk.send(invocation_id=events[0].invocation_id)

    ends = [event.data["status"] for event in sink.events if event.name == "run.finished"]
    assert ends == ["cancelled", "done"]
    assert ran == ["one", "two", "three"]
    assert done[-1].output["steps"] == 3


async def test_a_durable_session_service_without_a_key_is_refused_in_raw_use_too(
    tmp_path: Any,
) -> None:
    desk = Desk()
    runner = Runner(
        app=desk.app,
        session_service=SqliteSessionService(str(tmp_path / "sessions.db")),
        auto_create_session=True,
    )
    message = types.Content(role="user", parts=[START])

    with pytest.raises(ConfigError, match="ACCORD_CHECKPOINT_KEY"):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass

    assert desk.calls == []
