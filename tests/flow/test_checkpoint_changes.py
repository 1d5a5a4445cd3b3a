"""A checkpoint is what the pause was: nothing reaches it later, and every change is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    DeferredApproval,
    Executor,
    Flow,
    FlowCheckpoint,
    FlowError,
    FlowRunner,
    MemoryApprovalStore,
    ToolContext,
    ToolRegistry,
)

YES = ApprovalDecision(approved=True)


class Odd:
    """A value that no checkpoint holds; its name is the same in every process."""

    def __repr__(self) -> str:
        return "ODD"


ODD = Odd()


class Deal(BaseModel):
    terms: dict[str, Any] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


def signing() -> Flow[Deal]:
    return (
        Flow("signing", state=Deal)
        .node("sign", lambda s: None, pause=lambda s: {"terms": s.terms})
        .end("sign")
    )


def runner() -> FlowRunner:
    return FlowRunner(Executor(ToolRegistry()), approval=DeferredApproval(MemoryApprovalStore()))


async def test_what_callers_hold_may_change_while_the_run_waits() -> None:
    engine, terms = runner(), {"price": [5]}
    paused = await engine.run(signing(), {"terms": terms})
    assert paused.pending
    assert paused.checkpoint
    terms["price"].append(500)
    paused.state.notes.append("by hand")
    paused.pending.arguments["terms"] = None

    done = await engine.resume(signing(), paused.checkpoint, YES)

    assert done.state == Deal(terms={"price": [5]})


async def test_what_a_tool_holds_may_change_while_the_run_waits() -> None:
    registry, row = ToolRegistry(), {"price": 5}

    @registry.tool
    async def read() -> dict[str, int]:
        return row

    @registry.tool(confirm=True)
    async def pay() -> None:
        return None

    async def node(state: Deal, ctx: ToolContext) -> dict[str, Any]:
        terms = await ctx.call("read")
        await ctx.call("pay")
        return {"terms": terms}

    engine = FlowRunner(Executor(registry, approval=DeferredApproval(MemoryApprovalStore())))
    flow = Flow("rows", state=Deal).node("n", node).end("n")
    paused = await engine.run(flow, {})
    assert paused.checkpoint
    row["price"] = 6

    done = await engine.resume(flow, paused.checkpoint, YES)

    assert done.state.terms == {"price": 5}


@pytest.mark.parametrize(
    "change",
    [
        {"flow": "other"},
        {"flow": ODD},
        {"version": "2"},
        {"version": 1},
        {"digest": "0"},
        {"run_id": "other"},
        {"engine": {"thread": "t"}},
        {"engine": None},
        {"position": None},
        {"mac": "00"},
        {"mac": b"00"},
        {"mac": None},
    ],
    ids=repr,
)
async def test_a_changed_field_is_refused(change: dict[str, Any]) -> None:
    engine = runner()
    paused = await engine.run(signing(), {})
    assert paused.checkpoint
    changed = dataclasses.replace(paused.checkpoint, **change)

    await _is_refused_and_nothing_is_spent(engine, changed, paused.checkpoint)


@pytest.mark.parametrize(
    "change",
    [
        {"state": Deal(notes=["changed"])},
        {"state": ODD},
        pytest.param({"frontier": frozenset({"sign", "other"})}, id="frontier-grown"),
        # No order is defined among these; a set shows its items in an order of its own.
        pytest.param({"frontier": {1, "sign"}}, id="frontier-unsortable"),
        {"frontier": None},
        {"visits": {"sign": 1}},
        {"loops": {"sign": 1}},
        {"steps": 1},
        {"steps": False},
        {"status": "running"},
        {"denied_at": "sign"},
        {"pending": ()},
        {"pending": (1,)},
        {"opened": None},
        {"opened": ODD},
    ],
    ids=repr,
)
async def test_a_changed_position_is_refused(change: dict[str, Any]) -> None:
    engine = runner()
    paused = await engine.run(signing(), {})
    assert paused.checkpoint
    position = dataclasses.replace(paused.checkpoint.position, **change)
    changed = dataclasses.replace(paused.checkpoint, position=position)

    await _is_refused_and_nothing_is_spent(engine, changed, paused.checkpoint)


@pytest.mark.parametrize(
    "change",
    [
        {"entered": True},
        {"gates": {"sign": YES}},
        {"gates": ODD},
        {"updates": {"sign": ({"notes": ["changed"]},)}},
        {"updates": {"sign": 1}},
        {"journals": {"sign": ODD}},
        {"answers": {"sign": 1}},
    ],
    ids=repr,
)
async def test_a_changed_open_superstep_is_refused(change: dict[str, Any]) -> None:
    engine = runner()
    paused = await engine.run(signing(), {})
    assert paused.checkpoint
    assert paused.checkpoint.position.opened
    opened = dataclasses.replace(paused.checkpoint.position.opened, **change)
    position = dataclasses.replace(paused.checkpoint.position, opened=opened)
    changed = dataclasses.replace(paused.checkpoint, position=position)

    await _is_refused_and_nothing_is_spent(engine, changed, paused.checkpoint)


@pytest.mark.parametrize("value", [None, "{}", 5], ids=repr)
async def test_what_is_no_checkpoint_is_refused_with_what_to_pass(value: Any) -> None:
    engine = runner()

    with pytest.raises(FlowError, match=r"is no FlowCheckpoint; nothing ran\. Pass"):
        await engine.resume(signing(), value, YES)
    with pytest.raises(FlowError, match="is no FlowCheckpoint"):
        engine.dump_checkpoint(value)


async def _is_refused_and_nothing_is_spent(
    engine: FlowRunner, changed: FlowCheckpoint, kept: FlowCheckpoint
) -> None:
    with pytest.raises(FlowError) as resumed:
        await engine.resume(signing(), changed, YES)
    with pytest.raises(FlowError) as dumped:
        engine.dump_checkpoint(changed)
    assert (resumed.value.code, dumped.value.code) == ("checkpoint-tampered",) * 2
    assert (await engine.resume(signing(), kept, YES)).status == "done"
