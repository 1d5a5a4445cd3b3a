"""Pause gates of a compiled flow: asked by interrupt, answered once, by Accord or raw."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, Field

from accord import (
    AllowApproval,
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalPending,
    ApprovalRequest,
    CallbackApproval,
    DeferredApproval,
    DenyApproval,
    Engine,
    Executor,
    Flow,
    FlowError,
    FlowRunner,
    Join,
    MemoryApprovalStore,
    Merge,
    ToolRegistry,
)
from accord_langgraph import LangGraphEngine, compile_flow

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False, reason="too much")
THREAD: Any = {"configurable": {"thread_id": "t"}}


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0
    note: str = ""
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)


def gated() -> Flow[Ledger]:
    return (
        Flow("gated", state=Ledger)
        .node("start", lambda s: {"log": "start"})
        .node("pay", lambda s, ctx: {"log": "pay", "paid": 1}, pause=lambda s: {"note": s.note})
        .node("side", lambda s: {"log": f"side sees {s.paid}"})
        .edge("start", ["pay", "side"])
        .end("pay", "side")
    )


def two_gates() -> Flow[Ledger]:
    return (
        Flow("two", state=Ledger)
        .node("start", lambda s: None)
        .node("b", lambda s: {"log": f"b {s.paid}"}, pause=lambda s: {"paid": s.paid})
        .node("a", lambda s: {"log": f"a {s.paid}"}, pause=lambda s: {"paid": s.paid})
        .node("side", lambda s: {"log": "side"})
        .node("meet", Join(["a", "b"]))
        .edge("start", ["a", "b", "side"])
        .edge("a", "meet")
        .edge("b", "meet")
        .end("meet", "side")
    )


def engines() -> list[Engine]:
    made: list[Engine] = []
    for make in (FlowRunner, LangGraphEngine):
        port = DeferredApproval(MemoryApprovalStore())
        made.append(make(Executor(ToolRegistry(), approval=port)))
    return made


async def test_a_gate_with_a_sibling_and_edits_ends_as_native() -> None:
    edit = ApprovalDecision(approved=True, edited_args={"paid": 5, "note": "edited"})
    results = []
    for engine in engines():
        flow = gated()
        paused = await engine.run(flow, {"paid": 1, "note": "hello"}, run_id="r")
        assert paused.checkpoint is not None
        assert paused.pending is not None
        done = await engine.resume(flow, paused.checkpoint, edit)
        asked = (paused.pending.tool, paused.pending.arguments, paused.pending.call_id)
        results.append(
            [
                (paused.status, paused.state, paused.steps, paused.visits, asked),
                (done.status, done.state, done.steps, done.visits, ()),
            ]
        )

    assert results[0] == results[1]
    assert results[1][1][1].log == ["start", "pay", "side sees 6"]


async def test_gates_are_asked_in_name_order_and_edits_merged_after_all_approved() -> None:
    add = ApprovalDecision(approved=True, edited_args={"paid": 10})
    results = []
    for engine in engines():
        flow = two_gates()
        first = await engine.run(flow, {})
        assert first.checkpoint is not None
        second = await engine.resume(flow, first.checkpoint, add)
        assert second.checkpoint is not None
        assert second.pending is not None
        done = await engine.resume(flow, second.checkpoint, add)
        results.append((second.pending.arguments, done.state, done.steps, done.visits))

    assert results[0] == results[1]
    assert results[1][1].log == ["a 20", "b 20", "side"]


async def test_a_denied_gate_ends_the_run_and_nothing_of_its_superstep_ran() -> None:
    results = []
    for engine in engines():
        flow = gated()
        paused = await engine.run(flow, {}, run_id="r")
        assert paused.checkpoint is not None
        denied = await engine.resume(flow, paused.checkpoint, NO)
        results.append((denied.status, denied.denied_at, denied.state, denied.steps))

    assert results[0] == results[1] == ("denied", "pay", Ledger(log=["start"]), 1)


async def test_a_pause_is_langgraphs_own_interrupt_with_a_plain_value() -> None:
    store = MemoryApprovalStore()
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )

    output = await compiled.graph.ainvoke({"note": "hello"}, THREAD)

    [interrupt] = output["__interrupt__"]
    [record] = await store.list()
    assert interrupt.value == {
        "kind": "node",
        "tool": "node:gated.pay",
        "arguments": {"note": "hello"},
        "approval_id": record.request.id,
        "run_id": record.request.run_id,
        "call_id": "gated:pay:1",
        "flow": "gated",
        "node": "pay",
    }
    state = await compiled.graph.aget_state(THREAD)
    assert state.interrupts == (interrupt,)
    assert state.values["log"] == ["start"]
    assert not [key for key in (*output, *state.values) if key.startswith("aa_")]


async def test_a_raw_answer_goes_on_and_is_spent() -> None:
    store = MemoryApprovalStore()
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )
    output = await compiled.graph.ainvoke({}, THREAD)
    approval_id = output["__interrupt__"][0].value["approval_id"]
    answer = {"approved": True, "edited_args": {"paid": 5}, "approval_id": approval_id}

    done = await compiled.graph.ainvoke(Command(resume=answer), THREAD)

    assert done == {"paid": 6, "note": "", "log": ["start", "pay", "side sees 5"]}
    assert [record.status for record in await store.list()] == ["consumed"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("yes", "is a str"),
        (1, "is a int"),
        ({"approved": "yes"}, "approved"),
        ({"approved": True, "approval_id": "another"}, "no approval 'another' waits"),
        ({"approved": True, "edited_args": {"nope": 1}}, "unknown key 'nope'"),
        ({"approved": True, "edited_args": {"paid": "much"}}, "paid cannot be added"),
    ],
)
async def test_a_malformed_raw_answer_asks_again_and_the_next_one_counts(
    bad: object, why: str
) -> None:
    store = MemoryApprovalStore()
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )
    await compiled.graph.ainvoke({}, THREAD)

    again = await compiled.graph.ainvoke(Command(resume=bad), THREAD)
    once_more = await compiled.graph.ainvoke(Command(resume=bad), THREAD)

    assert why in again["__interrupt__"][0].value["error"]
    assert why in once_more["__interrupt__"][0].value["error"]
    assert once_more["log"] == ["start"]
    assert [record.status for record in await store.list()] == ["pending"]
    done = await compiled.graph.ainvoke(Command(resume=True), THREAD)
    assert done["log"] == ["start", "pay", "side sees 0"]


async def test_invoking_again_without_an_answer_passes_no_gate() -> None:
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(MemoryApprovalStore()),
        checkpointer=InMemorySaver(),
    )
    first = await compiled.graph.ainvoke({}, THREAD)

    again = await compiled.graph.ainvoke(None, THREAD)

    assert again["log"] == ["start"]
    asked = [output["__interrupt__"][0].value["approval_id"] for output in (first, again)]
    assert asked[0] == asked[1]


async def test_an_answer_of_another_mind_than_the_store_asks_again() -> None:
    store = MemoryApprovalStore()
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )
    output = await compiled.graph.ainvoke({}, THREAD)
    await store.decide(output["__interrupt__"][0].value["approval_id"], NO)

    refused = await compiled.graph.ainvoke(Command(resume=True), THREAD)
    denied = await compiled.graph.ainvoke(Command(resume=NO.model_dump()), THREAD)

    assert "decided otherwise" in refused["__interrupt__"][0].value["error"]
    assert denied["log"] == ["start"]
    assert (await compiled.graph.aget_state(THREAD)).next == ()


async def test_a_decision_in_the_store_is_used_when_the_thread_is_invoked_again() -> None:
    store = MemoryApprovalStore()
    compiled = compile_flow(
        gated(),
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )
    output = await compiled.graph.ainvoke({}, THREAD)
    await store.decide(output["__interrupt__"][0].value["approval_id"], YES)

    done = await compiled.graph.ainvoke(None, THREAD)

    assert done["log"] == ["start", "pay", "side sees 0"]
    assert [record.status for record in await store.list()] == ["consumed"]


async def test_a_gate_that_shows_the_time_is_answered_all_the_same() -> None:
    # Given a gate whose function says something else each time it is called
    ticks = itertools.count()
    flow = (
        Flow("clock", state=Ledger)
        .node("pay", lambda s: {"paid": 1}, pause=lambda s: {"tick": next(ticks)})
        .end("pay")
    )
    store = MemoryApprovalStore()
    engine = LangGraphEngine(Executor(ToolRegistry()), approval=DeferredApproval(store))
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None

    # When what it asked is answered
    done = await engine.resume(flow, paused.checkpoint, YES)

    # Then the answer counts, and nothing else was asked
    assert done.status == "done"
    assert [record.status for record in await store.list()] == ["consumed"]


@pytest.mark.parametrize("has_store", [True, False])
async def test_a_second_resume_is_refused_and_runs_nothing(has_store: bool) -> None:
    def nobody_yet(request: ApprovalRequest) -> bool:
        raise ApprovalPending(request)

    port = DeferredApproval(MemoryApprovalStore()) if has_store else CallbackApproval(nobody_yet)
    flow = gated()
    engine = LangGraphEngine(Executor(ToolRegistry()), approval=port, checkpointer=InMemorySaver())
    paused = await engine.run(flow, {}, run_id=f"r {has_store}")
    assert paused.checkpoint is not None
    await engine.resume(flow, paused.checkpoint, YES)

    with pytest.raises(ApprovalAlreadyDecided):
        await engine.resume(flow, paused.checkpoint, YES)


async def test_of_two_resumes_at_once_one_runs() -> None:
    flow = gated()
    _, engine = engines()
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None

    results = await asyncio.gather(
        engine.resume(flow, paused.checkpoint, YES),
        engine.resume(flow, paused.checkpoint, YES),
        return_exceptions=True,
    )

    assert sorted(type(one).__name__ for one in results) == ["ApprovalAlreadyDecided", "FlowResult"]


async def test_of_two_raw_answers_at_once_one_runs() -> None:
    # Given one paused thread and two graphs over the same checkpointer and store
    ran = []
    saver, store = InMemorySaver(), MemoryApprovalStore()
    flow = (
        Flow("once", state=Ledger)
        .node("pay", lambda s: ran.append("pay"), pause=lambda s: {})
        .end("pay")
    )
    one, other = (
        compile_flow(
            flow,
            Executor(ToolRegistry()),
            approval=DeferredApproval(store),
            checkpointer=saver,
        ).graph
        for _ in range(2)
    )
    await one.ainvoke({}, THREAD)

    # When both are given the answer at once
    await asyncio.gather(
        one.ainvoke(Command(resume=True), THREAD), other.ainvoke(Command(resume=True), THREAD)
    )

    # Then it counts for one of them
    assert ran == ["pay"]


@pytest.mark.parametrize("edited", [{"nope": 1}, {"paid": "much"}])
async def test_an_edit_that_does_not_fit_is_refused_before_anything_is_spent(
    edited: dict[str, Any],
) -> None:
    flow, store = gated(), MemoryApprovalStore()
    engine = LangGraphEngine(Executor(ToolRegistry()), approval=DeferredApproval(store))
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError, match=r"nope|paid"):
        await engine.resume(
            flow, paused.checkpoint, ApprovalDecision(approved=True, edited_args=edited)
        )

    assert [record.status for record in await store.list()] == ["pending"]
    assert (await engine.resume(flow, paused.checkpoint, YES)).status == "done"


async def test_a_store_that_holds_another_decision_refuses_and_the_checkpoint_stays() -> None:
    flow, store = gated(), MemoryApprovalStore()
    engine = LangGraphEngine(Executor(ToolRegistry()), approval=DeferredApproval(store))
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None
    assert paused.pending is not None
    await store.decide(paused.pending.id, NO)

    with pytest.raises(ApprovalAlreadyDecided):
        await engine.resume(flow, paused.checkpoint, YES)

    assert (await engine.resume(flow, paused.checkpoint, NO)).status == "denied"


async def test_a_gate_without_a_port_is_denied_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "accord"):
        result = await LangGraphEngine(Executor(ToolRegistry())).run(gated(), {})
        raw = await compile_flow(gated(), Executor(ToolRegistry())).graph.ainvoke({})

    assert (result.status, result.denied_at) == ("denied", "pay")
    assert raw["log"] == ["start"]
    assert caplog.text.count("Pass approval=... to the engine.") == 2


async def test_a_port_that_decides_at_once_needs_no_pause() -> None:
    allow = LangGraphEngine(Executor(ToolRegistry()), approval=AllowApproval())
    deny = LangGraphEngine(Executor(ToolRegistry()), approval=DenyApproval())

    assert (await allow.run(gated(), {})).state.log == ["start", "pay", "side sees 0"]
    assert (await deny.run(gated(), {})).status == "denied"


async def test_a_checkpoint_of_another_engine_or_thread_is_refused_unspent() -> None:
    flow, store = gated(), MemoryApprovalStore()
    port = DeferredApproval(store)
    native = FlowRunner(Executor(ToolRegistry()), approval=port)
    here = LangGraphEngine(Executor(ToolRegistry()), approval=port)
    elsewhere = LangGraphEngine(Executor(ToolRegistry()), approval=port)
    codes = []
    for owner in (native, elsewhere):
        paused = await owner.run(flow, {})
        assert paused.checkpoint is not None
        with pytest.raises(FlowError) as caught:
            await here.resume(flow, paused.checkpoint, YES)
        codes.append(caught.value.code)

    assert codes == ["other-engine", "thread-unknown"]
    assert {record.status for record in await store.list()} == {"pending"}


async def test_a_thread_that_has_moved_on_is_refused() -> None:
    # Given a pause whose thread was edited afterwards
    flow, store = two_gates(), MemoryApprovalStore()
    compiled = compile_flow(
        flow,
        Executor(ToolRegistry()),
        approval=DeferredApproval(store),
        checkpointer=InMemorySaver(),
    )
    paused = await compiled.run({}, run_id="t")
    assert paused.checkpoint is not None
    text = compiled.dump_checkpoint(paused.checkpoint)
    await compiled.graph.aupdate_state(THREAD, {"note": "edited"}, as_node="start")

    # When the old checkpoint is resumed
    with pytest.raises(FlowError) as caught:
        await compiled.resume(compiled.load_checkpoint(text), YES)

    # Then nothing is spent
    assert caught.value.code == "thread-moved"
    assert [record.status for record in await store.list()] == ["pending"]
