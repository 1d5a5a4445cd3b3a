"""The Map action: arguments, functions, failures, and pauses of its items."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    ApprovalPending,
    ApprovalRequest,
    DeferredApproval,
    Executor,
    Flow,
    FlowDefinitionError,
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
NO = ApprovalDecision(approved=False, reason="no")


class Job(BaseModel):
    n: int


class Work(BaseModel):
    jobs: list[Any] = Field(default_factory=list)
    factor: int = 10
    done: Annotated[list[Any], Merge.append] = Field(default_factory=list)


def work(action: Map, **options: Any) -> Flow[Work]:
    return Flow("work", state=Work).node("map", action, **options).end("map")


def paying() -> tuple[FlowRunner, list[str], MemoryApprovalStore]:
    registry, calls, store = ToolRegistry(), [], MemoryApprovalStore()

    @registry.tool
    async def look(n: int) -> int:
        calls.append(f"look {n}")
        return n

    @registry.tool(confirm=True)
    async def pay(n: int) -> int:
        calls.append(f"pay {n}")
        return n * 100

    executor = Executor(registry, approval=DeferredApproval(store))
    return FlowRunner(executor), calls, store


@pytest.mark.parametrize(
    "jobs", [[1, 2], [{"n": 1}, {"n": 2}], [Job(n=1), Job(n=2)]], ids=["plain", "dicts", "models"]
)
async def test_an_item_gives_the_arguments_of_its_tool(jobs: list[Any]) -> None:
    runner, calls, _ = paying()

    result = await runner.run(work(Map("jobs", tool="look", into="done")), {"jobs": jobs})

    assert result.state.done == [1, 2]
    assert calls == ["look 1", "look 2"]


async def test_args_fn_makes_the_arguments_of_an_item() -> None:
    runner, _, _ = paying()

    async def twice(item: int) -> dict[str, int]:
        return {"n": item * 2}

    sync = work(Map("jobs", tool="look", args_fn=lambda item: {"n": item + 1}, into="done"))
    in_turn = work(Map("jobs", tool="look", args_fn=twice, into="done"))

    assert (await runner.run(sync, {"jobs": [1, 2]})).state.done == [2, 3]
    assert (await runner.run(in_turn, {"jobs": [1, 2]})).state.done == [2, 4]


async def test_args_fn_that_gives_no_mapping_is_an_error_of_the_item() -> None:
    runner, _, _ = paying()
    broken: Any = lambda item: item  # noqa: E731 - the mistake
    flow = work(Map("jobs", tool="look", args_fn=broken, into="done"))

    with pytest.raises(FlowError, match="args_fn gave no mapping of arguments for item 0"):
        await runner.run(flow, {"jobs": [1]})


def of_item(item: int) -> int:
    return item


async def of_item_and_state(item: int, state: Work) -> int:
    return item * state.factor


def of_all_three(item: int, state: Work, ctx: ToolContext) -> str:
    return f"{ctx.call_id} {current_context() is ctx}"


@pytest.mark.parametrize(
    ("fn", "done"),
    [
        (of_item, [3, 4]),
        (of_item_and_state, [30, 40]),
        (of_all_three, ["work:map:1:0 True", "work:map:1:1 True"]),
        (lambda item, own=7: item + own, [10, 11]),
    ],
    ids=["item", "item and state", "item, state and context", "a default is the author's own"],
)
async def test_a_function_runs_for_each_item(fn: Any, done: list[Any]) -> None:
    runner, _, _ = paying()

    result = await runner.run(work(Map("jobs", fn=fn, into="done")), {"jobs": [3, 4]})

    assert result.state.done == done


async def test_values_are_written_in_item_order_whatever_finishes_first() -> None:
    runner, _, _ = paying()
    second = asyncio.Event()

    async def wait_for_the_second(item: int) -> int:
        if item == 1:
            await second.wait()
        second.set()
        return item

    flow = work(Map("jobs", fn=wait_for_the_second, into="done"))

    assert (await runner.run(flow, {"jobs": [1, 2]})).state.done == [1, 2]


async def test_the_first_failed_item_by_order_fails_the_node() -> None:
    runner, _, _ = paying()
    third = asyncio.Event()

    async def fail(item: int) -> int:
        if item == 3:
            third.set()
            raise ValueError("three")
        await third.wait()
        if item == 2:
            raise ValueError("two")
        return item

    with pytest.raises(FlowError, match="node 'map' failed: ValueError: two"):
        await runner.run(work(Map("jobs", fn=fail, into="done")), {"jobs": [1, 2, 3]})


async def test_skip_drops_failed_items_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    runner, _, _ = paying()
    flow = work(Map("jobs", fn=lambda item: 6 // item, into="done", on_error="skip"))

    with caplog.at_level(logging.WARNING, "accord"):
        result = await runner.run(flow, {"jobs": [1, 0, 3]})

    assert result.state.done == [6, 2]
    assert "work:map:1: item 1 was skipped" in caplog.text


async def test_concurrency_caps_the_items_that_run_at_once() -> None:
    runner, _, _ = paying()
    running = most = 0

    async def count(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return item

    flow = work(Map("jobs", fn=count, into="done"), concurrency=3)
    result = await runner.run(flow, {"jobs": list(range(20))})

    assert most == 3
    assert result.state.done == list(range(20))


async def look_then_pay(item: int, state: Work, ctx: ToolContext) -> int:
    looked: int = await ctx.call("look", n=item)
    paid: int = await ctx.call("pay", n=looked)
    return paid


async def test_an_unfinished_item_replays_its_own_calls() -> None:
    runner, calls, _ = paying()
    flow = work(Map("jobs", fn=look_then_pay, into="done"))

    first = await runner.run(flow, {"jobs": [1, 2]})
    assert first.checkpoint is not None
    text = runner.dump_checkpoint(first.checkpoint)
    second = await runner.resume(flow, runner.load_checkpoint(flow, text), YES)
    assert second.checkpoint is not None
    text = runner.dump_checkpoint(second.checkpoint)
    done = await runner.resume(flow, runner.load_checkpoint(flow, text), YES)

    assert [
        first.pending and first.pending.arguments,
        second.pending and second.pending.arguments,
    ] == [
        {"n": 1},
        {"n": 2},
    ]
    assert calls == ["look 1", "look 2", "pay 1", "pay 2"]
    assert done.state.done == [100, 200]


async def test_the_calls_of_an_item_continue_its_ids_over_a_resume() -> None:
    runner, _, store = paying()
    flow = work(Map("jobs", fn=look_then_pay, into="done"))
    first = await runner.run(flow, {"jobs": [1, 2]})
    assert first.checkpoint is not None

    await runner.resume(flow, first.checkpoint, YES)

    assert [(record.request.call_id, record.status) for record in await store.list()] == [
        ("work:map:1:0:1", "consumed"),
        ("work:map:1:1:1", "consumed"),
        ("work:map:1:1:2", "pending"),
    ]


async def test_a_denied_item_is_skipped_where_the_map_skips() -> None:
    runner, calls, _ = paying()
    flow = work(Map("jobs", fn=look_then_pay, into="done", on_error="skip"))
    first = await runner.run(flow, {"jobs": [1, 2]})
    assert first.checkpoint is not None
    second = await runner.resume(flow, first.checkpoint, NO)
    assert second.checkpoint is not None

    done = await runner.resume(flow, second.checkpoint, YES)

    assert done.state.done == [200]
    assert calls == ["look 1", "look 2", "pay 2"]


async def test_an_item_that_swallows_its_pause_fails_also_where_the_map_skips() -> None:
    runner, _, store = paying()

    async def swallow(item: int, state: Work, ctx: ToolContext) -> int:
        try:
            await ctx.call("pay", n=item)
        except BaseException:  # noqa: BLE001 - the very thing that must not work
            return 0
        return 1

    flow = work(Map("jobs", fn=swallow, into="done", on_error="skip"))

    with pytest.raises(FlowError) as caught:
        await runner.run(flow, {"jobs": [1]})

    assert caught.value.code == "pause-swallowed"
    assert [record.status for record in await store.list()] == ["consumed"]


async def test_what_is_answered_first_is_by_item_and_not_by_time() -> None:
    registry, store = ToolRegistry(), MemoryApprovalStore()
    port, second_asked = DeferredApproval(store), asyncio.Event()

    class SlowForTheFirst:
        """Asks for item 1 only when item 2 has been asked for."""

        store = port.store

        async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
            if request.arguments == {"n": 1}:
                await second_asked.wait()
            try:
                return await port.ask(request)
            except ApprovalPending:
                second_asked.set()
                raise

    @registry.tool(confirm=True)
    async def pay(n: int) -> int:
        return n

    runner = FlowRunner(Executor(registry, approval=SlowForTheFirst()))

    paused = await runner.run(work(Map("jobs", tool="pay", into="done")), {"jobs": [1, 2]})

    assert paused.checkpoint is not None
    assert [request.arguments for request in paused.checkpoint.pending] == [{"n": 1}, {"n": 2}]


async def test_an_answer_to_one_of_two_equal_items_is_that_items_own() -> None:
    runner, calls, _ = paying()
    flow = work(Map("jobs", tool="pay", into="done", on_error="skip"))
    first = await runner.run(flow, {"jobs": [5, 5]})
    assert first.checkpoint is not None

    second = await runner.resume(flow, first.checkpoint, NO)
    assert second.checkpoint is not None
    assert second.pending is not None
    done = await runner.resume(flow, second.checkpoint, YES)

    assert second.pending.call_id == "work:map:1:1"
    assert calls == ["pay 5"]
    assert done.state.done == [500]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fn": of_item, "tool": "look"}, "the Map has tool and fn"),
        ({"fn": 7}, "Map.fn is 7"),
        ({"tool": "look", "args_fn": 7}, "Map.args_fn is 7"),
        ({"fn": of_item, "args_fn": of_item}, "args_fn without tool"),
    ],
)
def test_the_functions_of_a_map_are_checked_with_the_flow(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(FlowDefinitionError, match=problem):
        work(Map("jobs", into="done", **options)).validate()


def test_the_functions_of_a_map_count_in_the_digest_and_are_drawn() -> None:
    plain = work(Map("jobs", tool="look", into="done")).validate()
    changed = work(Map("jobs", tool="look", args_fn=of_item, into="done")).validate()  # type: ignore[arg-type] # only its name counts

    assert plain.digest != changed.digest
    assert changed.to_dict()["nodes"][0]["action"]["args_fn"].endswith(":of_item")


@pytest.mark.parametrize("items", ["abc", {"a": 1}, {1, 2}, 5], ids=repr)
async def test_a_map_over_what_is_no_list_is_an_error_of_its_field(items: Any) -> None:
    class Odd(BaseModel):
        jobs: Any
        done: Annotated[list[Any], Merge.append] = Field(default_factory=list)

    flow = Flow("odd", state=Odd).node("map", Map("jobs", fn=str, into="done")).end("map")

    with pytest.raises(FlowError, match="a Map needs a list") as caught:
        await FlowRunner(Executor(ToolRegistry())).run(flow, {"jobs": items})

    assert (caught.value.node, caught.value.field) == ("map", "jobs")


async def test_a_map_over_none_has_no_items() -> None:
    class Maybe(BaseModel):
        jobs: list[int] | None = None
        done: Annotated[list[Any], Merge.append] = Field(default_factory=list)

    flow = Flow("maybe", state=Maybe).node("map", Map("jobs", fn=str, into="done")).end("map")

    assert (await FlowRunner(Executor(ToolRegistry())).run(flow, {})).state.done == []
