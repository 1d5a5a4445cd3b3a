"""The tools that a flow may call, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, overload

from accord._invoke import UserFunction
from accord.errors import ConfigError, ToolError
from accord.tools.tool import ConfirmRule, Tool

F = TypeVar("F", bound=UserFunction)


class ToolRegistry:
    """Holds tools by name.

    Implements: "Tools".
    """

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> Tool:
        """Add a tool.

        Raises:
            ConfigError: If its name is taken.
        """
        if tool.name in self._tools:
            raise ConfigError(f"two tools are named {tool.name!r}; give one of them another name")
        self._tools[tool.name] = tool
        return tool

    @overload
    def tool(self, fn: F, /) -> F: ...
    @overload
    def tool(
        self, /, *, name: str | None = None, confirm: ConfirmRule = False
    ) -> Callable[[F], F]: ...
    def tool(
        self, fn: F | None = None, /, *, name: str | None = None, confirm: ConfirmRule = False
    ) -> F | Callable[[F], F]:
        """Register the decorated function; it stays callable as it is.

        Args:
            fn: The function, when used as `@registry.tool`.
            name: The tool's name; the function's own by default.
            confirm: Whether a call needs an approval, or a function of the arguments.
        """

        def register(function: F) -> F:
            self.add(Tool.from_function(function, name=name, confirm=confirm))
            return function

        return register if fn is None else register(fn)

    def get(self, name: str) -> Tool:
        """Return a tool.

        Raises:
            ToolError: If there is none of that name.
        """
        try:
            return self._tools[name]
        except KeyError:
            known = ", ".join(sorted(self._tools)) or "none"
            raise ToolError(
                f"there is no tool {name!r}; registered: {known}", tool=str(name)
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())
