"""A tool call as data: what is called, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accord.errors import AdapterError, ErrorInfo


@dataclass(frozen=True, slots=True)
class CallSpec:
    """A tool call to make.

    Attributes:
        tool: The tool's name in the registry.
        arguments: The arguments by name.
        call_id: An id that stays the same when the visit runs again; None takes the next one.
    """

    tool: str
    arguments: Mapping[str, Any]
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave: a value, or an error as data.

    Attributes:
        value: What the tool returned; None when it failed.
        error: Why it failed; None when it did not.
        cause: The exception behind `error`, in the process where it happened.
    """

    value: Any = None
    error: ErrorInfo | None = None
    cause: BaseException | None = field(default=None, compare=False)

    @classmethod
    def failure(cls, error: AdapterError, *, cause: BaseException | None = None) -> ToolResult:
        """Describe a call that failed with `error`, raised from `cause`."""
        return cls(error=ErrorInfo.of(error), cause=cause)

    def unwrap(self) -> Any:
        """Return the value.

        Raises:
            AdapterError: The call's error, made again from its description.
        """
        if self.error is not None:
            raise self.error.rebuild() from self.cause
        return self.value
