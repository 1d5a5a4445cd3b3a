"""The errors that Accord raises, and the form in which an error travels as data.

Every error is an `AdapterError`, so one `except` clause catches what Accord reports about a
flow, a tool or an approval. A pause is not an error: `accord.ApprovalPending` stands apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


class AdapterError(Exception):
    """Base of every error that Accord raises on purpose."""


class ConfigError(AdapterError):
    """Something around the run is missing or wrong: an extra, a key, a model, an option."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a flow definition.

    Attributes:
        node: The node it is about, or None when it is about the flow as a whole.
        message: What is wrong.
        hint: What to do about it.
    """

    node: str | None
    message: str
    hint: str

    def __str__(self) -> str:
        place = f"node {self.node!r}: " if self.node is not None else ""
        return f"{place}{self.message} ({self.hint})"


class FlowDefinitionError(AdapterError):
    """A flow definition has problems; all of them are listed, in a stable order.

    Attributes:
        flow: The flow's name.
        problems: Every problem found.
    """

    def __init__(self, flow: str, problems: Sequence[Problem]) -> None:
        self.flow = flow
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"flow {flow!r} has {count}:{lines}")


class FlowError(AdapterError):
    """A run failed. The message says what happened; the attributes say where.

    Attributes:
        flow: The flow's name, where known.
        node: The node that failed, where one did.
        field: The state field concerned, where one is.
        code: A stable word for programs, such as `checkpoint-tampered`, where one exists.
    """

    def __init__(
        self,
        message: str,
        *,
        flow: str | None = None,
        node: str | None = None,
        field: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.flow = flow
        self.node = node
        self.field = field
        self.code = code
        if self.where:
            self.add_note(self._place)

    @property
    def message(self) -> str:
        """What happened, without the place."""
        return str(self.args[0])

    def within(self, flow: str) -> None:
        """Name the flow, if the error does not yet: what raised it may not have known."""
        if self.flow is None:
            before = self._place
            self.flow = flow
            notes = [note for note in getattr(self, "__notes__", []) if note != before]
            self.__notes__ = [*notes, self._place]

    @property
    def _place(self) -> str:
        return f"at {self.where}"

    @property
    def where(self) -> str:
        """The place in words: flow, node and field, as far as they are known."""
        parts = (("flow", self.flow), ("node", self.node), ("field", self.field))
        return ", ".join(f"{kind} {name!r}" for kind, name in parts if name is not None)


class FlowLoopExceeded(FlowError):
    """A loop went past its `max_loops`, or a run past its `max_steps`."""


class ToolError(AdapterError):
    """A tool failed, was unknown, or was called with arguments that do not fit.

    Attributes:
        tool: The tool's name.
    """

    def __init__(self, message: str, *, tool: str) -> None:
        super().__init__(message)
        self.tool = tool


class ApprovalDenied(AdapterError):
    """A tool call needed an approval and did not get it.

    Attributes:
        tool: The tool that was not run.
        reason: Why, as far as the one who decided said.
    """

    def __init__(self, message: str, *, tool: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.tool = tool
        self.reason = reason


class ApprovalAlreadyDecided(AdapterError):
    """An approval was answered a second time; nothing ran.

    Attributes:
        approval_id: The approval that had been decided or used before.
    """

    def __init__(self, message: str, *, approval_id: str) -> None:
        super().__init__(message)
        self.approval_id = approval_id


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as data, so that a failed call can be journaled and fail the same way again.

    Attributes:
        kind: The class name of the error, an `AdapterError`'s.
        message: The error's message.
        attributes: What the class holds beyond the message; plain text values.
    """

    kind: str
    message: str
    attributes: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, error: AdapterError) -> ErrorInfo:
        """Describe `error`; a class that is not Accord's own becomes its nearest ancestor here."""
        known = next(base for base in type(error).__mro__ if base in _REBUILDABLE)
        names = _REBUILDABLE[known]
        return cls(
            kind=known.__name__,
            message=str(error),
            attributes={name: getattr(error, name) for name in names},
        )

    def rebuild(self) -> AdapterError:
        """Make the error again: same class, message and attributes.

        Raises:
            ConfigError: If `kind` names no error class of Accord.
        """
        for known in _REBUILDABLE:
            if known.__name__ == self.kind:
                return known(self.message, **self.attributes)
        raise ConfigError(
            f"a journal names the error class {self.kind!r}, which this release of Accord lacks; "
            "resume with the release that paused, or a later one"
        )


_REBUILDABLE: dict[type[AdapterError], tuple[str, ...]] = {
    ApprovalAlreadyDecided: ("approval_id",),
    ApprovalDenied: ("tool", "reason"),
    ToolError: ("tool",),
    FlowLoopExceeded: ("flow", "node", "field", "code"),
    FlowError: ("flow", "node", "field", "code"),
    ConfigError: (),
    AdapterError: (),
}


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield `error`, then what it was raised from, down to the first cause."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__
