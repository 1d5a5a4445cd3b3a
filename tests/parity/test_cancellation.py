"""Cancelling the caller, on every engine."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

import accord
from accord import (
    DeferredApproval,
    Executor,
    Flow,
    MemoryApprovalStore,
    MemorySink,
    ToolContext,
    ToolRegistry,
)


class Empty(BaseModel):
    pass


@pytest.mark.parametrize("engine_name", ["native", "langgraph", "adk"])
async def test_a_cancelled_run_ends_its_visits_and_closes_what_they_asked(
    engine_name: str,
) -> None:
    registry, store, sink = ToolRegistry(), MemoryApprovalStore(), MemorySink()
    asked, cancelled = asyncio.Event(), asyncio.Event()

    @registry.tool(confirm=True)
    async def pay() -> None:
        """Never runs here."""

    async def pays(state: Empty, ctx: ToolContext) -> None:
        try:
            await ctx.call("pay")
        finally:
            asked.set()

    async def waits(state: Empty) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    flow = (
        Flow("cancelling", state=Empty)
        .node("start", lambda s: None)
        .node("pays", pays)
        .node("waits", waits)
        .edge("start", ["pays", "waits"])
        .end("pays", "waits")
    )
    executor = Executor(registry, approval=DeferredApproval(store), sink=sink)
    run = asyncio.create_task(accord.engine(engine_name, executor).run(flow, {}))
    await asked.wait()
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await run

    assert cancelled.is_set()
    records = await store.list()
    assert [record.status for record in records] == ["consumed"]
    assert [record.decision.approved for record in records if record.decision] == [False]
    assert sink.events[-1].name == "run.finished"
    assert sink.events[-1].data["status"] == "cancelled"
