"""Tools that call other tools: each call asks and is answered as itself."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    ApprovalPending,
    Call,
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
    current_context,
)

YES = ApprovalDecision(approved=True)


class State(BaseModel):
    orders: list[dict[str, Any]] = Field(default_factory=lambda: [{"n": 1}, {"n": 2}])
    done: Annotated[list[str], Merge.append] = Field(default_factory=list)


def ordering() -> tuple[FlowRunner, list[str], MemoryApprovalStore]:
    registry, calls, store = ToolRegistry(), [], MemoryApprovalStore()

    @registry.tool(confirm=True)
    async def pay(n: int) -> str:
        calls.append(f"pay {n}")
        return f"paid {n}"

    @registry.tool
    async def order(n: int) -> str:
        return f"ordered, {await current_context().call('pay', n=n)}"

    @registry.tool(confirm=True)
    async def sign(n: int) -> str:
        return f"signed, {await current_context().call('pay', n=n)}"

    @registry.tool
    async def careless(n: int) -> str:
        try:
            await current_context().call("pay", n=n)
        except ApprovalPending:
            calls.append("swallowed")
        return "as if nothing had happened"

    return FlowRunner(Executor(registry, approval=DeferredApproval(store))), calls, store


async def ordered(state: State, ctx: ToolContext) -> dict[str, Any]:
    return {"done": await ctx.call("order", n=1)}


async def test_a_tool_of_a_map_may_call_a_tool_that_waits() -> None:
    runner, calls, store = ordering()
    flow = Flow("map", state=State).node("m", Map("orders", tool="order", into="done")).end("m")

    first = await runner.run(flow, {})
    assert first.pending
    assert first.checkpoint
    assert (first.pending.tool, first.pending.call_id) == ("pay", "map:m:1:0:0")
    second = await runner.resume(flow, first.checkpoint, YES)
    assert second.pending
    assert second.checkpoint
    assert second.pending.arguments == {"n": 2}
    done = await runner.resume(flow, second.checkpoint, YES)

    assert done.state.done == ["ordered, paid 1", "ordered, paid 2"]
    assert calls == ["pay 1", "pay 2"]
    assert {record.status for record in await store.list()} == {"consumed"}


@pytest.mark.parametrize("action", [Call("order", args={"n": 1}, into="done"), ordered])
async def test_a_tool_of_a_node_may_call_a_tool_that_waits(action: Any) -> None:
    runner, calls, _ = ordering()
    flow = Flow("node", state=State).node("n", action).end("n")

    paused = await runner.run(flow, {})
    assert paused.checkpoint
    done = await runner.resume(flow, paused.checkpoint, YES)

    assert done.state.done == ["ordered, paid 1"]
    assert calls == ["pay 1"]


async def test_a_call_and_what_its_tool_calls_are_two_questions() -> None:
    runner, calls, _ = ordering()
    flow = Flow("call", state=State).node("n", Call("sign", args={"n": 1}, into="done")).end("n")
    asked: list[tuple[str, str]] = []

    result = await runner.run(flow, {})
    while result.pending and result.checkpoint and len(asked) < 5:
        asked.append((result.pending.tool, result.pending.call_id))
        result = await runner.resume(flow, result.checkpoint, YES)

    assert result.state.done == ["signed, paid 1"]
    assert calls == ["pay 1"]
    assert asked[:2] == [("sign", "call:n:1:0"), ("pay", "call:n:1:0:0")]


@pytest.mark.parametrize(
    "action",
    [
        Call("careless", args={"n": 1}, into="done"),
        Map("orders", tool="careless", into="done", on_error="skip"),
    ],
    ids=["call", "map"],
)
async def test_a_tool_that_swallows_a_pause_fails_its_node(action: Any) -> None:
    runner, _, store = ordering()
    flow = Flow("careless", state=State).node("n", action).end("n")

    with pytest.raises(FlowError) as caught:
        await runner.run(flow, {})

    assert caught.value.code == "pause-swallowed"
    assert {record.status for record in await store.list()} == {"consumed"}
