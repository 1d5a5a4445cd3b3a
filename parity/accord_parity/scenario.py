"""A scenario: everything that one run needs, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from accord import AdapterError, ApprovalDecision, Flow, FlowGraph, ToolRegistry

Mode = Literal["memory", "dump"]
ALL_MODES: tuple[Mode, ...] = get_args(Mode)


class ScenarioError(AdapterError):
    """A scenario's script does not fit the run: a decision or a reply is missing or left over."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One flow with its input, its tools and everything that is said to it.

    Attributes:
        name: A lower-case name, as the command line and the recorded differences use it.
        summary: What it shows, in one line.
        flow: Makes the flow; called once for each run.
        input: The state to begin with.
        tools: Makes the tools; called once for each run. Their executions are counted.
        replies: What the model answers, in order.
        decisions: The answers to the approvals, in order.
        modes: How a checkpoint gets from one leg to the next: `memory` passes it on as it is,
            `dump` by way of `dump_checkpoint` and `load_checkpoint`.
    """

    name: str
    summary: str
    flow: Callable[[], Flow[Any] | FlowGraph[Any]]
    input: Mapping[str, object]
    tools: Callable[[], ToolRegistry] = ToolRegistry
    replies: tuple[str, ...] = ()
    decisions: tuple[ApprovalDecision, ...] = ()
    modes: tuple[Mode, ...] = field(default=ALL_MODES)

    def __post_init__(self) -> None:
        if not self.modes:
            raise ScenarioError(f"scenario {self.name!r} has no mode; leave modes out for all")
