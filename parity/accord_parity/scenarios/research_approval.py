"""The research flow with its approval given."""

from __future__ import annotations

from accord import ApprovalDecision
from accord_parity.flows import research
from accord_parity.scenario import Scenario

RESEARCH_APPROVAL = Scenario(
    name="research_approval",
    summary="Map with tool_from, Join, a loop, and one approval at a gate",
    flow=lambda: research.flow,
    input=research.QUESTION,
    tools=research.research_tools,
    replies=(
        "Returns are free for 30 days, from 2 sources.",
        "Returns are free for 30 days, from 3 sources.",
    ),
    decisions=(ApprovalDecision(approved=True),),
)
