"""Language models as a flow sees them: a request in, a reply out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from accord._invoke import off_the_loop
from accord.context import report
from accord.errors import ConfigError

if TYPE_CHECKING:
    from accord.context import ToolContext
    from accord.events import EventValue


class Message(BaseModel):
    """One message of a conversation.

    Attributes:
        role: Who speaks.
        content: The text.
    """

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class LLMRequest(BaseModel):
    """What a node asks a model.

    Attributes:
        messages: The conversation so far.
        stage: A label for the call, for events and costs.
    """

    model_config = ConfigDict(frozen=True)

    messages: tuple[Message, ...]
    stage: str = ""


class LLMReply(BaseModel):
    """What a model answers.

    Attributes:
        text: The answer.
    """

    model_config = ConfigDict(frozen=True)

    text: str


class Model(Protocol):
    """Anything that answers requests."""

    async def generate(self, request: LLMRequest) -> LLMReply:
        """Answer `request`."""
        ...


class CallableModel:
    """A model made from a function.

    Args:
        fn: Takes the request and returns the reply or its text; sync (in a worker thread) or
            async.
    """

    def __init__(
        self, fn: Callable[[LLMRequest], LLMReply | str | Awaitable[LLMReply | str]]
    ) -> None:
        self._run = off_the_loop(fn)

    async def generate(self, request: LLMRequest) -> LLMReply:
        """Answer `request` with what the function returns.

        Raises:
            ConfigError: If the function returns neither a reply nor a text.
        """
        reply = await self._run(request)
        if isinstance(reply, str):
            return LLMReply(text=reply)
        if isinstance(reply, LLMReply):
            return reply
        raise ConfigError(
            f"CallableModel's function returned {type(reply).__name__}; "
            "return an LLMReply or its text"
        )


class InstrumentedModel:
    """A model whose calls are reported as events; made by `Executor.model`.

    Args:
        model: The model that answers.
        ctx: The node that the calls belong to, once bound.
    """

    def __init__(self, model: Model, ctx: ToolContext | None = None) -> None:
        self._model = model
        self._ctx = ctx

    def bind(self, ctx: ToolContext) -> InstrumentedModel:
        """Return the same model for the node of `ctx`."""
        return InstrumentedModel(self._model, ctx)

    async def generate(self, request: LLMRequest) -> LLMReply:
        """Answer `request` and report the call."""
        self._report("model.started", {"stage": request.stage})
        try:
            reply = await self._model.generate(request)
        except Exception as error:
            self._report("model.failed", {"error_kind": type(error).__name__})
            raise
        self._report("model.finished", {"stage": request.stage})
        return reply

    def _report(self, name: str, data: dict[str, EventValue]) -> None:
        if self._ctx is not None:
            report(self._ctx, name, data)
