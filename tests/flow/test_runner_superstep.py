"""The superstep on the native runner: order, joins, loops, routes, limits, failures."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ConfigError,
    Executor,
    Flow,
    FlowError,
    FlowLoopExceeded,
    FlowRunner,
    Join,
    Merge,
    Route,
    ToolContext,
    ToolRegistry,
    current_context,
)


class Log(BaseModel):
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    total: Annotated[int, Merge.sum] = 0
    value: str = ""


def writes(name: str) -> Any:
    async def write(state: Log) -> dict[str, Any]:
        return {"log": name, "total": 1}

    return write


def runner(**options: Any) -> FlowRunner:
    return FlowRunner(Executor(ToolRegistry()), **options)


async def test_updates_merge_in_node_name_order_whatever_finishes_first() -> None:
    later = asyncio.Event()

    async def slow(state: Log) -> dict[str, Any]:
        await later.wait()
        return {"log": "a"}

    async def quick(state: Log) -> dict[str, Any]:
        later.set()
        return {"log": "b"}

    flow = (
        Flow("order", state=Log)
        .node("start", writes("start"))
        .node("b", quick)
        .node("a", slow)
        .edge("start", ["b", "a"])
        .end("a", "b")
    )

    result = await runner().run(flow, {})

    assert result.state.model_dump()["log"] == ["start", "a", "b"]
    assert (result.status, result.steps) == ("done", 2)
    assert result.visits == {"start": 1, "a": 1, "b": 1}


async def test_a_join_waits_for_branches_of_unequal_length_and_runs_once() -> None:
    flow = (
        Flow("join", state=Log)
        .node("start", writes("start"))
        .node("short", writes("short"))
        .node("long1", writes("long1"))
        .node("long2", writes("long2"))
        .node("join", Join(["short", "long2"], writes("join")))
        .edge("start", ["short", "long1"])
        .edge("long1", "long2")
        .edge("short", "join")
        .edge("long2", "join")
        .end("join")
    )

    result = await runner().run(flow, {})

    assert result.state.model_dump()["log"] == ["start", "long1", "short", "long2", "join"]
    assert result.visits["join"] == 1


async def test_waiting_joins_run_together_also_when_one_feeds_another() -> None:
    flow = (
        Flow("joins", state=Log)
        .node("start", writes("start"))
        .node("a", writes("a"))
        .node("b", writes("b"))
        .node("inner", Join(["a"], writes("inner")))
        .node("outer", Join(["b", "inner"], writes("outer")))
        .edge("start", ["a", "b"])
        .edge("a", "inner")
        .edge("b", "outer")
        .edge("inner", "outer")
        .end("outer")
    )

    result = await runner().run(flow, {})

    assert result.state.model_dump()["log"] == ["start", "a", "b", "inner", "outer", "outer"]
    assert result.visits["outer"] == 2


def looping(max_loops: int, on_exhausted: str | None) -> Flow[Log]:
    return (
        Flow("loop", state=Log)
        .node("work", writes("work"))
        .node("end", writes("end"))
        .route(
            "work",
            Route(lambda s: "again", {"again": "work", "out": "end"}),
            max_loops=max_loops,
            on_exhausted=on_exhausted,
        )
        .end("end")
    )


async def test_a_spent_loop_goes_to_on_exhausted() -> None:
    result = await runner().run(looping(3, "end"), {})

    assert result.visits == {"work": 4, "end": 1}


async def test_a_spent_loop_without_on_exhausted_names_route_and_limit() -> None:
    with pytest.raises(FlowLoopExceeded, match="'work' went back 2 times") as caught:
        await runner().run(looping(2, None), {})

    assert caught.value.node == "work"


async def test_a_route_sees_its_own_updates_and_not_a_siblings() -> None:
    seen: list[int] = []

    def pick(state: Log) -> str:
        seen.append(state.total)
        return "end"

    flow = (
        Flow("route", state=Log)
        .node("start", writes("start"))
        .node("a", writes("a"))
        .node("b", writes("b"))
        .node("end", writes("end"))
        .edge("start", ["a", "b"])
        .route("a", Route(pick, ["end"]))
        .route("b", Route(pick, ["end"]))
        .end("end")
    )

    result = await runner().run(flow, {})

    assert seen == [2, 2]
    assert result.state.model_dump()["total"] == 4
    assert result.visits["end"] == 1


async def test_a_route_may_pick_several_nodes_and_be_async() -> None:
    async def pick(state: Log) -> list[str]:
        return ["left", "right"]

    flow = (
        Flow("several", state=Log)
        .node("start", writes("start"))
        .node("l", writes("l"))
        .node("r", writes("r"))
        .route("start", Route(pick, {"left": "l", "right": "r"}))
        .end("l", "r")
    )

    assert (await runner().run(flow, {})).visits == {"start": 1, "l": 1, "r": 1}


@pytest.mark.parametrize(
    ("picked", "words"),
    [("nowhere", "unknown label 'nowhere'"), ([], "picked nothing"), (None, "label None")],
)
async def test_a_bad_pick_names_the_route_and_the_label(picked: Any, words: str) -> None:
    flow = (
        Flow("bad", state=Log)
        .node("start", writes("start"))
        .node("end", writes("end"))
        .route("start", Route(lambda s: picked, ["end"]))
        .end("end")
    )

    with pytest.raises(FlowError, match=words) as caught:
        await runner().run(flow, {})

    assert caught.value.node == "start"


async def test_a_route_that_raises_is_a_flow_error_of_its_node() -> None:
    def explode(state: Log) -> str:
        raise ValueError("boom")

    flow = (
        Flow("bad", state=Log)
        .node("start", writes("start"))
        .node("end", writes("end"))
        .route("start", Route(explode, ["end"]))
        .end("end")
    )

    with pytest.raises(FlowError, match="route of 'start' failed: ValueError: boom") as caught:
        await runner().run(flow, {})

    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(("max_steps", "passes"), [(5, True), (4, False)])
async def test_exactly_max_steps_supersteps_pass(max_steps: int, passes: bool) -> None:
    flow = looping(3, "end")  # four visits of work, one of end

    if passes:
        assert (await runner(max_steps=max_steps).run(flow, {})).steps == 5
    else:
        with pytest.raises(FlowLoopExceeded, match="max_steps=4"):
            await runner(max_steps=max_steps).run(flow, {})


@pytest.mark.parametrize("option", ["max_steps", "concurrency"])
def test_an_option_below_one_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option} is 0"):
        runner(**{option: 0})


async def test_the_first_failure_by_name_wins_over_the_first_in_time() -> None:
    b_failed = asyncio.Event()

    async def fails_late(state: Log) -> None:
        await b_failed.wait()
        raise ValueError("a")

    async def fails_early(state: Log) -> None:
        b_failed.set()
        raise ValueError("b")

    flow = (
        Flow("failures", state=Log)
        .node("start", writes("start"))
        .node("a", fails_late)
        .node("b", fails_early)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    with pytest.raises(FlowError, match="node 'a' failed: ValueError: a") as caught:
        await runner().run(flow, {})

    assert caught.value.node == "a"
    assert caught.value.flow == "failures"


async def test_a_failure_cancels_the_siblings_that_sort_later() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def fails(state: Log) -> None:
        await started.wait()
        raise ValueError("a")

    async def waits(state: Log) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    flow = (
        Flow("failures", state=Log)
        .node("start", writes("start"))
        .node("a", fails)
        .node("b", waits)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    with pytest.raises(FlowError):
        await runner().run(flow, {})

    assert cancelled.is_set()


async def test_cancelling_the_caller_ends_every_visit_and_reports_cancelled() -> None:
    from accord import MemorySink

    started, ended = asyncio.Event(), asyncio.Event()

    async def waits(state: Log) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    sink = MemorySink()
    flow = Flow("cancel", state=Log).node("only", waits).end("only")
    task = asyncio.create_task(runner(sink=sink).run(flow, {}))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended.is_set()
    assert sink.events[-1].name == "run.finished"
    assert sink.events[-1].data["status"] == "cancelled"


async def test_concurrency_caps_the_nodes_that_run_at_once() -> None:
    running = 0
    most = 0

    async def count(state: Log) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    flow = Flow("cap", state=Log).node("start", writes("start"))
    names = [f"n{i}" for i in range(6)]
    for name in names:
        flow.node(name, count)
    flow.edge("start", names).end(*names)

    await runner(concurrency=2).run(flow, {})

    assert most == 2


@pytest.mark.parametrize(
    ("update", "field", "words"),
    [
        ({"nope": 1}, "nope", "nope"),
        ({"total": "many"}, "total", "total"),
        ({"log": [1]}, "log", "log"),
    ],
)
async def test_a_bad_update_names_node_and_field(
    update: dict[str, Any], field: str, words: str
) -> None:
    async def bad(state: Log) -> dict[str, Any]:
        return update

    flow = Flow("bad", state=Log).node("only", bad).end("only")

    with pytest.raises(FlowError, match=words) as caught:
        await runner().run(flow, {})

    assert (caught.value.node, caught.value.field) == ("only", field)


async def test_conflicting_writes_name_the_field_and_the_last_writer() -> None:
    async def one(state: Log) -> dict[str, Any]:
        return {"value": "one"}

    async def two(state: Log) -> dict[str, Any]:
        return {"value": "two"}

    flow = (
        Flow("conflict", state=Log)
        .node("start", writes("start"))
        .node("a", one)
        .node("b", two)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    with pytest.raises(FlowError) as caught:
        await runner().run(flow, {})

    assert str(caught.value) == "conflicting writes to value"
    assert (caught.value.node, caught.value.field) == ("b", "value")
    assert "at flow 'conflict', node 'b', field 'value'" in caught.value.__notes__


async def test_a_node_that_returns_no_mapping_fails() -> None:
    flow = Flow("bad", state=Log).node("only", lambda s: 7).end("only")

    with pytest.raises(FlowError, match="returned int"):
        await runner().run(flow, {})


async def test_unknown_input_is_refused() -> None:
    flow = Flow("input", state=Log).node("only", writes("x")).end("only")

    with pytest.raises(FlowError, match="nope"):
        await runner().run(flow, {"nope": 1})


async def test_the_input_may_be_an_instance_of_the_state_model() -> None:
    flow = Flow("input", state=Log).node("only", writes("x")).end("only")
    given = Log(total=10)

    result = await runner().run(flow, given)

    assert result.state.model_dump()["total"] == 11
    assert given.total == 10


async def test_a_careless_change_of_the_state_reaches_no_sibling() -> None:
    async def careless(state: Log) -> None:
        state.log.append("careless")

    flow = (
        Flow("careless", state=Log)
        .node("start", writes("start"))
        .node("a", careless)
        .node("b", writes("b"))
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    result = await runner().run(flow, {})

    assert result.state.model_dump()["log"] == ["start", "b"]


async def test_a_sync_function_runs_in_a_worker_thread_with_the_context() -> None:
    seen: dict[str, Any] = {}

    def sync(state: Log, ctx: ToolContext) -> None:
        seen["thread"] = threading.current_thread()
        seen["same"] = current_context() is ctx
        seen["call_id"] = ctx.call_id

    flow = Flow("threads", state=Log).node("only", sync).end("only")

    await runner().run(flow, {})

    assert seen["thread"] is not threading.main_thread()
    assert seen["same"] is True
    assert seen["call_id"] == "threads:only:1"


async def test_a_second_parameter_with_a_default_gets_no_context() -> None:
    seen: list[str] = []
    flow = Flow("default", state=Log)
    flow.node("only", lambda s, r="own": seen.append(r)).end("only")

    await runner().run(flow, {})

    assert seen == ["own"]


def test_no_context_outside_a_node() -> None:
    with pytest.raises(ConfigError, match="outside a node"):
        current_context()


def test_run_sync_runs_without_an_event_loop() -> None:
    flow = Flow("sync", state=Log).node("only", writes("x")).end("only")

    assert runner().run_sync(flow, {}).status == "done"


async def test_a_sync_function_that_raises_stop_iteration_fails_its_node() -> None:
    def exhausted(state: Log) -> dict[str, Any]:
        return {"value": next(iter([]))}

    flow = Flow("stop", state=Log).node("only", exhausted).end("only")

    with pytest.raises(FlowError, match="raised StopIteration") as caught:
        await asyncio.wait_for(runner().run(flow, {}), 5)

    assert caught.value.node == "only"
