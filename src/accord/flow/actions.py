"""The actions that a node can run beside a plain function, and what a function can ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from accord.context import ToolContext
    from accord.models import InstrumentedModel

# User code: its parameters are the flow's own state and items, which no common type describes.
NodeFunction = Callable[..., Any]
RouteFunction = Callable[[Any], "str | Sequence[str] | Awaitable[str | Sequence[str]]"]


ArgumentsFunction = Callable[[Any], "Mapping[str, Any] | Awaitable[Mapping[str, Any]]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Run one tool call and write what it returns.

    Implements: "Call".

    Attributes:
        tool: The tool to call.
        args: The arguments by name, or a function of the state that returns them; sync or async.
        into: The field that gets the tool's value.
    """

    tool: str = field(kw_only=False)
    args: Mapping[str, Any] | ArgumentsFunction = field(default_factory=dict)
    into: str


@dataclass(frozen=True, slots=True)
class Map:
    """Run one tool call, or a function, for each item of a list field.

    Implements: "Map".

    Attributes:
        over: The list field whose items are mapped.
        into: The field that gets one update per item.
        tool: The tool to call for every item.
        tool_from: The key of each item that names its tool.
        fn: A function of the item, of the item and the state, or of these and a context; sync or
            async. Exactly one of `tool`, `tool_from` and `fn` is given.
        args_from: The key of each item that holds the arguments; an item without it gives
            the rest of the item.
        args_fn: With `tool`, a function of the item that returns the arguments; sync or async.
        on_error: `fail` fails on the first failed item in item order, `skip` drops it with a
            WARNING.
    """

    over: str
    tool: str | None = None
    tool_from: str | None = None
    fn: NodeFunction | None = None
    into: str = ""
    args_from: str = "args"
    args_fn: ArgumentsFunction | None = None
    on_error: Literal["fail", "skip"] = "fail"


@dataclass(frozen=True, slots=True, init=False)
class Join:
    """Wait for the branches that lead here, then run once.

    Implements: "Joins".

    Attributes:
        sources: The predecessors that it joins; a single name counts as one.
        fn: A node function to run then, or None.
    """

    sources: tuple[str, ...]
    fn: NodeFunction | None

    def __init__(self, sources: Sequence[str], fn: NodeFunction | None = None) -> None:
        object.__setattr__(self, "sources", _names(sources))
        object.__setattr__(self, "fn", fn)


@dataclass(frozen=True, slots=True, init=False)
class Route:
    """Choose where to go after a node.

    Implements: "Routes and loops".

    Attributes:
        fn: Takes the state and returns one label or a list of labels.
        targets: The node of each label; a name alone is its own label.
    """

    fn: RouteFunction
    targets: Mapping[str, str]

    def __init__(self, fn: RouteFunction, targets: Sequence[str] | Mapping[str, str]) -> None:
        object.__setattr__(self, "fn", fn)
        labels = targets if isinstance(targets, Mapping) else {n: n for n in _names(targets)}
        object.__setattr__(self, "targets", dict(labels))


Action = NodeFunction | Call | Map | Join


def _names(names: Sequence[str]) -> tuple[str, ...]:
    # A text is a sequence of texts too, and its letters are never what was meant.
    return (names,) if isinstance(names, str) else tuple(names)


def node_prompt(ctx: ToolContext) -> str | None:
    """Return the prompt of the node that `ctx` belongs to, if it has one.

    Implements: "Inside a node".
    """
    return ctx.prompt


def node_model(ctx: ToolContext) -> InstrumentedModel | None:
    """Return the runner's model, bound to the node that `ctx` belongs to, if there is one.

    Implements: "Inside a node".
    """
    return ctx.model
