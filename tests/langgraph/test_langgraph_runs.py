"""A compiled flow runs as the native runner does: state, steps, visits, calls, events, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, Field, model_validator

from accord import (
    ApprovalDecision,
    CallableModel,
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
    ToolContext,
    ToolRegistry,
)
from accord_langgraph import LangGraphEngine, compile_flow
from accord_parity.flows import research

YES = ApprovalDecision(approved=True)


class Ledger(BaseModel):
    total: Annotated[int, Merge.sum] = 10
    note: str = ""
    log: Annotated[list[str], Merge.append] = Field(default_factory=lambda: ["seed"])
    hits: Annotated[list[dict[str, Any]], Merge.keyed(by="id")] = Field(default_factory=list)
    pair: tuple[int, ...] = ()


def both(executor: Executor, **options: Any) -> tuple[Engine, Engine]:
    return FlowRunner(executor, **options), LangGraphEngine(executor, **options)


async def test_the_research_flow_ends_as_on_the_native_runner() -> None:
    results: list[tuple[object, ...]] = []
    events = []
    for make in (FlowRunner, LangGraphEngine):
        sink = MemorySink()
        runner: Engine = make(
            Executor(research.research_tools()),
            approval=DeferredApproval(MemoryApprovalStore()),
            model=CallableModel(research.answer),
            sink=sink,
        )
        paused = await runner.run(research.flow, research.QUESTION)
        assert paused.status == "paused"
        assert paused.pending is not None
        assert paused.checkpoint is not None
        done = await runner.resume(research.flow, paused.checkpoint, YES)
        results.append((paused.state, paused.steps, paused.visits, paused.pending.arguments))
        results.append((done.state, done.steps, done.visits, done.status))
        events.append([(event.name, event.node, event.visit) for event in sink.events])

    assert results[0] == results[2]
    assert results[1] == results[3]
    assert events[0] == events[1]
    assert type(results[3][0]) is research.ResearchState


async def test_the_graph_is_a_true_langgraph_graph_with_the_flows_edges() -> None:
    compiled = compile_flow(
        research.flow, Executor(research.research_tools()), checkpointer=InMemorySaver()
    )

    drawn = compiled.graph.get_graph().draw_mermaid()

    assert isinstance(compiled.graph, CompiledStateGraph)
    for edge in (
        "classify -.-> retrieve",
        "retrieve -.-> merge",
        "merge -.-> reason",
        "reason -.-> retrieve",
        "reason -. &nbsp;approve, on_exhausted&nbsp; .-> approve",
        "approve -.-> __end__",
    ):
        assert edge in drawn


async def test_all_merge_rules_of_one_superstep() -> None:
    flow = (
        Flow("rules", state=Ledger)
        .node("start", lambda s: None)
        .node("b", lambda s: {"total": 2, "log": "b", "hits": [{"id": 1, "by": "b"}], "note": "x"})
        .node("a", lambda s: {"total": 1, "log": ["a"], "hits": {"id": 1, "by": "a"}, "note": "x"})
        .node("c", lambda s: {"hits": [{"id": 2}], "pair": (1, 2)})
        .edge("start", ["b", "a", "c"])
        .end("a", "b", "c")
    )
    native, compiled = both(Executor(ToolRegistry()))

    expected = await native.run(flow, {"total": 5})
    result = await compiled.run(flow, {"total": 5})

    assert result.state == expected.state
    assert result.state.total == 8
    assert result.state.log == ["seed", "a", "b"]
    assert result.state.hits == [{"id": 1, "by": "b"}, {"id": 2}]
    assert result.state.pair == (1, 2)
    assert result.state.model_fields_set == expected.state.model_fields_set
    assert (result.steps, result.visits) == (expected.steps, expected.visits)


async def test_joins_run_once_nothing_else_is_left_also_in_a_loop() -> None:
    flow = (
        Flow("joining", state=Ledger)
        .node("split", lambda s: {"log": "split"})
        .node("short", lambda s: {"log": "short"})
        .node("long", lambda s: {"log": "long"})
        .node("longer", lambda s: {"log": "longer"})
        .node("meet", Join(["short", "longer"], lambda s: {"log": "meet", "total": 1}))
        .node("stop", lambda s: {"log": "stop"})
        .edge("split", ["short", "long"])
        .edge("short", "meet")
        .edge("long", "longer")
        .edge("longer", "meet")
        .route(
            "meet",
            Route(lambda s: "split" if s.total < 13 else "stop", targets=["split", "stop"]),
            max_loops=5,
        )
        .end("stop")
    )
    native, compiled = both(Executor(ToolRegistry()))

    expected = await native.run(flow, {})
    result = await compiled.run(flow, {})

    assert result.state == expected.state
    assert (result.steps, result.visits) == (expected.steps, expected.visits)
    assert result.visits["meet"] == 3


async def test_a_map_writes_its_items_in_item_order() -> None:
    registry = ToolRegistry()
    second = asyncio.Event()

    @registry.tool
    async def shout(word: str) -> str:
        if word == "a":
            await second.wait()
        second.set()
        return word.upper()

    class Words(BaseModel):
        words: list[str]
        loud: Annotated[list[str], Merge.append] = Field(default_factory=list)

    flow = Flow("words", state=Words).node("map", Map("words", tool="shout", into="loud"))
    flow.end("map")
    engine = LangGraphEngine(Executor(registry))

    result = await engine.run(flow, {"words": ["a", "b", "c"]})

    assert result.state.loud == ["A", "B", "C"]


async def test_defaults_validators_and_the_first_input_count_as_native() -> None:
    class Span(BaseModel):
        low: int = 1
        high: int = 2

        @model_validator(mode="after")
        def ordered(self) -> Span:
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    flow = (
        Flow("span", state=Span)
        .node("start", lambda s: None)
        .node("a", lambda s: {"low": 5})
        .node("b", lambda s: {"high": 9})
        .edge("start", ["a", "b"])
        .end("a", "b")
    )
    # Alone, a's update would not pass the model.
    native, compiled = both(Executor(ToolRegistry()))

    expected = await native.run(flow, {})
    result = await compiled.run(flow, {})

    assert result.state == expected.state == Span(low=5, high=9)


async def test_an_instance_of_the_state_model_is_an_input() -> None:
    flow = Flow("one", state=Ledger).node("a", lambda s: {"total": 1}).end("a")

    result = await LangGraphEngine(Executor(ToolRegistry())).run(flow, Ledger(total=1, note="n"))

    assert result.state == Ledger(total=2, note="n")


async def test_raw_input_is_validated_by_the_start_node() -> None:
    flow = Flow("one", state=Ledger).node("a", lambda s: {"total": 1}).end("a")
    graph = compile_flow(flow, Executor(ToolRegistry())).graph

    output = await graph.ainvoke({"total": "7"})
    with pytest.raises(FlowError, match="refuses the input") as caught:
        await graph.ainvoke({"total": "many"})

    assert output == {"total": 8, "note": "", "log": ["seed"], "hits": [], "pair": ()}
    assert caught.value.field == "total"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"note": "x"}, {"note": "y"}),
        ({"nope": 1}, {"note": "y"}),
        ({"note": "x"}, {"total": "many"}),
        ({"total": 1}, {"hits": {"id": []}}),
    ],
    ids=["conflict", "unknown key", "wrong type", "bad key"],
)
async def test_a_bad_merge_fails_as_native_and_leaves_the_state_unmerged(
    a: Mapping[str, Any], b: Mapping[str, Any]
) -> None:
    flow = (
        Flow("bad", state=Ledger)
        .node("start", lambda s: {"log": "start"})
        .node("a", lambda s: a)
        .node("b", lambda s: b)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )
    saver = InMemorySaver()
    with pytest.raises(FlowError) as expected:
        await FlowRunner(Executor(ToolRegistry())).run(flow, {})
    compiled = compile_flow(flow, Executor(ToolRegistry()), checkpointer=saver)

    with pytest.raises(FlowError) as caught:
        await compiled.run({}, run_id="r")

    assert type(caught.value) is type(expected.value)
    assert caught.value.message == expected.value.message
    assert (caught.value.node, caught.value.field) == (expected.value.node, expected.value.field)
    latest = await anext(compiled.graph.aget_state_history(_thread("r")))
    assert latest.values["log"] == ["seed", "start"]
    assert (latest.values["note"], latest.values["total"]) == ("", 10)


def _thread(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


async def test_the_first_failure_by_node_name_wins_and_later_ones_are_cancelled() -> None:
    # Given a slow failure, a quick one that sorts later, and one that never ends
    quick_failed = asyncio.Event()
    cancelled: list[str] = []

    async def slow(state: Ledger) -> None:
        await quick_failed.wait()
        raise ValueError("slow")

    async def quick(state: Ledger) -> None:
        quick_failed.set()
        raise ValueError("quick")

    async def endless(state: Ledger) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("z")
            raise

    flow = (
        Flow("failing", state=Ledger)
        .node("start", lambda s: None)
        .node("z", endless)
        .node("b", quick)
        .node("a", slow)
        .edge("start", ["z", "b", "a"])
        .end("a", "b", "z")
    )

    # When it runs
    with pytest.raises(FlowError, match="slow") as caught:
        await LangGraphEngine(Executor(ToolRegistry())).run(flow, {})

    # Then the failure that sorts first is raised, from the original
    assert caught.value.node == "a"
    assert caught.value.flow == "failing"
    assert isinstance(caught.value.__cause__, ValueError)
    assert cancelled == ["z"]


async def test_a_failure_wins_over_an_update_that_does_not_merge() -> None:
    async def fails(state: Ledger) -> None:
        await asyncio.to_thread(lambda: None)
        raise ValueError("boom")

    flow = (
        Flow("mixed", state=Ledger)
        .node("start", lambda s: None)
        .node("a", lambda s: {"nope": 1})
        .node("b", fails)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )
    for engine in both(Executor(ToolRegistry())):
        with pytest.raises(FlowError, match="boom") as caught:
            await engine.run(flow, {})
        assert caught.value.node == "b"


def counting(max_loops: int | None, on_exhausted: str | None = None) -> Flow[Ledger]:
    return (
        Flow("counting", state=Ledger)
        .node("up", lambda s: {"total": 1})
        .node("stop", lambda s: {"note": "stopped"})
        .route(
            "up",
            Route(lambda s: "up", targets=["up", "stop"]),
            max_loops=max_loops,
            on_exhausted=on_exhausted,
        )
        .end("stop")
    )


@pytest.mark.parametrize(
    ("flow", "max_steps"),
    [(counting(3), 100), (counting(50), 7)],
    ids=["max_loops", "max_steps"],
)
async def test_limits_end_a_run_as_native(flow: Flow[Ledger], max_steps: int) -> None:
    errors = []
    for engine in both(Executor(ToolRegistry()), max_steps=max_steps):
        with pytest.raises(FlowLoopExceeded) as caught:
            await engine.run(flow, {})
        errors.append((caught.value.message, caught.value.node, caught.value.flow))

    assert errors[0] == errors[1]


async def test_a_spent_loop_leaves_by_on_exhausted() -> None:
    flow = counting(3, on_exhausted="stop")
    native, compiled = both(Executor(ToolRegistry()))

    expected = await native.run(flow, {})
    result = await compiled.run(flow, {})

    assert result.state == expected.state
    assert result.visits == expected.visits == {"up": 4, "stop": 1}


async def test_max_steps_counts_more_supersteps_than_langgraphs_own_limit() -> None:
    flow = counting(20_000, on_exhausted="stop")

    with pytest.raises(FlowLoopExceeded, match="max_steps=30"):
        await LangGraphEngine(Executor(ToolRegistry()), max_steps=30).run(flow, {})


async def test_concurrency_caps_the_nodes_of_a_superstep() -> None:
    running, most = 0, 0

    async def work(state: Ledger) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.to_thread(lambda: None)
        running -= 1

    names = ["a", "b", "c", "d", "e"]
    flow = Flow("wide", state=Ledger).node("start", lambda s: None).edge("start", names)
    for name in names:
        flow.node(name, work)
    flow.end(*names)

    result = await LangGraphEngine(Executor(ToolRegistry()), concurrency=2).run(flow, {})

    assert result.steps == 2
    assert most == 2


async def test_a_run_id_is_taken_once() -> None:
    flow = Flow("one", state=Ledger).node("a", lambda s: None).end("a")
    compiled = compile_flow(flow, Executor(ToolRegistry()), checkpointer=InMemorySaver())
    await compiled.run({}, run_id="taken")

    with pytest.raises(FlowError) as caught:
        await compiled.run({}, run_id="taken")

    assert caught.value.code == "thread-exists"


async def test_runs_without_a_checkpointer_keep_no_thread_after_their_end() -> None:
    flow = Flow("one", state=Ledger).node("a", lambda s: None).end("a")
    engine = LangGraphEngine(Executor(ToolRegistry()))

    await engine.run(flow, {}, run_id="again")
    again = await engine.run(flow, {}, run_id="again")

    assert again.status == "done"


async def test_nodes_see_the_same_context_as_native() -> None:
    seen = []

    def look(state: Ledger, ctx: ToolContext) -> None:
        seen.append((ctx.run_id, ctx.flow, ctx.node, ctx.visit, ctx.call_id, ctx.prompt))

    flow = Flow("one", state=Ledger).node("a", look, prompt="hi").end("a")
    for engine in both(Executor(ToolRegistry())):
        await engine.run(flow, {}, run_id="r")

    assert seen[0] == seen[1] == ("r", "one", "a", 1, "one:a:1", "hi")
