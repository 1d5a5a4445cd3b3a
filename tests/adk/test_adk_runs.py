"""A compiled flow runs as the native runner does: state, steps, visits, calls, events, errors."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.workflow import START, Workflow
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    CallableModel,
    ConfigError,
    DeferredApproval,
    Engine,
    Executor,
    Flow,
    FlowError,
    FlowLoopExceeded,
    FlowRunner,
    Join,
    Map,
    MemoryApprovalStore,
    MemorySink,
    Merge,
    Route,
    ToolRegistry,
)
from accord_adk import AdkEngine, compile_flow
from accord_parity.flows import research

YES = ApprovalDecision(approved=True)
SUPERSTEP_AND_PAUSE = pytest.mark.parametrize("durability", ["superstep", "pause"])


class Ledger(BaseModel):
    total: Annotated[int, Merge.sum] = 10
    note: str = ""
    log: Annotated[list[str], Merge.append] = Field(default_factory=lambda: ["seed"])
    hits: Annotated[list[dict[str, Any]], Merge.keyed(by="id")] = Field(default_factory=list)


@SUPERSTEP_AND_PAUSE
async def test_the_research_flow_ends_as_on_the_native_runner(durability: Any) -> None:
    legs: list[tuple[object, ...]] = []
    events = []
    calls = []
    for adk in (False, True):
        sink = MemorySink()
        approval = DeferredApproval(MemoryApprovalStore())
        model = CallableModel(research.answer)
        executor = Executor(research.research_tools())
        runner: Engine = (
            AdkEngine(executor, approval=approval, model=model, sink=sink, durability=durability)
            if adk
            else FlowRunner(executor, approval=approval, model=model, sink=sink)
        )

        paused = await runner.run(research.flow, research.QUESTION)
        assert paused.pending is not None
        assert paused.checkpoint is not None
        done = await runner.resume(research.flow, paused.checkpoint, YES)

        question = (paused.pending.tool, paused.pending.arguments, paused.pending.call_id)
        legs.append((paused.status, paused.state, paused.steps, paused.visits, question))
        legs.append((done.status, done.state, done.steps, done.visits))
        events.append([(event.name, event.node, event.visit) for event in sink.events])
        calls.append([event.data for event in sink.events if event.name == "tool.finished"])

    assert legs[0] == legs[2]
    assert legs[1] == legs[3]
    assert legs[3][0] == "done"
    assert events[0] == events[1]
    assert len(calls[0]) == len(calls[1]) == 5
    assert type(legs[3][1]) is research.ResearchState


async def test_the_workflow_is_a_true_adk_workflow_with_the_flows_edges() -> None:
    compiled = compile_flow(research.flow, Executor(research.research_tools()))

    assert isinstance(compiled.workflow, Workflow)
    assert isinstance(compiled.app, App)
    assert compiled.app.root_agent is compiled.workflow
    assert (compiled.app.name, compiled.workflow.name) == ("research", "research")
    graph = compiled.workflow.graph
    assert graph is not None
    assert {(edge.from_node.name, edge.to_node.name, str(edge.route)) for edge in graph.edges} == {
        (START.name, "classify", "None"),
        ("classify", "retrieve", "None"),
        ("retrieve", "merge", "None"),
        ("merge", "reason", "None"),
        ("reason", "retrieve", "['retrieve']"),
        ("reason", "approve", "['approve', 'on_exhausted']"),
    }


async def test_each_visit_is_a_child_run_of_its_own_in_the_sessions_events() -> None:
    service = InMemorySessionService()
    flow = (
        Flow("loop", state=Ledger)
        .node("work", lambda s: {"total": 1})
        .node("end", lambda s: {"note": "end"})
        .route(
            "work",
            Route(lambda s: "end" if s.total == 12 else "work", targets=["work", "end"]),
            max_loops=5,
            on_exhausted="end",
        )
        .end("end")
    )
    compiled = compile_flow(flow, Executor(ToolRegistry()), session_service=service)

    await compiled.run({}, run_id="r1")

    session = await service.get_session(app_name="loop", user_id="accord", session_id="r1")
    assert session is not None
    visits = [
        (event.node_info.path.split("-")[0], event.output)
        for event in session.events
        if "/" in event.node_info.path
    ]
    assert visits == [
        ("loop@1/work@v1", {"changed": ["total"]}),
        ("loop@1/work@v2", {"changed": ["total"]}),
        ("loop@1/end@v1", {"changed": ["note"]}),
    ]
    assert session.events[-1].output == {
        "status": "done",
        "steps": 3,
        "state": {"total": 12, "note": "end", "log": ["seed"], "hits": []},
    }
    assert {event.author for event in session.events} == {"user", "loop"}


async def test_siblings_run_at_once_and_merge_in_name_order_before_a_join() -> None:
    second_ran = asyncio.Event()

    async def first(state: Ledger) -> dict[str, Any]:
        await second_ran.wait()
        return {"log": "a", "total": 1, "hits": [{"id": 1, "of": "a"}]}

    async def second(state: Ledger) -> dict[str, Any]:
        second_ran.set()
        return {"log": ["b"], "total": 5, "hits": [{"id": 1, "of": "b"}, {"id": 2}]}

    flow = (
        Flow("fanout", state=Ledger)
        .node("start", lambda s: None)
        .node("b", second)
        .node("a", first)
        .node("join", Join(["a", "b"], lambda s: {"note": f"{s.total}"}))
        .edge("start", ["a", "b"])
        .edge("a", "join")
        .edge("b", "join")
        .end("join")
    )

    result = await AdkEngine(Executor(ToolRegistry())).run(flow, {})

    assert result.state.model_dump() == {
        "total": 16,
        "note": "16",
        "log": ["seed", "a", "b"],
        "hits": [{"id": 1, "of": "b"}, {"id": 2}],
    }
    assert result.visits == {"start": 1, "a": 1, "b": 1, "join": 1}


async def test_a_map_calls_its_tools_once_an_item_and_keeps_item_order() -> None:
    registry = ToolRegistry()
    calls: list[int] = []

    @registry.tool
    async def square(number: int) -> dict[str, Any]:
        calls.append(number)
        return {"id": number, "of": number * number}

    steps = [{"tool": "square", "args": {"number": n}, "id": f"step {n}"} for n in (3, 1, 2)]
    flow = (
        Flow("squares", state=Ledger)
        .node("fill", lambda s: {"hits": steps})
        .node("each", Map("hits", tool_from="tool", into="hits"), concurrency=2)
        .edge("fill", "each")
        .end("each")
    )

    result = await AdkEngine(Executor(registry)).run(flow, {})

    assert sorted(calls) == [1, 2, 3]
    assert [hit["of"] for hit in result.state.model_dump()["hits"][3:]] == [9, 1, 4]


BAD_UPDATES = {
    "conflict": ({"note": "one"}, {"note": "two"}),
    "unknown field": ({"note": "same"}, {"nowhere": 1}),
    "wrong type": ({"note": "same"}, {"total": "many"}),
}


@pytest.mark.parametrize("case", BAD_UPDATES)
async def test_a_bad_update_is_the_same_error_as_on_the_native_runner(case: str) -> None:
    one, two = BAD_UPDATES[case]
    flow = (
        Flow("bad", state=Ledger)
        .node("start", lambda s: None)
        .node("one", lambda s: one)
        .node("two", lambda s: two)
        .edge("start", ["one", "two"])
        .end("one", "two")
    )
    errors = []

    for engine in (FlowRunner(Executor(ToolRegistry())), AdkEngine(Executor(ToolRegistry()))):
        with pytest.raises(FlowError) as caught:
            await engine.run(flow, {})
        errors.append((str(caught.value), caught.value.flow, caught.value.node, caught.value.field))

    assert errors[0] == errors[1]
    assert errors[0][3] is not None


@pytest.mark.parametrize("values", [{"nowhere": 1}, {"total": "many"}])
async def test_a_bad_input_is_the_same_error_as_on_the_native_runner(
    values: dict[str, Any],
) -> None:
    flow = Flow("input", state=Ledger).node("only", lambda s: None).end("only")
    errors = []

    for engine in (FlowRunner(Executor(ToolRegistry())), AdkEngine(Executor(ToolRegistry()))):
        with pytest.raises(FlowError) as caught:
            await engine.run(flow, values)
        errors.append((str(caught.value), caught.value.flow, caught.value.field))

    assert errors[0] == errors[1]


async def test_a_failing_node_fails_the_run_from_its_cause_and_cancels_later_siblings() -> None:
    cancelled: list[str] = []
    started = asyncio.Event()

    async def fails(state: Ledger) -> None:
        await started.wait()
        raise KeyError("gone")

    async def hangs(state: Ledger) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("later")
            raise

    flow = (
        Flow("failing", state=Ledger)
        .node("start", lambda s: None)
        .node("fails", fails)
        .node("later", hangs)
        .edge("start", ["fails", "later"])
        .end("fails", "later")
    )
    sink = MemorySink()

    with pytest.raises(FlowError, match="node 'fails' failed: KeyError: 'gone'") as caught:
        await AdkEngine(Executor(ToolRegistry()), sink=sink).run(flow, {})

    assert (caught.value.flow, caught.value.node) == ("failing", "fails")
    assert isinstance(caught.value.__cause__, KeyError)
    assert cancelled == ["later"]
    assert [(e.name, e.data.get("status")) for e in sink.events][-2:] == [
        ("flow.finished", "failed"),
        ("run.finished", "failed"),
    ]


async def test_max_steps_and_a_spent_loop_are_the_same_errors_as_on_the_native_runner() -> None:
    def looping(max_loops: int) -> Flow[Ledger]:
        return (
            Flow("loop", state=Ledger)
            .node("work", lambda s: {"total": 1})
            .node("end", lambda s: None)
            .route("work", Route(lambda s: "work", targets=["work", "end"]), max_loops=max_loops)
            .end("end")
        )

    for flow, match in ((looping(50), "max_steps=4"), (looping(2), "'work' went back 2 times")):
        errors = []
        for engine in (
            FlowRunner(Executor(ToolRegistry()), max_steps=4),
            AdkEngine(Executor(ToolRegistry()), max_steps=4),
        ):
            with pytest.raises(FlowLoopExceeded, match=match) as caught:
                await engine.run(flow, {})
            errors.append((str(caught.value), caught.value.flow, caught.value.node))
        assert errors[0] == errors[1]


async def test_concurrency_caps_the_nodes_of_a_superstep() -> None:
    running = most = 0

    async def node(state: Ledger) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    flow = Flow("capped", state=Ledger).node("start", lambda s: None)
    names = [f"n{i}" for i in range(6)]
    for name in names:
        flow.node(name, node)
    flow.edge("start", names).end(*names)

    result = await AdkEngine(Executor(ToolRegistry()), concurrency=2).run(flow, {})

    assert result.status == "done"
    assert most == 2


async def test_cancelling_the_caller_cancels_the_node_and_reports_it() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hangs(state: Ledger) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    flow = Flow("hanging", state=Ledger).node("only", hangs).end("only")
    sink = MemorySink()
    task = asyncio.create_task(AdkEngine(Executor(ToolRegistry()), sink=sink).run(flow, {}))
    await started.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert cancelled.is_set()
    ends = [event.data["status"] for event in sink.events if event.name.endswith("finished")]
    assert ends == ["cancelled", "cancelled"]


async def test_values_that_json_does_not_know_reach_the_nodes_as_they_are() -> None:
    seen: list[object] = []

    class Holder(BaseModel):
        value: Any = None

    token = object()
    flow = Flow("live", state=Holder).node("only", lambda s: seen.append(s.value)).end("only")

    result = await AdkEngine(Executor(ToolRegistry())).run(flow, {"value": token})

    assert seen == [token]
    assert result.state.model_dump()["value"] is token


async def test_a_run_in_a_session_that_exists_is_refused() -> None:
    compiled = compile_flow(
        Flow("twice", state=Ledger).node("only", lambda s: None).end("only"),
        Executor(ToolRegistry()),
        session_service=InMemorySessionService(),
    )
    await compiled.run({}, run_id="r1")

    with pytest.raises(FlowError, match="session 'r1' exists already; nothing ran") as caught:
        await compiled.run({}, run_id="r1")

    assert caught.value.code == "session-exists"


async def test_the_engines_own_sessions_are_dropped_when_their_runs_end() -> None:
    service = InMemorySessionService()
    engine = AdkEngine(Executor(ToolRegistry()))
    engine._sessions = service
    flow = Flow("brief", state=Ledger).node("only", lambda s: None).end("only")

    first = await engine.run(flow, {}, run_id="r1")
    second = await engine.run(flow, {}, run_id="r1")

    assert first.status == second.status == "done"
    assert service.sessions["brief"]["accord"] == {}


@pytest.mark.parametrize(
    ("flow", "app"),
    [("_private", "flow_private"), ("__", "flow_"), ("user", "flow_user"), ("users", "users")],
)
async def test_a_flow_name_that_adk_refuses_is_mapped(flow: str, app: str) -> None:
    compiled = compile_flow(
        Flow(flow, state=Ledger).node("only", lambda s: None).end("only"), Executor(ToolRegistry())
    )

    result = await compiled.run({})

    assert compiled.app.name == compiled.workflow.name == app
    assert result.status == "done"


async def test_a_node_may_be_named_as_its_flow_or_as_what_adk_reserves() -> None:
    flow = (
        Flow("user", state=Ledger)
        .node("user", lambda s: {"log": "user"})
        .node("flow_user", lambda s: {"log": "flow"})
        .edge("user", "flow_user")
        .end("flow_user")
    )

    result = await AdkEngine(Executor(ToolRegistry())).run(flow, {})

    assert result.state.model_dump()["log"] == ["seed", "user", "flow"]


async def test_an_app_name_that_adk_refuses_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="ADK refuses the app name '9lives'"):
        compile_flow(research.flow, Executor(research.research_tools()), app_name="9lives")


async def test_an_unknown_durability_is_a_config_error() -> None:
    durability: Any = "sometimes"

    with pytest.raises(ConfigError, match="durability is 'sometimes'"):
        AdkEngine(Executor(ToolRegistry()), durability=durability)


async def test_a_durable_session_service_without_a_key_shows_how_to_make_one(
    tmp_path: Any,
) -> None:
    service = SqliteSessionService(str(tmp_path / "sessions.db"))

    with pytest.raises(ConfigError, match=r"SqliteSessionService keeps .*secrets\.token_hex"):
        compile_flow(research.flow, Executor(ToolRegistry()), session_service=service)
    with pytest.raises(ConfigError, match=r"secrets\.token_hex"):
        AdkEngine(Executor(ToolRegistry()), session_service=service)


async def test_a_flow_whose_state_cannot_be_sealed_runs_and_says_that_it_is_not_durable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Holder(BaseModel):
        value: Any = None
        note: str = ""

    flow = (
        Flow("open", state=Holder)
        .node("a", lambda s: {"value": object()})
        .node("b", lambda s: {"note": "b"})
        .node("c", lambda s: {"note": "c"})
        .edge("a", "b")
        .edge("b", "c")
        .end("c")
    )

    result = await AdkEngine(Executor(ToolRegistry())).run(flow, {})

    assert result.state.model_dump()["note"] == "c"
    assert caplog.text.count("cannot be recovered after a crash") == 1


async def test_the_engine_compiles_a_flow_once_and_anew_after_a_change() -> None:
    engine = AdkEngine(Executor(ToolRegistry()))
    flow = Flow("cached", state=Ledger).node("a", lambda s: None).end("a")

    first = engine.compiled(flow)

    assert engine.compiled(flow) is first
    assert engine.compiled(flow.validate()) is first
    flow.node("b", lambda s: None).edge("b", "a")
    assert engine.name == "adk"
