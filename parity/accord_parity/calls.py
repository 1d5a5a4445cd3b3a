"""Which tools a run executed, with which arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from accord import Tool, ToolRegistry
from accord_parity.observation import JsonValue, as_json


class CallLog:
    """Counts the executions of tools, per tool in order of execution.

    A call that is replayed from a journal is not executed, so it does not appear.
    """

    def __init__(self) -> None:
        self._calls: dict[str, list[Mapping[str, JsonValue]]] = {}

    def watch(self, registry: ToolRegistry) -> ToolRegistry:
        """Return the same tools, each of which notes its executions here.

        Args:
            registry: The tools; left as it is.
        """
        watched = ToolRegistry()
        for tool in registry:
            watched.add(self._watch(tool))
        return watched

    @property
    def calls(self) -> Mapping[str, Sequence[Mapping[str, JsonValue]]]:
        """The arguments of every execution so far, by tool; a watched tool is always there."""
        return {tool: tuple(calls) for tool, calls in self._calls.items()}

    def _watch(self, tool: Tool) -> Tool:
        noted = self._calls.setdefault(tool.name, [])

        # Noted before the tool begins, where a sync tool has not yet left for its thread.
        async def run(**arguments: Any) -> Any:
            noted.append({name: as_json(value) for name, value in arguments.items()})
            return await tool.run(**arguments)

        return replace(tool, run=run)
