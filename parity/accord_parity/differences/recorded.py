"""The recorded differences. An entry that nothing shows any more has to go."""

from __future__ import annotations

from accord_parity.differences.difference import Difference, checked

_RERUN = (
    "LangGraph runs a resumed node again from its first line, its calls included; that is what "
    "its users know and build on."
)

RECORDED: tuple[Difference, ...] = checked(
    [
        Difference(
            scenario="replay_two_confirms",
            engine="langgraph",
            field="calls.A",
            kind="never",
            reason=_RERUN,
            user_sees="Tool A, called before both approvals, runs 3 times; elsewhere once.",
            engine_version="1.2",
        ),
        Difference(
            scenario="replay_two_confirms",
            engine="langgraph",
            field="calls.B",
            kind="never",
            reason=_RERUN,
            user_sees="Tool B, approved first, runs 2 times on one approval; elsewhere once.",
            engine_version="1.2",
        ),
        Difference(
            scenario="replay_two_confirms",
            engine="langgraph",
            field="events.replay:work:1",
            kind="never",
            reason=_RERUN,
            user_sees="Each repeated call reports tool.started and tool.finished again.",
            engine_version="1.2",
        ),
    ]
)
