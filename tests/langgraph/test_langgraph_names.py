"""Names that LangGraph keeps to itself."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from accord import ConfigError, Executor, Flow, ToolRegistry
from accord_langgraph import compile_flow


class Reserved(BaseModel):
    configurable: dict[str, Any] = {}


def test_a_field_whose_name_langgraph_reserves_is_refused_by_name() -> None:
    flow = Flow("reserved", state=Reserved).node("only", lambda s: None).end("only")

    with pytest.raises(ConfigError, match="'configurable'"):
        compile_flow(flow, Executor(ToolRegistry()))
