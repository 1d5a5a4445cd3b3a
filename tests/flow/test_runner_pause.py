"""Pause and resume on the native runner: gates, tool approvals, journals, once only."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    AllowApproval,
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalDenied,
    DeferredApproval,
    DenyApproval,
    Executor,
    Flow,
    FlowError,
    FlowRunner,
    Map,
    MemoryApprovalStore,
    MemorySink,
    Merge,
    ToolContext,
    ToolRegistry,
)

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False, reason="too much")


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0
    note: str = ""
    jobs: list[dict[str, Any]] = Field(default_factory=list)
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


def runner_with_store(
    registry: ToolRegistry | None = None, **options: Any
) -> tuple[FlowRunner, MemoryApprovalStore]:
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    executor = Executor(registry or ToolRegistry(), approval=port)
    return FlowRunner(executor, approval=port, **options), store


async def test_a_gate_pauses_before_anything_of_its_superstep_runs() -> None:
    runner, store = runner_with_store()

    paused = await runner.run(gated(), {"note": "hello"})

    assert paused.status == "paused"
    assert paused.steps == 1
    assert paused.visits == {"start": 1}
    assert paused.pending is not None
    assert (paused.pending.tool, paused.pending.arguments) == ("node:gated.pay", {"note": "hello"})
    assert paused.pending.call_id == "gated:pay:1"
    assert paused.state.model_dump()["log"] == ["start"]
    assert [record.status for record in await store.list()] == ["pending"]


async def test_an_approved_gate_goes_on_and_consumes_its_record() -> None:
    runner, store = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    done = await runner.resume(flow, paused.checkpoint, YES)

    assert (done.status, done.steps) == ("done", 2)
    assert done.run_id == paused.run_id
    assert done.state.model_dump()["log"] == ["start", "pay", "side sees 0"]
    assert [record.status for record in await store.list()] == ["consumed"]


async def test_edited_args_are_merged_by_rule_before_the_superstep() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {"paid": 1})
    assert paused.checkpoint is not None
    edit = ApprovalDecision(approved=True, edited_args={"paid": 5, "note": "edited"})

    done = await runner.resume(flow, paused.checkpoint, edit)

    assert done.state.model_dump()["log"] == ["start", "pay", "side sees 6"]
    assert done.state.model_dump()["paid"] == 7
    assert done.state.model_dump()["note"] == "edited"


@pytest.mark.parametrize("edited", [{"nope": 1}, {"paid": "much"}])
async def test_an_edit_that_does_not_fit_is_refused_and_nothing_is_spent(
    edited: dict[str, Any],
) -> None:
    runner, store = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError):
        await runner.resume(
            flow, paused.checkpoint, ApprovalDecision(approved=True, edited_args=edited)
        )

    assert [record.status for record in await store.list()] == ["pending"]
    assert (await runner.resume(flow, paused.checkpoint, YES)).status == "done"


async def test_a_denied_gate_ends_the_run_where_it_was() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    denied = await runner.resume(flow, paused.checkpoint, NO)

    assert (denied.status, denied.denied_at) == ("denied", "pay")
    assert denied.state.model_dump()["log"] == ["start"]
    assert denied.checkpoint is None


async def test_a_second_resume_is_refused_and_runs_nothing() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None
    await runner.resume(flow, paused.checkpoint, YES)

    with pytest.raises(ApprovalAlreadyDecided):
        await runner.resume(flow, paused.checkpoint, YES)


async def test_of_two_resumes_at_once_one_runs() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    both = await asyncio.gather(
        runner.resume(flow, paused.checkpoint, YES),
        runner.resume(flow, paused.checkpoint, YES),
        return_exceptions=True,
    )

    assert sorted(type(one).__name__ for one in both) == ["ApprovalAlreadyDecided", "FlowResult"]


async def test_a_store_that_holds_another_decision_refuses_and_the_checkpoint_stays() -> None:
    runner, store = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None
    assert paused.pending is not None
    await store.decide(paused.pending.id, NO)

    with pytest.raises(ApprovalAlreadyDecided):
        await runner.resume(flow, paused.checkpoint, YES)

    assert (await runner.resume(flow, paused.checkpoint, NO)).status == "denied"


async def test_a_gate_without_a_port_is_denied_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "accord"):
        result = await FlowRunner(Executor(ToolRegistry())).run(gated(), {})

    assert (result.status, result.denied_at) == ("denied", "pay")
    assert "Pass approval=... to the engine." in caplog.text


async def test_a_port_that_decides_at_once_needs_no_pause() -> None:
    allow = FlowRunner(Executor(ToolRegistry()), approval=AllowApproval())
    deny = FlowRunner(Executor(ToolRegistry()), approval=DenyApproval())

    assert (await allow.run(gated(), {})).status == "done"
    assert (await deny.run(gated(), {})).status == "denied"


def two_gates() -> Flow[Ledger]:
    return (
        Flow("two", state=Ledger)
        .node("start", lambda s: None)
        .node("b", lambda s, ctx: {"log": f"b {s.paid}"}, pause=lambda s: {"paid": s.paid})
        .node("a", lambda s, ctx: {"log": f"a {s.paid}"}, pause=lambda s: {"paid": s.paid})
        .edge("start", ["a", "b"])
        .end("a", "b")
    )


async def test_gates_are_asked_in_name_order_and_edits_applied_after_all_approved() -> None:
    runner, _ = runner_with_store()
    flow = two_gates()
    first = await runner.run(flow, {})
    assert first.checkpoint is not None
    add = ApprovalDecision(approved=True, edited_args={"paid": 10})

    second = await runner.resume(flow, first.checkpoint, add)
    assert second.checkpoint is not None
    done = await runner.resume(flow, second.checkpoint, add)

    assert first.pending is not None
    assert first.pending.tool == "node:two.a"
    assert second.pending is not None
    assert (second.pending.tool, second.pending.arguments) == ("node:two.b", {"paid": 0})
    assert done.state.model_dump()["log"] == ["a 20", "b 20"]


def counting_tools() -> tuple[ToolRegistry, list[str]]:
    registry, calls = ToolRegistry(), []

    @registry.tool
    async def look(what: str) -> str:
        calls.append(f"look {what}")
        return what.upper()

    @registry.tool(confirm=True)
    async def pay(amount: int) -> int:
        calls.append(f"pay {amount}")
        return amount

    @registry.tool(confirm=True)
    async def notify(who: str) -> str:
        calls.append(f"notify {who}")
        return who

    return registry, calls


def confirming() -> Flow[Ledger]:
    async def work(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        looked = await ctx.call("look", what="price")
        paid = await ctx.call("pay", amount=7)
        told = await ctx.call("notify", who="anna")
        return {"log": f"{looked} {told}", "paid": paid}

    return Flow("confirming", state=Ledger).node("work", work).end("work")


async def test_finished_calls_are_replayed_and_each_runs_once() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)
    flow = confirming()

    first = await runner.run(flow, {})
    assert first.checkpoint is not None
    assert first.pending is not None
    second = await runner.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    assert second.pending is not None
    done = await runner.resume(flow, second.checkpoint, YES)

    assert (first.pending.tool, first.pending.arguments) == ("pay", {"amount": 7})
    assert (second.pending.tool, second.pending.arguments) == ("notify", {"who": "anna"})
    assert calls == ["look price", "pay 7", "notify anna"]
    assert done.state.model_dump()["paid"] == 7
    assert done.visits == {"work": 1}


async def test_edited_tool_arguments_replace_the_named_ones() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)
    flow = confirming()
    first = await runner.run(flow, {})
    assert first.checkpoint is not None

    second = await runner.resume(
        flow, first.checkpoint, ApprovalDecision(approved=True, edited_args={"amount": 3})
    )
    assert second.checkpoint is not None
    done = await runner.resume(flow, second.checkpoint, YES)

    assert calls == ["look price", "pay 3", "notify anna"]
    assert done.state.model_dump()["paid"] == 3


async def test_a_denied_tool_call_fails_its_node() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)
    flow = confirming()
    first = await runner.run(flow, {})
    assert first.checkpoint is not None

    with pytest.raises(FlowError, match="too much") as caught:
        await runner.resume(flow, first.checkpoint, NO)

    assert isinstance(caught.value.__cause__, ApprovalDenied)
    assert calls == ["look price"]


async def test_an_answer_counts_once_also_when_its_call_is_replayed_later() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)

    async def pay_twice(state: Ledger, ctx: ToolContext) -> None:
        await ctx.call("pay", amount=7)
        await ctx.call("pay", amount=7)

    flow = Flow("twice", state=Ledger).node("work", pay_twice).end("work")
    first = await runner.run(flow, {})
    assert first.checkpoint is not None

    second = await runner.resume(flow, first.checkpoint, YES)

    assert second.status == "paused"
    assert calls == ["pay 7"]
    assert second.checkpoint is not None
    assert (await runner.resume(flow, second.checkpoint, YES)).status == "done"
    assert calls == ["pay 7", "pay 7"]


async def test_siblings_of_a_paused_visit_finish_and_are_kept() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)

    async def pays(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        return {"paid": await ctx.call("pay", amount=1)}

    async def looks(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        return {"log": await ctx.call("look", what="x")}

    flow = (
        Flow("siblings", state=Ledger)
        .node("start", lambda s: None)
        .node("a", pays)
        .node("b", looks)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    done = await runner.resume(flow, paused.checkpoint, YES)

    assert sorted(calls) == ["look x", "pay 1"]
    assert done.state.model_dump()["log"] == ["X"]
    assert done.state.model_dump()["paid"] == 1


async def test_swallowing_a_pause_fails_loudly() -> None:
    registry, _ = counting_tools()
    runner, store = runner_with_store(registry)

    async def swallow(state: Ledger, ctx: ToolContext) -> None:
        try:
            await ctx.call("pay", amount=1)
        except BaseException:  # noqa: BLE001 - the very thing that must not work
            return

    flow = Flow("swallow", state=Ledger).node("work", swallow).end("work")

    with pytest.raises(FlowError, match="ApprovalPending") as caught:
        await runner.run(flow, {})

    assert caught.value.code == "pause-swallowed"
    assert [record.status for record in await store.list()] == ["consumed"]


async def test_a_failure_beside_a_pause_wins_and_closes_the_question() -> None:
    registry, _ = counting_tools()
    runner, store = runner_with_store(registry)

    async def pays(state: Ledger, ctx: ToolContext) -> None:
        await ctx.call("pay", amount=1)

    async def fails(state: Ledger) -> None:
        raise ValueError("boom")

    flow = (
        Flow("beside", state=Ledger)
        .node("start", lambda s: None)
        .node("a", pays)
        .node("b", fails)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    with pytest.raises(FlowError, match="boom"):
        await runner.run(flow, {})

    record = (await store.list())[0]
    assert record.status == "consumed"
    assert record.decision is not None
    assert record.decision.approved is False


async def test_map_items_that_finished_are_kept_and_the_first_pending_is_by_item() -> None:
    registry, calls = counting_tools()
    runner, _ = runner_with_store(registry)
    flow = (
        Flow("mapping", state=Ledger)
        .node("all", Map("jobs", tool_from="tool", into="log"))
        .end("all")
    )
    jobs = [
        {"tool": "look", "args": {"what": "a"}},
        {"tool": "notify", "args": {"who": "b"}},
        {"tool": "notify", "args": {"who": "c"}},
        {"tool": "look", "what": "d"},
    ]

    first = await runner.run(flow, {"jobs": jobs})
    assert first.checkpoint is not None
    assert first.pending is not None
    second = await runner.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    assert second.pending is not None
    done = await runner.resume(flow, second.checkpoint, YES)

    assert first.pending.call_id == "mapping:all:1:1"
    assert second.pending.call_id == "mapping:all:1:2"
    assert sorted(calls) == ["look a", "look d", "notify b", "notify c"]
    assert done.state.model_dump()["log"] == ["A", "b", "c", "D"]


async def gathered(ctx: ToolContext) -> None:
    await asyncio.gather(ctx.call("pay", amount=1), ctx.call("notify", who="x"))


async def grouped(ctx: ToolContext) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.call("pay", amount=1))
        group.create_task(ctx.call("notify", who="x"))


@pytest.mark.parametrize("side_by_side", [gathered, grouped])
async def test_another_request_of_a_function_is_superseded_and_asked_anew(
    side_by_side: Callable[[ToolContext], Awaitable[None]],
) -> None:
    registry, calls = counting_tools()
    runner, store = runner_with_store(registry)

    async def both(state: Ledger, ctx: ToolContext) -> None:
        await side_by_side(ctx)

    flow = Flow("both", state=Ledger).node("work", both).end("work")
    first = await runner.run(flow, {})
    assert first.checkpoint is not None
    asked = [request.tool for request in first.checkpoint.pending]

    second = await runner.resume(flow, first.checkpoint, YES)

    assert asked == ["pay", "notify"]
    assert second.pending is not None
    assert second.pending.tool == "notify"
    assert calls == ["pay 1"]
    assert [record.status for record in await store.list()] == ["consumed", "consumed", "pending"]


async def test_a_changed_checkpoint_is_refused_and_the_approval_is_not_spent() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None
    forged = dataclasses.replace(paused.checkpoint, run_id="another")

    with pytest.raises(FlowError) as caught:
        await runner.resume(flow, forged, YES)

    assert caught.value.code == "checkpoint-tampered"
    assert (await runner.resume(flow, paused.checkpoint, YES)).status == "done"


async def test_a_checkpoint_of_another_graph_is_refused() -> None:
    runner, _ = runner_with_store()
    paused = await runner.run(gated(), {})
    assert paused.checkpoint is not None
    other = gated().node("extra", lambda s: None).edge("start", "extra").end("extra")

    with pytest.raises(FlowError) as caught:
        await runner.resume(other, paused.checkpoint, YES)

    assert caught.value.code == "graph-changed"


async def test_a_dumped_checkpoint_resumes_on_another_runner_with_the_same_key() -> None:
    registry, calls = counting_tools()
    key = b"k" * 32
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    flow = confirming()

    def fresh() -> FlowRunner:
        executor = Executor(registry, approval=port)
        return FlowRunner(executor, approval=port, checkpoint_key=key)

    paused = await fresh().run(flow, {"jobs": [{"deep": [1, None, True, 2.5]}]})
    assert paused.checkpoint is not None
    text = fresh().dump_checkpoint(paused.checkpoint)

    second = await fresh().resume(flow, fresh().load_checkpoint(flow, text), YES)
    assert second.checkpoint is not None
    text = fresh().dump_checkpoint(second.checkpoint)
    done = await fresh().resume(flow, fresh().load_checkpoint(flow, text), YES)

    assert calls == ["look price", "pay 7", "notify anna"]
    assert done.state.model_dump()["jobs"] == [{"deep": [1, None, True, 2.5]}]


async def test_a_checkpoint_under_another_key_is_refused() -> None:
    flow = gated()
    runner, _ = runner_with_store(checkpoint_key=b"a" * 16)
    other, _ = runner_with_store(checkpoint_key=b"b" * 16)
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError) as caught:
        other.load_checkpoint(flow, runner.dump_checkpoint(paused.checkpoint))

    assert caught.value.code == "checkpoint-tampered"


class Holder(BaseModel):
    anything: Any = None


async def test_what_cannot_be_sealed_is_refused_before_the_port_is_asked() -> None:
    runner, store = runner_with_store()
    flow = Flow("hold", state=Holder).node("gate", lambda s: None, pause=lambda s: {}).end("gate")

    with pytest.raises(FlowError, match="anything") as caught:
        await runner.run(flow, {"anything": object()})

    assert caught.value.code == "state-not-sealable"
    assert await store.list() == []


async def test_a_tool_pause_that_cannot_be_sealed_closes_its_record() -> None:
    registry, _ = counting_tools()
    runner, store = runner_with_store(registry)

    async def pays(state: Holder, ctx: ToolContext) -> None:
        await ctx.call("pay", amount=1)

    flow = Flow("hold", state=Holder).node("pays", pays).end("pays")

    with pytest.raises(FlowError) as caught:
        await runner.run(flow, {"anything": object()})

    assert caught.value.code == "state-not-sealable"
    assert [record.status for record in await store.list()] == ["consumed"]


async def test_a_flow_that_never_pauses_may_hold_anything() -> None:
    runner, _ = runner_with_store()
    thing = object()
    flow = Flow("hold", state=Holder).node("only", lambda s: None).end("only")

    assert (await runner.run(flow, {"anything": thing})).state.anything is thing


async def test_the_events_of_a_paused_and_resumed_run() -> None:
    registry, _ = counting_tools()
    sink = MemorySink()
    runner, _ = runner_with_store(registry, sink=sink)
    flow = confirming()
    first = await runner.run(flow, {})
    assert first.checkpoint is not None
    second = await runner.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    await runner.resume(flow, second.checkpoint, YES)

    assert [event.name for event in sink.events] == [
        "run.started",
        "flow.started",
        "node.started",
        "tool.started",
        "tool.finished",
        "node.paused",
        "flow.finished",
        "flow.started",
        "node.started",
        "tool.started",
        "tool.finished",
        "node.paused",
        "flow.finished",
        "flow.started",
        "node.started",
        "tool.started",
        "tool.finished",
        "node.finished",
        "flow.finished",
        "run.finished",
    ]
    assert {event.run_id for event in sink.events} == {first.run_id}


async def test_resuming_with_something_else_than_a_decision_runs_nothing() -> None:
    runner, _ = runner_with_store()
    flow = gated()
    paused = await runner.run(flow, {})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError, match="takes an ApprovalDecision, not bool"):
        await runner.resume(flow, paused.checkpoint, True)  # type: ignore[arg-type] # the mistake


@pytest.mark.parametrize("edited", [{"amuont": 3}, {"amount": "much"}])
async def test_edited_tool_arguments_that_do_not_fit_are_refused_and_nothing_is_spent(
    edited: dict[str, Any],
) -> None:
    registry, calls = counting_tools()
    runner, store = runner_with_store(registry)
    flow = confirming()
    first = await runner.run(flow, {})
    assert first.checkpoint is not None

    with pytest.raises(FlowError, match="edited_args do not fit") as caught:
        await runner.resume(
            flow, first.checkpoint, ApprovalDecision(approved=True, edited_args=edited)
        )

    assert caught.value.node == "work"
    assert [record.status for record in await store.list()] == ["pending"]
    assert (await runner.resume(flow, first.checkpoint, YES)).status == "paused"
    assert calls == ["look price", "pay 7"]
