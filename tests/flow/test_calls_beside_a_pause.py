"""What else a visit does around a pause: calls side by side, late tasks, changed values."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    ApprovalDenied,
    ApprovalPending,
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

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)


class State(BaseModel):
    items: list[Any] = Field(default_factory=list)
    log: Annotated[list[Any], Merge.append] = Field(default_factory=list)


def desk() -> tuple[FlowRunner, ToolRegistry, MemoryApprovalStore, list[str]]:
    registry, store, calls = ToolRegistry(), MemoryApprovalStore(), []

    @registry.tool(confirm=True)
    async def pay(n: Any) -> str:
        calls.append(f"pay {n}")
        if n == "broken":
            raise ValueError("no such account")
        return f"paid {n}"

    @registry.tool
    async def look(n: Any) -> dict[str, Any]:
        calls.append(f"look {n}")
        return {"seen": [n]}

    return FlowRunner(Executor(registry, approval=DeferredApproval(store))), registry, store, calls


async def test_a_call_beside_the_one_that_waits_finishes_and_runs_once() -> None:
    runner, registry, _, calls = desk()
    asked = asyncio.Event()

    @registry.tool
    async def slow() -> str:
        await asked.wait()
        for _ in range(20):  # long after the node has ended
            await asyncio.sleep(0)
        calls.append("slow")
        return "slow"

    async def pay_and_tell(ctx: ToolContext) -> str:
        try:
            return str(await ctx.call("pay", n=1))
        finally:
            asked.set()

    async def both(state: State, ctx: ToolContext) -> dict[str, Any]:
        return {"log": list(await asyncio.gather(ctx.call("slow"), pay_and_tell(ctx)))}

    flow = Flow("both", state=State).node("n", both).end("n")

    paused = await runner.run(flow, {})
    assert paused.checkpoint
    assert calls == ["slow"]
    done = await runner.resume(flow, paused.checkpoint, YES)

    assert done.state.log == ["slow", "paid 1"]
    assert calls == ["slow", "pay 1"]


async def test_a_task_that_outlives_its_node_gets_no_answer() -> None:
    runner, _, store, calls = desk()
    late: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    async def pays_late(ctx: ToolContext) -> None:
        await over.wait()
        await ctx.call("pay", n=1)

    async def leaves_it_to_a_task(state: State, ctx: ToolContext) -> dict[str, Any]:
        if not await store.list():
            await ctx.call("pay", n=1)
        late.append(asyncio.create_task(pays_late(ctx)))
        return {"log": "done"}

    flow = Flow("late", state=State).node("n", leaves_it_to_a_task).end("n")
    paused = await runner.run(flow, {})
    assert paused.checkpoint
    await runner.resume(flow, paused.checkpoint, YES)
    over.set()

    outcomes = await asyncio.gather(*late, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ApprovalPending]
    assert calls == []


async def test_a_replay_returns_what_the_call_returned_and_not_what_the_node_made_of_it() -> None:
    runner, _, _, _ = desk()

    async def changes(state: State, ctx: ToolContext) -> dict[str, Any]:
        found = await ctx.call("look", n=1)
        found["seen"].append("changed")
        await ctx.call("pay", n=1)
        await ctx.call("pay", n=2)
        return {"log": found}

    flow = Flow("changes", state=State).node("n", changes).end("n")

    result = await runner.run(flow, {})
    while result.checkpoint:
        result = await runner.resume(flow, result.checkpoint, YES)

    assert result.state.log == [{"seen": [1, "changed"]}]


async def test_a_resumed_leg_that_pauses_no_more_may_pass_anything() -> None:
    runner, _, _, calls = desk()

    async def passes_a_set(state: State, ctx: ToolContext) -> dict[str, Any]:
        await ctx.call("look", n=1)
        await ctx.call("pay", n=1)
        await ctx.call("look", n={2})
        return {"log": "done"}

    flow = Flow("set", state=State).node("n", passes_a_set).end("n")
    paused = await runner.run(flow, {})
    assert paused.checkpoint

    done = await runner.resume(flow, paused.checkpoint, YES)

    assert done.state.log == ["done"]
    assert calls == ["look 1", "pay 1", "look {2}"]


async def test_of_two_items_that_ask_the_same_each_gets_its_own_answer() -> None:
    runner, _, _, _ = desk()

    async def slower_first(item: int, state: State, ctx: ToolContext) -> str:
        for _ in range(5 - item):
            await asyncio.sleep(0)
        try:
            return f"{item}: {await ctx.call('pay', n=7)}"
        except ApprovalDenied:
            return f"{item}: denied"

    flow = Flow("same", state=State).node("m", Map("items", fn=slower_first, into="log")).end("m")
    first = await runner.run(flow, {"items": [0, 1]})
    assert first.pending
    assert first.checkpoint
    assert first.pending.call_id == "same:m:1:0:0"
    second = await runner.resume(flow, first.checkpoint, NO)
    assert second.checkpoint

    done = await runner.resume(flow, second.checkpoint, YES)

    assert done.state.log == ["0: denied", "1: paid 7"]


async def test_a_failure_after_a_resume_closes_the_questions_that_had_waited_before() -> None:
    runner, _, store, _ = desk()
    flow = Flow("fails", state=State).node("m", Map("items", tool="pay", into="log"), concurrency=1)
    paused = await runner.run(flow.end("m"), {"items": ["broken", 2]})
    assert paused.checkpoint
    assert len(paused.checkpoint.pending) == 2

    with pytest.raises(FlowError, match="no such account"):
        await runner.resume(flow, paused.checkpoint, YES)

    assert [record.status for record in await store.list()] == ["consumed", "consumed"]


async def test_a_question_that_an_item_asks_no_more_is_closed() -> None:
    runner, _, store, _ = desk()
    prices = iter([1, 2, 1, 3])
    flow = (
        Flow("moves", state=State)
        .node("m", Map("items", tool="pay", args_fn=lambda i: {"n": next(prices)}, into="log"))
        .end("m")
    )
    paused = await runner.run(flow, {"items": ["a", "b"]})
    assert paused.checkpoint

    paused = await runner.resume(flow, paused.checkpoint, YES)

    assert paused.pending
    assert paused.pending.arguments == {"n": 3}
    asked = [(record.request.arguments["n"], record.status) for record in await store.list()]
    assert asked == [(1, "consumed"), (2, "consumed"), (3, "pending")]
