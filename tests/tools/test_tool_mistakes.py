"""Mistakes in the definition of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from accord import ConfigError, Executor, Flow, FlowError, FlowRunner, ToolContext, ToolRegistry


class State(BaseModel):
    result: Any = None


async def test_a_confirm_rule_that_fails_is_an_error_of_its_tool() -> None:
    registry = ToolRegistry()

    @registry.tool(confirm=lambda arguments: bool(arguments["amount"]))
    def pay(n: int) -> int:
        return n

    async def node(state: State, ctx: ToolContext) -> None:
        await ctx.call("pay", n=1)

    with pytest.raises(FlowError, match="the confirm rule of tool 'pay' failed: KeyError"):
        await FlowRunner(Executor(registry)).run(
            Flow("pay", state=State).node("n", node).end("n"), {}
        )


def test_a_confirm_rule_is_no_async_function() -> None:
    async def rule(arguments: Mapping[str, Any]) -> bool:
        return False

    late: Any = rule

    with pytest.raises(ConfigError, match="tool 'pay': confirm is async"):
        ToolRegistry().tool(name="pay", confirm=late)(lambda: None)


def test_a_parameter_that_pydantic_would_hide_is_refused() -> None:
    def look(_where: str) -> str:
        return _where

    with pytest.raises(ConfigError, match="parameter '_where' cannot be passed by name"):
        ToolRegistry().tool(look)


def test_a_parameter_that_pydantic_needs_itself_is_refused() -> None:
    def look(model_dump: str) -> str:
        return model_dump

    with pytest.raises(ConfigError, match=r"tool 'look': .*model_dump.*; rename the parameter"):
        ToolRegistry().tool(look)


def test_annotations_that_cannot_be_read_are_refused() -> None:
    def look(where: str) -> str:
        return where

    look.__annotations__["where"] = "Nowhere"

    with pytest.raises(ConfigError, match="tool 'look': its annotations cannot be read"):
        ToolRegistry().tool(look)
    with pytest.raises(ConfigError, match="tool 'part': its annotations cannot be read"):
        ToolRegistry().tool(name="part")(partial(print, "x"))
