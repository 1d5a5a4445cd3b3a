"""One node with three calls, two of which need an approval: how often does each call run?"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from accord import ApprovalDecision, Flow, Merge, ToolContext, ToolRegistry
from accord_parity.scenario import Scenario


class ReplayState(BaseModel):
    """What the calls returned."""

    order: int
    results: Annotated[list[str], Merge.append] = Field(default_factory=list)


async def work(state: ReplayState, ctx: ToolContext) -> dict[str, list[str]]:
    """Make one call that is safe and two that have to be approved."""
    first = await ctx.call("A", order=state.order)
    second = await ctx.call("B", order=state.order)
    third = await ctx.call("C", order=state.order)
    return {"results": [first, second, third]}


def replay_two_confirms() -> Flow[ReplayState]:
    """Return the flow with its one node."""
    return Flow("replay", state=ReplayState).node("work", work).end("work")


def three_tools() -> ToolRegistry:
    """Return A, which is safe, and B and C, which need an approval."""
    registry = ToolRegistry()

    @registry.tool(name="A")
    def look_up(order: int) -> str:
        """Look the order up."""
        return f"A {order}"

    @registry.tool(name="B", confirm=True)
    def charge(order: int) -> str:
        """Charge the order."""
        return f"B {order}"

    @registry.tool(name="C", confirm=True)
    async def ship(order: int) -> str:
        """Ship the order."""
        return f"C {order}"

    return registry


REPLAY_TWO_CONFIRMS = Scenario(
    name="replay_two_confirms",
    summary="a safe call and two confirmed ones in one node, answered one by one",
    flow=replay_two_confirms,
    input={"order": 7},
    tools=three_tools,
    decisions=(ApprovalDecision(approved=True), ApprovalDecision(approved=True)),
)
