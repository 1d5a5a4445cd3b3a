"""Mistakes around a run: each is refused at once, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from accord import (
    ApprovalRequest,
    ConfigError,
    Executor,
    Flow,
    FlowRunner,
    MemoryApprovalStore,
    ToolRegistry,
)


class State(BaseModel):
    n: int = 0


def gated() -> Flow[State]:
    return Flow("gated", state=State).node("a", lambda s: None, pause=lambda s: None).end("a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_steps": "5"}, "max_steps is '5'; it has to be a whole number"),
        ({"max_steps": 2.5}, "max_steps is 2.5"),
        ({"max_steps": None}, "max_steps is None"),
        ({"concurrency": True}, "concurrency is True"),
        ({"approval": MemoryApprovalStore()}, "MemoryApprovalStore, which has no ask.*Deferred"),
        ({"sink": []}, "sink is a list, which has no emit"),
        ({"model": str.upper}, "which has no generate.*CallableModel"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FlowRunner(Executor(ToolRegistry()), **options)


def test_an_executor_is_needed() -> None:
    registry: Any = ToolRegistry()

    with pytest.raises(ConfigError, match=r"ToolRegistry, which has no run_spec.*Executor"):
        FlowRunner(registry)


async def test_the_port_of_the_executor_is_checked_too() -> None:
    store: Any = MemoryApprovalStore()

    with pytest.raises(ConfigError, match="has no ask"):
        FlowRunner(Executor(ToolRegistry(), approval=store))


async def test_what_is_no_flow_is_refused() -> None:
    name: Any = "gated"

    with pytest.raises(ConfigError, match="a str is no flow; pass a Flow or its FlowGraph"):
        await FlowRunner(Executor(ToolRegistry())).run(name, {})


async def test_a_run_id_is_text() -> None:
    run_id: Any = 5

    with pytest.raises(ConfigError, match="run_id is 5; pass text"):
        await FlowRunner(Executor(ToolRegistry())).run(gated(), {}, run_id=run_id)


async def test_run_sync_says_what_to_write_where_an_event_loop_runs() -> None:
    runner, checkpoint = FlowRunner(Executor(ToolRegistry())), None
    nothing: Any = checkpoint

    with pytest.raises(ConfigError, match=r"write `await runner\.run\(\.\.\.\)`"):
        runner.run_sync(gated(), {})
    with pytest.raises(ConfigError, match=r"write `await runner\.resume\(\.\.\.\)`"):
        runner.resume_sync(gated(), nothing, nothing)


async def test_a_port_has_to_answer_with_a_decision() -> None:
    class Mute:
        async def ask(self, request: ApprovalRequest) -> Any:
            return None

    with pytest.raises(ConfigError, match=r"'node:gated\.a' with a NoneType; let its ask"):
        await FlowRunner(Executor(ToolRegistry()), approval=Mute()).run(gated(), {})
