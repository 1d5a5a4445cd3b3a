"""Cancelled in the middle of an approval: nobody is left with a question without a run."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    ApprovalRequest,
    DeferredApproval,
    Executor,
    Flow,
    FlowRunner,
    Map,
    MemoryApprovalStore,
    SqliteApprovalStore,
    ToolRegistry,
)
from accord.approval.store import ApprovalRecord


class SlowStore(MemoryApprovalStore):
    """A store whose answers do not come back any more once `slow` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = False
        self.changed = asyncio.Event()

    async def create(self, request: ApprovalRequest) -> ApprovalRecord:
        return await self._late(await super().create(request))

    async def consume(self, approval_id: str, /) -> ApprovalRecord:
        return await self._late(await super().consume(approval_id))

    async def _late(self, record: ApprovalRecord) -> ApprovalRecord:
        if self.slow:
            self.slow = False
            self.changed.set()
            await asyncio.Event().wait()
        return record


class Orders(BaseModel):
    jobs: list[int] = Field(default_factory=list)
    paid: int = 0


def ordering(store: MemoryApprovalStore) -> tuple[FlowRunner, Flow[Orders]]:
    registry = ToolRegistry()

    @registry.tool(confirm=True)
    def pay(n: int) -> int:
        return 0

    flow = Flow("orders", state=Orders).node("m", Map("jobs", tool="pay", into="paid")).end("m")
    return FlowRunner(Executor(registry, approval=DeferredApproval(store))), flow


def gated() -> Flow[Orders]:
    return Flow("gated", state=Orders).node("a", lambda s: None, pause=lambda s: None).end("a")


@pytest.mark.parametrize("kind", ["gate", "tool"])
async def test_a_question_that_was_being_written_is_closed(kind: str) -> None:
    store = SlowStore()
    store.slow = True
    runner, flow = ordering(store)
    running = asyncio.create_task(runner.run(gated() if kind == "gate" else flow, {"jobs": [1]}))
    await store.changed.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert [record.status for record in await store.list()] == ["consumed"]


async def test_a_resume_that_was_using_its_answer_closes_the_other_questions() -> None:
    store = SlowStore()
    runner, flow = ordering(store)
    paused = await runner.run(flow, {"jobs": [1, 2, 3]})
    assert paused.checkpoint
    store.slow = True
    resuming = asyncio.create_task(
        runner.resume(flow, paused.checkpoint, ApprovalDecision(approved=True))
    )
    await store.changed.wait()

    resuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await resuming

    assert [record.status for record in await store.list()] == ["consumed"] * 3


async def test_a_cancelled_write_to_a_file_is_over_before_its_caller_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path)
    await store.list()
    request = ApprovalRequest(kind="tool", tool="pay", run_id="r", call_id="c")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(store.create(request))
    await asyncio.sleep(0)

    writing.cancel()
    await asyncio.sleep(0)
    assert not writing.done()
    other.execute("ROLLBACK")
    other.close()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert [record.request.id for record in await store.list()] == [request.id]
