"""What a node or a tool knows about where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from accord.errors import ConfigError
from accord.events import EventValue, emit

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.approval import ApprovalDecision, ApprovalPort, ApprovalRequest
    from accord.events import EventSink
    from accord.models import InstrumentedModel
    from accord.tools import CallSpec, ToolResult


class RunsTools(Protocol):
    """The part of an executor that a context needs to make a call."""

    async def run_spec(self, spec: CallSpec, ctx: ToolContext) -> ToolResult:
        """Run one tool call under `ctx`."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any], ctx: ToolContext) -> Any:
        """Run one tool call under `ctx` and return its value; a failure raises."""
        ...


class CallScope(Protocol):
    """The memory of one visit (or one Map item): its call ids, finished calls and answers."""

    def next_call_id(self) -> str:
        """Return a call id that this scope has not given out before."""
        ...

    def calling(self) -> AbstractContextManager[None]:
        """Count a call as running, for as long as the context lasts."""
        ...

    def replay(self, tool: str, arguments: BaseModel) -> ToolResult | None:
        """Return the recorded result of the next equal call, or None to run it."""
        ...

    def record(self, tool: str, arguments: BaseModel, result: ToolResult) -> None:
        """Keep the result of a call that finished."""
        ...

    async def decide(self, request: ApprovalRequest, port: ApprovalPort | None) -> ApprovalDecision:
        """Answer `request` from a kept answer, or else ask `port`.

        Raises:
            ApprovalPending: If nobody has decided yet.
        """
        ...


@dataclass(slots=True)
class ToolContext:
    """Where a node or a tool call runs; given to `fn(state, ctx)`.

    Implements: "Inside a node".

    Attributes:
        run_id: The run.
        flow: The flow's name.
        node: The node's name.
        visit: The number of this visit, counted from 1.
        call_id: `"<flow>:<node>:<visit>"`; the calls made here extend it by `:<i>`.
        executor: Runs tools.
        scope: The memory of this visit.
        prompt: The node's prompt, if it has one.
        model: The runner's model, bound to this node, if there is one.
        approval: The decision of this node's pause gate, if it has one.
        sink: Where events go, if anywhere.
    """

    run_id: str
    flow: str
    node: str
    visit: int
    call_id: str
    executor: RunsTools
    scope: CallScope
    prompt: str | None = None
    model: InstrumentedModel | None = None
    approval: ApprovalDecision | None = None
    sink: EventSink | None = None

    # A tool may return any value, and only the flow's author knows which.
    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """Run a registered tool through the executor and return its value.

        Args:
            tool: The tool's name in the registry.
            **arguments: The tool's arguments by name.

        Returns:
            What the tool returned.

        Raises:
            ToolError: If the tool is unknown, its arguments do not fit, or it failed.
            ApprovalDenied: If the call needed an approval and was denied.
            ApprovalPending: If the call needs an approval that is not decided yet.
        """
        return await self.executor.call(tool, arguments, self)


_current: ContextVar[ToolContext] = ContextVar("accord_current_context")


def current_context() -> ToolContext:
    """Return the context of the node that is running.

    Implements: "Inside a node".

    Raises:
        ConfigError: If no node is running here.
    """
    try:
        return _current.get()
    except LookupError:
        raise ConfigError(
            "current_context() was called outside a node; call it from a node's function "
            "or from a tool that a node calls"
        ) from None


def report(ctx: ToolContext, name: str, data: Mapping[str, EventValue]) -> None:
    """Emit an event of the visit that `ctx` belongs to, if anybody listens.

    Implements: "Events".

    Args:
        ctx: Where it happened.
        name: What happened.
        data: What else is known.
    """
    if ctx.sink is not None:
        emit(
            ctx.sink,
            name,
            run_id=ctx.run_id,
            flow=ctx.flow,
            node=ctx.node,
            visit=ctx.visit,
            data=data,
        )


def enter_context(ctx: ToolContext) -> Token[ToolContext]:
    """Make `ctx` the current context; hand the token to `leave_context` afterwards."""
    return _current.set(ctx)


def leave_context(token: Token[ToolContext]) -> None:
    """Make the context current again that was so before `enter_context`."""
    _current.reset(token)
