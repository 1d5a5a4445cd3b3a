"""Pause and resume through the compiled flow: gates, tool approvals, once only, tampering."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

import pytest
from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from pydantic import BaseModel, Field

from accord import (
    AllowApproval,
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalPending,
    ApprovalRequest,
    DeferredApproval,
    Engine,
    Executor,
    Flow,
    FlowError,
    FlowRunner,
    MemoryApprovalStore,
    Merge,
    SqliteApprovalStore,
    ToolContext,
    ToolRegistry,
)
from accord.kernel import RunOptions, SealKeys, dump_checkpoint, seal_checkpoint
from accord_adk import AdkEngine, CompiledFlow, compile_flow

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False, reason="too much")
KEY = b"k" * 32


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0
    note: str = ""
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)


def gated() -> Flow[Ledger]:
    return (
        Flow("gated", state=Ledger)
        .node("start", lambda s: {"log": "start"})
        .node(
            "pay",
            lambda s, ctx: {"log": f"pay {ctx.approval.approved}"},
            pause=lambda s: {"note": s.note},
        )
        .node("side", lambda s: {"log": f"side sees {s.paid}"})
        .edge("start", ["pay", "side"])
        .end("pay", "side")
    )


def two_confirms(calls: list[str]) -> tuple[Flow[Ledger], ToolRegistry]:
    registry = ToolRegistry()

    @registry.tool
    async def look(what: str) -> str:
        calls.append(f"look {what}")
        return what

    @registry.tool(confirm=True)
    async def pay(amount: int) -> int:
        calls.append(f"pay {amount}")
        return amount

    async def node(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
        found = await ctx.call("look", what="a")
        return {
            "paid": await ctx.call("pay", amount=1) + await ctx.call("pay", amount=2),
            "note": found,
        }

    flow = (
        Flow("confirms", state=Ledger)
        .node("start", lambda s: None)
        .node("node", node)
        .node("side", lambda s: calls.append("side"))
        .edge("start", ["node", "side"])
        .end("node", "side")
    )
    return flow, registry


async def test_a_gate_pauses_before_anything_of_its_superstep_and_edits_are_applied_first() -> None:
    results: list[tuple[object, ...]] = []
    states = []
    for make in (FlowRunner, AdkEngine):
        store = MemoryApprovalStore()
        engine: Engine = make(Executor(ToolRegistry()), approval=DeferredApproval(store))

        paused = await engine.run(gated(), {"note": "hello"}, run_id="r1")
        assert paused.checkpoint is not None
        assert paused.pending is not None
        decision = ApprovalDecision(approved=True, edited_args={"paid": 7})
        done = await engine.resume(gated(), paused.checkpoint, decision)

        asked = paused.pending.model_dump(exclude={"id"})
        statuses = [record.status for record in await store.list()]
        results.append((paused.state, paused.steps, paused.visits, asked, statuses))
        results.append((done.status, done.steps, done.visits))
        states.append(done.state)

    assert results[0] == results[2]
    assert results[1] == results[3]
    assert states[0] == states[1]
    assert states[1].model_dump() == {
        "paid": 7,
        "note": "hello",
        "log": ["start", "pay True", "side sees 7"],
    }


async def test_two_confirms_run_each_call_once() -> None:
    calls: list[str] = []
    flow, registry = two_confirms(calls)
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    engine = AdkEngine(executor)

    first = await engine.run(flow, {})
    assert first.checkpoint is not None
    second = await engine.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    done = await engine.resume(flow, second.checkpoint, YES)

    assert [first.status, second.status, done.status] == ["paused", "paused", "done"]
    assert done.state.model_dump() == {"paid": 3, "note": "a", "log": []}
    assert sorted(calls) == ["look a", "pay 1", "pay 2", "side"]


async def test_a_denied_gate_ends_the_run_and_a_denied_tool_fails_its_node() -> None:
    port = DeferredApproval(MemoryApprovalStore())
    flow, registry = two_confirms([])
    engine = AdkEngine(Executor(registry, approval=port))

    gate = await engine.run(gated(), {})
    assert gate.checkpoint is not None
    denied = await engine.resume(gated(), gate.checkpoint, NO)
    tool = await engine.run(flow, {})
    assert tool.checkpoint is not None
    with pytest.raises(FlowError, match="ApprovalDenied") as caught:
        await engine.resume(flow, tool.checkpoint, NO)

    assert (denied.status, denied.denied_at, denied.steps) == ("denied", "pay", 1)
    assert (caught.value.flow, caught.value.node) == ("confirms", "node")


async def test_a_gate_without_a_port_is_denied_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="accord.approval"):
        result = await AdkEngine(Executor(ToolRegistry())).run(gated(), {})

    assert (result.status, result.denied_at) == ("denied", "pay")
    assert "has no port; denied" in caplog.text


async def test_a_gate_whose_port_answers_at_once_does_not_pause() -> None:
    engine = AdkEngine(Executor(ToolRegistry()), approval=AllowApproval())

    assert (await engine.run(gated(), {})).status == "done"


async def test_a_second_resume_is_refused_and_runs_nothing() -> None:
    calls: list[str] = []
    flow, registry = two_confirms(calls)
    service = InMemorySessionService()
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    compiled = compile_flow(flow, executor, session_service=service)
    first = await compiled.run({})
    assert first.checkpoint is not None
    second = await compiled.resume(first.checkpoint, YES)
    assert second.checkpoint is not None
    await compiled.resume(second.checkpoint, YES)
    ran = list(calls)

    for spent in (first.checkpoint, second.checkpoint):
        with pytest.raises(ApprovalAlreadyDecided) as caught:
            await compiled.resume(spent, YES)
        assert caught.value.approval_id == spent.pending[0].id

    assert calls == ran


async def test_of_two_resumes_at_once_one_goes_on() -> None:
    calls: list[str] = []
    flow, registry = two_confirms(calls)
    executor = Executor(registry, approval=DeferredApproval(MemoryApprovalStore()))
    engine = AdkEngine(executor)
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None

    results = await asyncio.gather(
        engine.resume(flow, paused.checkpoint, YES),
        engine.resume(flow, paused.checkpoint, YES),
        return_exceptions=True,
    )

    assert sorted(type(result).__name__ for result in results) == [
        "ApprovalAlreadyDecided",
        "FlowResult",
    ]
    assert calls.count("pay 1") == 1


async def test_an_edit_that_does_not_fit_is_refused_as_natively_and_spends_nothing() -> None:
    errors = []
    for make in (FlowRunner, AdkEngine):
        engine: Engine = make(
            Executor(ToolRegistry()), approval=DeferredApproval(MemoryApprovalStore())
        )
        paused = await engine.run(gated(), {})
        assert paused.checkpoint is not None

        for edit in ({"nowhere": 1}, {"paid": "many"}):
            decision = ApprovalDecision(approved=True, edited_args=edit)
            with pytest.raises(FlowError) as caught:
                await engine.resume(gated(), paused.checkpoint, decision)
            errors.append((str(caught.value), caught.value.node, caught.value.field))
        assert (await engine.resume(gated(), paused.checkpoint, YES)).status == "done"

    assert errors[:2] == errors[2:]


async def test_a_checkpoint_of_another_key_or_graph_is_refused_and_not_spent() -> None:
    approval = DeferredApproval(MemoryApprovalStore())
    service = InMemorySessionService()

    def compiled(flow: Flow[Ledger], key: bytes) -> CompiledFlow[Ledger]:
        executor = Executor(ToolRegistry(), approval=approval)
        return compile_flow(flow, executor, checkpoint_key=key, session_service=service)

    changed = gated().node("more", lambda s: None).edge("start", "more").end("more")
    paused = await compiled(gated(), KEY).run({})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError) as foreign:
        await compiled(gated(), b"x" * 32).resume(paused.checkpoint, YES)
    with pytest.raises(FlowError) as other:
        await compiled(changed, KEY).resume(paused.checkpoint, YES)

    assert (foreign.value.code, other.value.code) == ("checkpoint-tampered", "graph-changed")
    assert (await compiled(gated(), KEY).resume(paused.checkpoint, YES)).status == "done"


async def test_the_results_checkpoint_is_what_the_session_holds() -> None:
    service = InMemorySessionService()
    executor = Executor(ToolRegistry(), approval=DeferredApproval(MemoryApprovalStore()))
    compiled = compile_flow(gated(), executor, session_service=service)

    paused = await compiled.run({}, run_id="r1")

    assert paused.checkpoint is not None
    hint = paused.checkpoint.engine
    assert (hint["name"], hint["app_name"], hint["session_id"]) == ("adk", "gated", "r1")
    assert paused.checkpoint.pending[0].id in hint["interrupt_id"]
    session = await service.get_session(app_name="gated", user_id="accord", session_id="r1")
    assert session is not None
    kept = session.state[f"aa_flow:gated:{hint['invocation_id']}"]
    assert kept == compiled.dump_checkpoint(paused.checkpoint)
    assert compiled.load_checkpoint(kept) == paused.checkpoint


async def test_an_ended_run_leaves_a_small_tombstone_in_its_session() -> None:
    service = InMemorySessionService()
    executor = Executor(ToolRegistry(), approval=AllowApproval())
    compiled = compile_flow(gated(), executor, session_service=service)

    await compiled.run({"note": "x" * 10_000}, run_id="r1")

    session = await service.get_session(app_name="gated", user_id="accord", session_id="r1")
    assert session is not None
    assert list(session.state.values()) == [{"ended": "done", "run_id": "r1"}]


async def test_a_session_that_is_not_here_is_refused_and_nothing_is_spent() -> None:
    executor = Executor(ToolRegistry(), approval=DeferredApproval(MemoryApprovalStore()))
    here, elsewhere = AdkEngine(executor), AdkEngine(executor)
    paused = await here.run(gated(), {})
    assert paused.checkpoint is not None

    with pytest.raises(FlowError, match="approval is not spent") as caught:
        await elsewhere.resume(gated(), paused.checkpoint, YES)

    assert caught.value.code == "session-unknown"
    assert (await here.resume(gated(), paused.checkpoint, YES)).status == "done"


@pytest.mark.parametrize("fault", ["changed", "other session", "no text"])
async def test_a_tampered_session_state_is_refused_and_nothing_is_spent(fault: str) -> None:
    service = InMemorySessionService()
    store = MemoryApprovalStore()
    executor = Executor(ToolRegistry(), approval=DeferredApproval(store))
    compiled = compile_flow(gated(), executor, session_service=service)
    paused = await compiled.run({}, run_id="r1")
    other = await compiled.run({}, run_id="r2")
    assert paused.checkpoint is not None
    assert other.checkpoint is not None
    text = compiled.dump_checkpoint(paused.checkpoint)
    forged: dict[str, object] = {
        "changed": text.replace('"steps":1', '"steps":0'),
        "other session": compiled.dump_checkpoint(other.checkpoint),
        "no text": {"ended": "done"},
    }
    session = await service.get_session(app_name="gated", user_id="accord", session_id="r1")
    assert session is not None
    (key,) = session.state
    delta = EventActions(state_delta={key: forged[fault]})
    await service.append_event(session, Event(author="intruder", actions=delta))

    with pytest.raises(FlowError) as caught:
        await compiled.resume(paused.checkpoint, YES)

    assert caught.value.code == "checkpoint-tampered"
    assert [record.status for record in await store.list()] == ["pending", "pending"]


async def test_a_session_that_moved_on_is_refused_and_nothing_is_spent() -> None:
    service = InMemorySessionService()
    store = MemoryApprovalStore()
    executor = Executor(ToolRegistry(), approval=DeferredApproval(store))
    compiled = compile_flow(gated(), executor, session_service=service, checkpoint_key=KEY)
    paused = await compiled.run({"note": "old"}, run_id="r1")
    assert paused.checkpoint is not None
    session = await service.get_session(app_name="gated", user_id="accord", session_id="r1")
    assert session is not None
    # Someone with the key wrote another state for the same pause.
    options = RunOptions.of(executor, checkpoint_key=KEY)
    moved = paused.checkpoint.position.copy()
    moved.state = Ledger(note="new")
    keys = SealKeys.resolve(KEY)
    sealed = seal_checkpoint(
        options.new_run(compiled.flow, "r1"), moved, keys, paused.checkpoint.engine
    )
    (key,) = session.state
    delta = EventActions(state_delta={key: dump_checkpoint(sealed, keys)})
    await service.append_event(session, Event(author="editor", actions=delta))

    with pytest.raises(FlowError, match="has moved on since") as caught:
        await compiled.resume(paused.checkpoint, YES)

    assert caught.value.code == "session-moved"
    assert [record.status for record in await store.list()] == ["pending"]
    current = compiled.load_checkpoint(dump_checkpoint(sealed, keys))
    assert (await compiled.resume(current, YES)).state.model_dump()["note"] == "new"


async def test_a_pause_of_the_native_runner_is_resumed_here_and_ours_there() -> None:
    approval = DeferredApproval(MemoryApprovalStore())
    native = FlowRunner(Executor(ToolRegistry()), approval=approval)
    adk = AdkEngine(Executor(ToolRegistry()), approval=approval)

    from_native = await native.run(gated(), {"note": "n"})
    from_adk = await adk.run(gated(), {"note": "n"})
    assert from_native.checkpoint is not None
    assert from_adk.checkpoint is not None
    here = await adk.resume(gated(), from_native.checkpoint, YES)
    there = await native.resume(gated(), from_adk.checkpoint, YES)

    assert here.state == there.state
    assert here.visits == there.visits == {"start": 1, "pay": 1, "side": 1}
    with pytest.raises(ApprovalAlreadyDecided):
        await adk.resume(gated(), from_adk.checkpoint, YES)


async def test_an_edit_that_json_does_not_know_reaches_the_node_as_it_is() -> None:
    class Holder(BaseModel):
        value: Any = None
        seen: str = ""

    class HoldsPort:
        async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
            raise ApprovalPending(request)

    flow = (
        Flow("edits", state=Holder)
        .node("only", lambda s: {"seen": type(s.value).__name__}, pause=lambda s: {})
        .end("only")
    )
    engine = AdkEngine(Executor(ToolRegistry()), approval=HoldsPort())
    paused = await engine.run(flow, {})
    assert paused.checkpoint is not None

    done = await engine.resume(
        flow, paused.checkpoint, ApprovalDecision(approved=True, edited_args={"value": object()})
    )

    assert done.state.model_dump()["seen"] == "object"


async def test_a_pause_that_cannot_be_sealed_fails_and_closes_its_question() -> None:
    class Holder(BaseModel):
        value: Any = None

    registry = ToolRegistry()

    @registry.tool(confirm=True)
    async def pay() -> int:
        return 1

    async def node(state: Holder, ctx: ToolContext) -> None:
        await ctx.call("pay")

    flow = (
        Flow("unsealable", state=Holder)
        .node("start", lambda s: {"value": object()})
        .node("node", node)
        .edge("start", "node")
        .end("node")
    )
    store = MemoryApprovalStore()

    with pytest.raises(FlowError) as caught:
        await AdkEngine(Executor(registry, approval=DeferredApproval(store))).run(flow, {})

    assert caught.value.code == "state-not-sealable"
    assert [record.status for record in await store.list()] == ["consumed"]


@pytest.mark.parametrize("durability", ["superstep", "pause"])
async def test_sqlite_sessions_give_the_same_as_sessions_in_memory(
    tmp_path: Any, durability: Any
) -> None:
    calls: list[str] = []
    flow, registry = two_confirms(calls)
    store = SqliteApprovalStore(tmp_path / "approvals.db")
    sessions = str(tmp_path / "sessions.db")

    def fresh() -> CompiledFlow[Ledger]:
        return compile_flow(
            flow,
            Executor(registry, approval=DeferredApproval(store)),
            checkpoint_key=KEY,
            session_service=SqliteSessionService(sessions),
            durability=durability,
        )

    first = await fresh().run({})
    assert first.checkpoint is not None
    second = await fresh().resume(first.checkpoint, YES)
    assert second.checkpoint is not None
    done = await fresh().resume(second.checkpoint, YES)

    assert done.state.model_dump() == {"paid": 3, "note": "a", "log": []}
    assert done.visits == {"start": 1, "node": 1, "side": 1}
    assert sorted(calls) == ["look a", "pay 1", "pay 2", "side"]


async def test_an_error_of_the_session_service_is_a_flow_error_that_names_it(
    tmp_path: Any,
) -> None:
    service = SqliteSessionService(str(tmp_path / "sessions.db"))

    async def interferes(state: Ledger) -> None:
        session = await service.get_session(app_name="stale", user_id="accord", session_id="r1")
        assert session is not None
        await service.append_event(session, Event(author="somebody"))

    flow = Flow("stale", state=Ledger).node("only", interferes).end("only")
    engine = AdkEngine(Executor(ToolRegistry()), session_service=service, checkpoint_key=KEY)

    with pytest.raises(FlowError, match="ADK ended the run: StaleSessionError") as caught:
        await engine.run(flow, {}, run_id="r1")

    assert isinstance(caught.value.__cause__, StaleSessionError)
    assert caught.value.flow == "stale"


class Crash:
    """A flow whose node hangs after its approved call, as if its process had died there."""

    def __init__(self, durability: Any, *, gate: bool) -> None:
        self.service = InMemorySessionService()
        self.store = MemoryApprovalStore()
        self.hangs: asyncio.Event | None = asyncio.Event()
        self.calls: list[str] = []
        registry = ToolRegistry()

        @registry.tool(confirm=not gate)
        async def pay() -> int:
            self.calls.append("pay")
            return 1

        async def node(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
            value = await ctx.call("pay")
            if self.hangs is not None:
                self.hangs.set()
                await asyncio.Event().wait()
            return {"paid": value}

        flow = Flow("crash", state=Ledger)
        flow.node("node", node, pause=(lambda s: {}) if gate else None).end("node")
        port = DeferredApproval(self.store)
        self.compiled = compile_flow(
            flow,
            Executor(registry, approval=port),
            session_service=self.service,
            durability=durability,
        )

    async def kept(self) -> Any:
        session = await self.service.get_session(
            app_name="crash", user_id="accord", session_id="r1"
        )
        assert session is not None
        (kept,) = session.state.values()
        return kept

    async def recover(self, invocation_id: str) -> None:
        runner = Runner(app=self.compiled.app, session_service=self.service)
        async for _ in runner.run_async(
            user_id="accord", session_id="r1", invocation_id=invocation_id
        ):
            pass


@pytest.mark.parametrize("durability", ["superstep", "pause"])
@pytest.mark.parametrize("gate", [True, False])
async def test_a_crash_after_an_answer_asks_anew_and_never_uses_the_answer_again(
    durability: Any, gate: bool
) -> None:
    crash = Crash(durability, gate=gate)
    paused = await crash.compiled.run({}, run_id="r1")
    assert paused.checkpoint is not None
    assert crash.hangs is not None
    leg = asyncio.create_task(crash.compiled.resume(paused.checkpoint, YES))
    await crash.hangs.wait()
    leg.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leg
    crash.hangs = None
    claimed = crash.compiled.load_checkpoint(await crash.kept())
    assert claimed.position.status == "running"

    await crash.recover(paused.checkpoint.engine["invocation_id"])

    assert crash.calls == ["pay"]
    anew = crash.compiled.load_checkpoint(await crash.kept())
    assert anew.pending[0].id != paused.checkpoint.pending[0].id
    done = await crash.compiled.resume(anew, YES)
    assert done.state.paid == 1
    assert [record.status for record in await crash.store.list()] == ["consumed", "consumed"]


async def test_a_crash_between_the_answer_and_its_claim_asks_anew() -> None:
    class Dying(InMemorySessionService):
        dies = False

        async def append_event(self, session: Session, event: Event) -> Event:
            if self.dies and event.actions.state_delta:
                raise OSError("gone")
            return await super().append_event(session, event)

    crash = Crash("superstep", gate=True)
    service = crash.service = Dying()
    crash.hangs = None
    crash.compiled._sessions = service
    paused = await crash.compiled.run({}, run_id="r1")
    assert paused.checkpoint is not None
    service.dies = True
    with pytest.raises(FlowError, match="ADK ended the run: OSError: gone"):
        await crash.compiled.resume(paused.checkpoint, YES)
    service.dies = False

    await crash.recover(paused.checkpoint.engine["invocation_id"])

    assert crash.calls == []
    anew = crash.compiled.load_checkpoint(await crash.kept())
    assert (await crash.compiled.resume(anew, YES)).status == "done"
    assert crash.calls == ["pay"]
