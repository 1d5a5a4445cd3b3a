"""The native superstep against a bare asyncio loop that validates the whole state each step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import BaseModel

from accord import Executor, Flow, FlowRunner, Join, MemorySink, Route, ToolRegistry
from benchmarks.measure import Row, compare


class Small(BaseModel):
    """A state of three fields."""

    count: int = 0
    text: str = ""
    items: list[str] = []


async def _touch(state: Small) -> dict[str, Any]:
    return {"count": state.count + 1}


async def _idle(state: Small) -> None:
    return None


def chain(nodes: int) -> Flow[Small]:
    """Return a flow of nodes in a row."""
    flow = Flow("chain", state=Small)
    for number in range(nodes):
        flow.node(f"n{number}", _touch)
    for number in range(nodes - 1):
        flow.edge(f"n{number}", f"n{number + 1}")
    return flow.end(f"n{nodes - 1}")


def fan(width: int) -> Flow[Small]:
    """Return a flow that spreads to many nodes and comes together in a join."""
    names = [f"n{number}" for number in range(width)]
    flow = Flow("fan", state=Small).node("start", _touch)
    for name in names:
        flow.node(name, _idle)
    flow.node("end", Join(names, _touch)).edge("start", names)
    for name in names:
        flow.edge(name, "end")
    return flow.end("end")


def loop(times: int) -> Flow[Small]:
    """Return a flow of one node that goes back to itself."""
    return (
        Flow("loop", state=Small)
        .node("body", _touch)
        .node("end", _idle)
        .route(
            "body",
            Route(lambda s: "body" if s.count < times else "end", ["body", "end"]),
            max_loops=times,
            on_exhausted="end",
        )
        .end("end")
    )


def _timed(make: Callable[[], Coroutine[Any, Any, object]], times: int) -> float:
    async def run() -> float:
        began = time.perf_counter()
        for _ in range(times):
            await make()
        return time.perf_counter() - began

    return asyncio.run(run())


async def _bare(supersteps: list[int]) -> None:
    state = Small()
    for width in supersteps:
        values = dict(state)
        if width == 1:
            values.update(await _touch(state))
        else:
            await asyncio.gather(*(_idle(state) for _ in range(width)))
        state = Small.model_validate(values)


def rows() -> list[Row]:
    """Measure chain, fan-out and loop, with events to a sink."""

    def native(flow: Flow[Small], times: int) -> float:
        graph = flow.validate()
        runner = FlowRunner(Executor(ToolRegistry()), sink=MemorySink(), max_steps=2_000)
        return _timed(lambda: runner.run(graph, {}), times)

    chain_flow, fan_flow, loop_flow = chain(100), fan(50), loop(1_000)
    return [
        compare(
            "native chain of 100 / bare loop with full validation",
            lambda: native(chain_flow, 5),
            lambda: _timed(lambda: _bare([1] * 100), 5),
            bound=1.0,
        ),
        compare(
            "native 1 -> 50 -> 1 / bare loop with full validation",
            lambda: native(fan_flow, 10),
            lambda: _timed(lambda: _bare([1, 50, 1]), 10),
            bound=1.5,
        ),
        compare(
            "native loop of 1,000 / bare loop with full validation",
            lambda: native(loop_flow, 1),
            lambda: _timed(lambda: _bare([1] * 1_001), 1),
            bound=None,
        ),
    ]
