"""Tool approvals inside a compiled node: re-run with the answers that belong to its requests."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, Field

from accord import (
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalDenied,
    ApprovalPending,
    ApprovalRequest,
    CallbackApproval,
    DeferredApproval,
    Executor,
    Flow,
    FlowError,
    FlowRunner,
    Map,
    MemoryApprovalStore,
    Merge,
    ToolContext,
    ToolRegistry,
)
from accord_langgraph import LangGraphEngine, compile_flow

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False, reason="too much")
THREAD: Any = {"configurable": {"thread_id": "t"}}


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    sums: list[int] = Field(default_factory=list)


def tools() -> tuple[ToolRegistry, list[str]]:
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


def two_confirms() -> Flow[Ledger]:
    async def work(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        looked = await ctx.call("look", what="price")
        paid = await ctx.call("pay", amount=7)
        told = await ctx.call("notify", who="anna")
        return {"log": f"{looked} {told}", "paid": paid}

    return Flow("confirming", state=Ledger).node("work", work).end("work")


def nobody_yet(request: ApprovalRequest) -> bool:
    raise ApprovalPending(request)


@pytest.mark.parametrize("has_store", [True, False])
async def test_two_confirms_run_three_two_and_one_times(has_store: bool) -> None:
    registry, calls = tools()
    store = MemoryApprovalStore()
    port = DeferredApproval(store) if has_store else CallbackApproval(nobody_yet)
    engine = LangGraphEngine(Executor(registry, approval=port))
    flow = two_confirms()

    first = await engine.run(flow, {})
    assert first.checkpoint is not None
    assert first.pending is not None
    second = await engine.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    assert second.pending is not None
    done = await engine.resume(flow, second.checkpoint, YES)

    assert (first.pending.tool, first.pending.arguments) == ("pay", {"amount": 7})
    assert (second.pending.tool, second.pending.arguments) == ("notify", {"who": "anna"})
    assert [calls.count(call) for call in ("look price", "pay 7", "notify anna")] == [3, 2, 1]
    assert (done.status, done.steps, done.visits) == ("done", 1, {"work": 1})
    assert done.state == Ledger(paid=7, log=["PRICE anna"])
    assert {record.status for record in await store.list()} <= {"consumed"}


async def test_raw_answers_are_bound_to_the_question_that_was_asked() -> None:
    registry, calls = tools()
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    graph = compile_flow(two_confirms(), executor, checkpointer=InMemorySaver()).graph
    asked = await graph.ainvoke({}, THREAD)
    paying = asked["__interrupt__"][0].value

    # Given a bare yes to the first question
    second = await graph.ainvoke(Command(resume=True), THREAD)
    # When that answer is given again by name, or nothing is said
    by_name = {"approved": True, "approval_id": paying["approval_id"]}
    again = await graph.ainvoke(Command(resume=by_name), THREAD)
    silent = await graph.ainvoke(None, THREAD)
    # Then the second question stays open
    for output in (second, again, silent):
        assert output["__interrupt__"][0].value["tool"] == "notify"
    assert "notify anna" not in calls
    assert "no approval" in again["__interrupt__"][0].value["error"]

    done = await graph.ainvoke(Command(resume={"approved": True}), THREAD)
    assert done["paid"] == 7
    assert calls.count("notify anna") == 1


async def test_a_first_resume_given_twice_is_refused_though_the_thread_stands_still() -> None:
    registry, calls = tools()
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    engine, flow = LangGraphEngine(executor), two_confirms()
    first = await engine.run(flow, {})
    assert first.checkpoint is not None
    await engine.resume(flow, first.checkpoint, YES)
    before = list(calls)

    with pytest.raises(ApprovalAlreadyDecided):
        await engine.resume(flow, first.checkpoint, YES)

    assert calls == before


async def test_a_denied_call_fails_its_node_as_native() -> None:
    errors = []
    for make in (FlowRunner, LangGraphEngine):
        registry, calls = tools()
        engine = make(Executor(registry, approval=DeferredApproval(MemoryApprovalStore())))
        flow = two_confirms()
        paused = await engine.run(flow, {})
        assert paused.checkpoint is not None
        with pytest.raises(FlowError, match="too much") as caught:
            await engine.resume(flow, paused.checkpoint, NO)
        assert isinstance(caught.value.__cause__, ApprovalDenied)
        errors.append((caught.value.message, caught.value.node))
        assert "pay 7" not in calls

    assert errors[0] == errors[1]


async def test_edited_arguments_are_those_of_the_call_that_was_approved() -> None:
    registry, calls = tools()
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    engine, flow = LangGraphEngine(executor), two_confirms()
    first = await engine.run(flow, {})
    assert first.checkpoint is not None

    second = await engine.resume(
        flow, first.checkpoint, ApprovalDecision(approved=True, edited_args={"amount": 3})
    )
    assert second.checkpoint is not None
    done = await engine.resume(flow, second.checkpoint, YES)

    assert done.state.paid == 3
    assert [call for call in calls if call.startswith("pay")] == ["pay 3", "pay 3"]


async def test_a_node_that_fails_after_its_approval_asks_anew_when_it_runs_again() -> None:
    # Given a node that failed after its approved call ran
    registry, calls = tools()
    store = MemoryApprovalStore()
    broken = [True]

    async def work(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        paid = await ctx.call("pay", amount=7)
        if broken.pop():
            raise ValueError("boom")
        return {"paid": paid}

    flow = Flow("again", state=Ledger).node("work", work).end("work")
    executor = Executor(registry, approval=DeferredApproval(store))
    graph = compile_flow(flow, executor, checkpointer=InMemorySaver()).graph
    await graph.ainvoke({}, THREAD)
    with pytest.raises(FlowError, match="boom"):
        await graph.ainvoke(Command(resume=True), THREAD)

    # When LangGraph runs it again
    broken.append(False)
    asked = await graph.ainvoke(None, THREAD)

    # Then the spent approval does not count, and a new one does
    assert calls == ["pay 7"]
    assert [record.status for record in await store.list()] == ["consumed", "pending"]
    assert asked["__interrupt__"][0].value["tool"] == "pay"
    done = await graph.ainvoke(Command(resume=True), THREAD)
    assert done["paid"] == 7
    assert calls == ["pay 7", "pay 7"]


async def test_siblings_of_a_paused_visit_finish_and_are_kept() -> None:
    registry, calls = tools()
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))

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
    engine = LangGraphEngine(executor)
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None
    assert (paused.state, paused.steps, paused.visits) == (Ledger(), 1, {"start": 1})

    done = await engine.resume(flow, paused.checkpoint, YES)

    assert sorted(calls) == ["look x", "pay 1"]
    assert done.state == Ledger(paid=1, log=["X"])
    assert (done.steps, done.visits) == (2, {"start": 1, "a": 1, "b": 1})


async def test_two_paused_siblings_are_answered_one_after_the_other() -> None:
    results = []
    for make in (FlowRunner, LangGraphEngine):
        registry, calls = tools()
        engine = make(Executor(registry, approval=DeferredApproval(MemoryApprovalStore())))

        async def pays(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            return {"paid": await ctx.call("pay", amount=1)}

        async def tells(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            return {"log": await ctx.call("notify", who="bob")}

        flow = (
            Flow("pair", state=Ledger)
            .node("start", lambda s: None)
            .node("b", pays)
            .node("a", tells)
            .edge("start", ["a", "b"])
            .end("a", "b")
        )
        first = await engine.run(flow, {})
        assert first.checkpoint is not None
        assert first.pending is not None
        second = await engine.resume(flow, first.checkpoint, YES)
        assert second.checkpoint is not None
        assert second.pending is not None
        done = await engine.resume(flow, second.checkpoint, YES)
        results.append((first.pending.tool, second.pending.tool, done.state, sorted(calls)))

    assert results[0] == results[1]
    assert results[1][:2] == ("notify", "pay")


async def test_a_failure_beside_a_pause_wins_and_closes_the_question() -> None:
    registry, _ = tools()
    store = MemoryApprovalStore()
    asked = asyncio.Event()

    async def pays(state: Ledger, ctx: ToolContext) -> None:
        try:
            await ctx.call("pay", amount=1)
        finally:
            asked.set()

    async def fails(state: Ledger) -> None:
        await asked.wait()
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
        await LangGraphEngine(Executor(registry, approval=DeferredApproval(store))).run(flow, {})

    [record] = await store.list()
    assert record.status == "consumed"
    assert record.decision is not None
    assert not record.decision.approved


async def test_swallowing_a_pause_fails_loudly() -> None:
    registry, _ = tools()

    async def swallow(state: Ledger, ctx: ToolContext) -> None:
        try:
            await ctx.call("pay", amount=1)
        except BaseException:  # noqa: BLE001 - the very thing that must not work
            return

    flow = Flow("swallow", state=Ledger).node("work", swallow).end("work")
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))

    with pytest.raises(FlowError, match="ApprovalPending") as caught:
        await LangGraphEngine(executor).run(flow, {})

    assert caught.value.code == "pause-swallowed"


async def test_map_items_that_need_approvals_are_answered_by_item() -> None:
    registry, calls = tools()
    store = MemoryApprovalStore()
    flow = (
        Flow("mapping", state=Ledger).node("pay", Map("sums", tool="pay", into="paid")).end("pay")
    )
    engine = LangGraphEngine(Executor(registry, approval=DeferredApproval(store)))
    result = await engine.run(flow, {"sums": [1, 2, 3]})
    asked = []
    while result.checkpoint is not None and result.pending is not None:
        asked.append(result.pending.arguments["amount"])
        result = await engine.resume(flow, result.checkpoint, YES)

    assert asked == [1, 2, 3]
    assert result.state.paid == 6
    assert [calls.count(f"pay {amount}") for amount in (1, 2, 3)] == [3, 2, 1]
    assert [record.status for record in await store.list()] == ["consumed"] * 3


async def test_without_a_port_a_call_is_denied() -> None:
    registry, calls = tools()

    with pytest.raises(FlowError, match="no approval port"):
        await LangGraphEngine(Executor(registry)).run(two_confirms(), {})

    assert calls == ["look price"]


@pytest.mark.parametrize(
    "bad", [{"log": 1, "nope": 1}, {"sums": "none"}], ids=["unknown key", "wrong type"]
)
async def test_an_update_that_does_not_merge_beside_a_pause_fails_after_it_as_native(
    bad: dict[str, Any],
) -> None:
    errors = []
    for make in (FlowRunner, LangGraphEngine):
        registry, _ = tools()

        async def pays(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            return {"paid": await ctx.call("pay", amount=1)}

        flow = (
            Flow("late", state=Ledger)
            .node("start", lambda s: None)
            .node("a", lambda s: bad)
            .node("b", pays)
            .edge("start", ["a", "b"])
            .end("a", "b")
        )
        engine = make(Executor(registry, approval=DeferredApproval(MemoryApprovalStore())))
        paused = await engine.run(flow, {})
        assert paused.checkpoint is not None
        assert paused.state == Ledger()
        with pytest.raises(FlowError) as caught:
            await engine.resume(flow, paused.checkpoint, YES)
        errors.append((caught.value.message, caught.value.node, caught.value.field))

    assert errors[0] == errors[1]
    assert errors[1][1] == "a"


async def test_a_conflict_over_two_legs_names_the_last_writer_as_native() -> None:
    errors = []
    for make in (FlowRunner, LangGraphEngine):
        registry, _ = tools()

        async def pays(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            return {"sums": [await ctx.call("pay", amount=1)]}

        flow = (
            Flow("legs", state=Ledger)
            .node("start", lambda s: None)
            .node("a", pays)
            .node("b", lambda s: {"sums": [2]})
            .edge("start", ["a", "b"])
            .end("a", "b")
        )
        engine = make(Executor(registry, approval=DeferredApproval(MemoryApprovalStore())))
        paused = await engine.run(flow, {})
        assert paused.checkpoint is not None
        with pytest.raises(FlowError) as caught:
            await engine.resume(flow, paused.checkpoint, YES)
        errors.append((caught.value.message, caught.value.node, caught.value.field))

    assert errors[0] == errors[1] == ("conflicting writes to sums", "b", "sums")
