"""The executor: every tool call of a flow goes through it, on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from accord._invoke import is_failure
from accord.approval import ApprovalRequest
from accord.context import report
from accord.errors import ApprovalDenied, ToolError
from accord.models import InstrumentedModel, Model
from accord.tools.call import CallSpec, ToolResult

if TYPE_CHECKING:
    from accord.approval import ApprovalPort
    from accord.context import ToolContext
    from accord.events import EventSink
    from accord.tools.registry import ToolRegistry
    from accord.tools.tool import Tool


class Executor:
    """Runs tool calls and model calls.

    Implements: "Tools".

    Attributes:
        registry: The tools.
        approval: The port that `confirm` tools ask; without one they are denied.
        sink: Where events go when the runner names no other sink.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        approval: ApprovalPort | None = None,
        sink: EventSink | None = None,
    ) -> None:
        self.registry = registry
        self.approval = approval
        self.sink = sink

    async def run_spec(self, spec: CallSpec, ctx: ToolContext) -> ToolResult:
        """Run one tool call: validate, replay or approve, execute, record.

        Args:
            spec: The call.
            ctx: Where it is made.

        Returns:
            The value, or the error as data: a `ToolError` or an `ApprovalDenied`.

        Raises:
            ApprovalPending: If the call needs an approval that is not decided yet.
        """
        try:
            tool = self.registry.get(spec.tool)
            arguments = tool.validate(spec.arguments)
        except ToolError as error:
            return ToolResult.failure(error)
        recorded = ctx.scope.replay(tool.name, arguments)
        if recorded is not None:
            return recorded
        call_id = spec.call_id or ctx.scope.next_call_id()
        with ctx.scope.calling():
            result = await self._approve_and_run(tool, arguments, call_id, ctx)
            ctx.scope.record(tool.name, arguments, result)
        return result

    async def call(self, tool: str, arguments: Mapping[str, Any], ctx: ToolContext) -> Any:
        """Run one tool call and return its value, as `ctx.call` does.

        Args:
            tool: The tool's name in the registry.
            arguments: The arguments by name.
            ctx: Where the call is made.

        Raises:
            ToolError: If the tool is unknown, its arguments do not fit, or it failed.
            ApprovalDenied: If the call needed an approval and was denied.
            ApprovalPending: If the call needs an approval that is not decided yet.
        """
        return (await self.run_spec(CallSpec(tool, arguments), ctx)).unwrap()

    async def _approve_and_run(
        self, tool: Tool, arguments: BaseModel, call_id: str, ctx: ToolContext
    ) -> ToolResult:
        approved = arguments
        try:
            needs_approval = tool.needs_approval(arguments)
        except ToolError as error:
            return ToolResult.failure(error, cause=error.__cause__)
        if needs_approval:
            request = ApprovalRequest(
                kind="tool",
                tool=tool.name,
                arguments=arguments.model_dump(exclude_unset=True),
                run_id=ctx.run_id,
                call_id=call_id,
            )
            decision = await ctx.scope.decide(request, self.approval)
            if not decision.approved:
                because = f": {decision.reason}" if decision.reason else ""
                return ToolResult.failure(
                    ApprovalDenied(
                        f"the call of {tool.name!r} was denied{because}",
                        tool=tool.name,
                        reason=decision.reason,
                    )
                )
            if decision.edited_args:
                passed = arguments.model_dump(exclude_unset=True)
                try:
                    approved = tool.validate({**passed, **decision.edited_args})
                except ToolError as error:
                    return ToolResult.failure(error)
        return await self._run(tool, approved, call_id, ctx)

    async def _run(
        self, tool: Tool, arguments: BaseModel, call_id: str, ctx: ToolContext
    ) -> ToolResult:
        report(ctx, "tool.started", {"tool": tool.name, "call_id": call_id})
        try:
            value = await tool.run(**dict(arguments))
        except BaseException as error:
            if not is_failure(error):
                raise
            failure = ToolError(
                f"tool {tool.name!r} failed: {type(error).__name__}: {error}", tool=tool.name
            )
            report(
                ctx,
                "tool.failed",
                {"tool": tool.name, "call_id": call_id, "error_kind": type(error).__name__},
            )
            return ToolResult.failure(failure, cause=error)
        report(ctx, "tool.finished", {"tool": tool.name, "call_id": call_id})
        return ToolResult(value=value)

    def model(self, model: Model) -> InstrumentedModel:
        """Return `model` so that its calls are reported; an instrumented one stays as it is."""
        return model if isinstance(model, InstrumentedModel) else InstrumentedModel(model)
