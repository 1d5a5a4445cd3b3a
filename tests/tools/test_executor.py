"""Tools, the registry and the executor."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    CallSpec,
    ConfigError,
    Executor,
    Flow,
    FlowError,
    FlowRunner,
    MemorySink,
    ToolContext,
    ToolError,
    ToolRegistry,
    ToolResult,
)


class State(BaseModel):
    result: Any = None


async def outcome(registry: ToolRegistry, tool: str, **arguments: Any) -> ToolResult:
    """Run one call through a flow and return its whole result."""
    seen: list[ToolResult] = []

    async def call(state: State, ctx: ToolContext) -> None:
        seen.append(await ctx.executor.run_spec(CallSpec(tool, arguments), ctx))

    flow = Flow("call", state=State).node("call", call).end("call")
    await FlowRunner(Executor(registry)).run(flow, {})
    return seen[0]


async def test_a_tool_takes_its_arguments_by_name_with_defaults() -> None:
    registry = ToolRegistry()

    @registry.tool
    def add(a: int, b: Annotated[int, Field(ge=0)] = 2) -> int:
        return a + b

    assert (await outcome(registry, "add", a="1")).unwrap() == 3
    assert (await outcome(registry, "add", a=1, b=5)).unwrap() == 6


async def test_a_decorated_function_stays_callable() -> None:
    registry = ToolRegistry()

    @registry.tool(name="plus", confirm=False)
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert add(1, 2) == 3
    assert registry.get("plus").description == "Add two numbers."


async def test_bad_arguments_name_tool_and_argument_and_keep_the_value_secret() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def login(pin: int) -> None:
        """Never runs here."""

    result = await outcome(registry, "login", pin="s3cret")

    assert result.error is not None
    assert "'login'" in result.error.message
    assert "pin" in result.error.message
    assert "s3cret" not in result.error.message


async def test_an_unknown_argument_is_refused() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def ping() -> str:
        return "pong"

    with pytest.raises(ToolError, match="extra"):
        (await outcome(registry, "ping", extra=1)).unwrap()


async def test_an_unknown_tool_lists_the_known_ones() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def ping() -> str:
        return "pong"

    with pytest.raises(ToolError, match="no tool 'pong'; registered: ping"):
        (await outcome(registry, "pong")).unwrap()


def test_two_tools_of_one_name_are_refused() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def ping() -> str:
        return "pong"

    with pytest.raises(ConfigError, match="'ping'"):
        registry.tool(ping)


def test_a_tool_whose_parameter_has_no_name_is_refused() -> None:
    registry = ToolRegistry()

    def variadic(*values: int) -> None:
        """Takes what nobody can name."""

    with pytest.raises(ConfigError, match="'values'"):
        registry.tool(variadic)


async def test_what_a_tool_raises_reaches_the_node_as_a_tool_error_raised_from_it() -> None:
    registry = ToolRegistry()

    @registry.tool
    async def explode() -> None:
        raise LookupError("gone")

    async def call(state: State, ctx: ToolContext) -> None:
        await ctx.call("explode")

    flow = Flow("call", state=State).node("call", call).end("call")

    with pytest.raises(FlowError, match="gone") as caught:
        await FlowRunner(Executor(registry)).run(flow, {})

    assert isinstance(caught.value.__cause__, ToolError)
    assert isinstance(caught.value.__cause__.__cause__, LookupError)


async def test_confirm_may_depend_on_the_arguments() -> None:
    registry = ToolRegistry()

    @registry.tool(confirm=lambda arguments: arguments["amount"] > 10)
    async def pay(amount: int) -> int:
        return amount

    assert (await outcome(registry, "pay", amount=3)).unwrap() == 3
    denied = await outcome(registry, "pay", amount=30)
    assert denied.error is not None
    assert denied.error.kind == "ApprovalDenied"


async def test_a_call_is_reported_with_its_id() -> None:
    registry, sink = ToolRegistry(), MemorySink()

    @registry.tool
    async def ping() -> str:
        return "pong"

    async def call(state: State, ctx: ToolContext) -> dict[str, Any]:
        await ctx.call("ping")
        return {"result": await ctx.call("ping")}

    flow = Flow("call", state=State).node("call", call).end("call")
    await FlowRunner(Executor(registry, sink=sink)).run(flow, {})

    ids = [event.data["call_id"] for event in sink.events if event.name == "tool.started"]
    assert ids == ["call:call:1:0", "call:call:1:1"]


async def test_a_sink_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def emit(self, event: object) -> None:
            raise OSError("disk full")

    flow = Flow("call", state=State).node("call", lambda s: None).end("call")

    result = await FlowRunner(Executor(ToolRegistry()), sink=Broken()).run(flow, {})

    assert result.status == "done"
    assert "disk full" in caplog.text
