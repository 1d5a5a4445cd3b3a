"""Accord on LangGraph: a flow as a `CompiledStateGraph`."""

from accord_langgraph.compile import compile_flow
from accord_langgraph.compiled import CompiledFlow
from accord_langgraph.engine import LangGraphEngine

__all__ = ["CompiledFlow", "LangGraphEngine", "compile_flow"]
