"""Tools: functions that flows call by name, and the executor that runs every call."""

from accord.tools.call import CallSpec, ToolResult
from accord.tools.executor import Executor
from accord.tools.registry import ToolRegistry
from accord.tools.tool import Tool

__all__ = ["CallSpec", "Executor", "Tool", "ToolRegistry", "ToolResult"]
