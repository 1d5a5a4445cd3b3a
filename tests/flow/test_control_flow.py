"""What is no ordinary failure: stray cancellations, and what leaves a run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    DeferredApproval,
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


class State(BaseModel):
    items: list[int] = Field(default_factory=list)
    log: Annotated[list[Any], Merge.append] = Field(default_factory=list)


class Stop(BaseException):
    """Neither a failure nor a cancellation."""


async def fine(state: State) -> dict[str, Any]:
    return {"log": "fine"}


async def awaits_what_is_cancelled(state: State) -> None:
    cancelled = asyncio.get_running_loop().create_future()
    cancelled.cancel()
    await cancelled


def alone(fn: Callable[..., Awaitable[Any]]) -> Flow[State]:
    return Flow("alone", state=State).node("a", fn).end("a")


def beside(fn: Callable[..., Awaitable[Any]]) -> Flow[State]:
    return (
        Flow("beside", state=State)
        .node("start", lambda s: None)
        .node("a", fn)
        .node("b", fine)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )


@pytest.mark.parametrize("shape", [alone, beside])
async def test_a_cancellation_that_nobody_asked_of_the_run_is_a_failure_of_its_node(
    shape: Callable[[Any], Flow[State]],
) -> None:
    sink = MemorySink()

    with pytest.raises(FlowError, match="node 'a' failed: CancelledError") as caught:
        await FlowRunner(Executor(ToolRegistry()), sink=sink).run(
            shape(awaits_what_is_cancelled), {}
        )

    assert caught.value.node == "a"
    assert sink.events[-1].data["status"] == "failed"


async def test_a_stray_cancellation_of_a_map_item_is_a_failure_of_that_item() -> None:
    async def item(n: int) -> int:
        if n == 1:
            await awaits_what_is_cancelled(State())
        return n

    flow = Flow("map", state=State).node("m", Map("items", fn=item, into="log", on_error="skip"))

    done = await FlowRunner(Executor(ToolRegistry())).run(flow.end("m"), {"items": [0, 1, 2]})

    assert done.state.log == [0, 2]


async def test_a_stray_cancellation_of_a_tool_is_an_error_of_the_tool() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def broken() -> None:
        await awaits_what_is_cancelled(State())

    async def call(state: State, ctx: ToolContext) -> None:
        await ctx.call("broken")

    with pytest.raises(FlowError, match="tool 'broken' failed: CancelledError"):
        await FlowRunner(Executor(registry)).run(alone(call), {})


@pytest.mark.parametrize("shape", [alone, beside])
async def test_what_is_no_exception_leaves_the_run_as_it_is_and_the_run_ends(
    shape: Callable[[Any], Flow[State]],
) -> None:
    stop, cause, sink = Stop("now"), ValueError("why"), MemorySink()

    async def stops(state: State) -> None:
        raise stop from cause

    with pytest.raises(Stop) as caught:
        await FlowRunner(Executor(ToolRegistry()), sink=sink).run(shape(stops), {})

    assert caught.value is stop
    assert stop.__cause__ is cause
    ends = [(event.name, event.data["status"]) for event in sink.events[-2:]]
    assert ends == [("flow.finished", "cancelled"), ("run.finished", "cancelled")]


async def test_what_leaves_a_run_at_once_closes_what_a_sibling_had_asked() -> None:
    registry, store, asked = ToolRegistry(), MemoryApprovalStore(), asyncio.Event()

    @registry.tool(confirm=True)
    def pay() -> int:
        return 1

    async def asks(state: State, ctx: ToolContext) -> None:
        try:
            await ctx.call("pay")
        finally:
            asked.set()

    async def stops(state: State) -> None:
        await asked.wait()
        raise Stop

    flow = (
        Flow("stops", state=State)
        .node("start", lambda s: None)
        .node("asks", asks)
        .node("stops", stops)
        .edge("start", ["asks", "stops"])
        .end("asks", "stops")
    )

    with pytest.raises(Stop):
        await FlowRunner(Executor(registry, approval=DeferredApproval(store))).run(flow, {})

    assert [record.status for record in await store.list()] == ["consumed"]


async def test_a_key_of_an_update_that_is_no_text_is_an_error_of_the_node() -> None:
    async def mixed(state: State) -> dict[Any, Any]:
        return {1: 2, "log": "x"}

    with pytest.raises(FlowError, match="'a' returned the key 1, which is no text") as caught:
        await FlowRunner(Executor(ToolRegistry()), sink=MemorySink()).run(alone(mixed), {})

    assert (caught.value.flow, caught.value.node) == ("alone", "a")
