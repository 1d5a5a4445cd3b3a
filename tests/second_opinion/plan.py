"""A flow as plain data, from which the product's flow and the second opinion are both made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

JOB_FAILS = -1
"""The `n` of a job whose tool call fails."""


@dataclass(frozen=True)
class PlannedRoute:
    """A route that picks by the total that it sees.

    Attributes:
        labels: The node of each label.
        picks: The labels to return; the one at `total % len(picks)` counts.
        max_loops: As `Flow.route` has it.
        on_exhausted: As `Flow.route` has it.
    """

    labels: Mapping[str, str]
    picks: tuple[tuple[str, ...], ...]
    max_loops: int | None = None
    on_exhausted: str | None = None


@dataclass(frozen=True)
class PlannedNode:
    """A node.

    Attributes:
        name: Its name.
        kind: A function, a Call that hits the total, a Map of jobs into hits by a
            tool or (each) into the log by a function, or a join with a function.
        writes: What its function returns, beside a line in the log.
        does: Whether its function returns, raises, or returns what is no update.
        is_async: Whether its function is a coroutine function.
        is_gate: Whether it asks before it runs.
        skips: Whether its Map skips failed jobs.
        targets: Its static successors.
        route: Its route, where it has no static successors.
    """

    name: str
    kind: Literal["function", "call", "map", "each", "join"] = "function"
    writes: Mapping[str, Any] | None = None
    does: Literal["returns", "raises", "misbehaves"] = "returns"
    is_async: bool = True
    is_gate: bool = False
    skips: bool = False
    targets: tuple[str, ...] = ()
    route: PlannedRoute | None = None


@dataclass(frozen=True)
class PlannedDecision:
    """The answer to one question.

    Attributes:
        approved: Whether the run may go on.
        edits: What the approver changes in the state.
    """

    approved: bool = True
    edits: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Plan:
    """A flow, its input and the answers to its questions.

    Attributes:
        nodes: The nodes; the first is the start.
        jobs: The numbers of the input's jobs.
        decisions: The answers, used in turn and over again.
        max_steps: How many supersteps may finish.
    """

    nodes: tuple[PlannedNode, ...]
    jobs: tuple[int, ...] = ()
    decisions: tuple[PlannedDecision, ...] = (PlannedDecision(),)
    max_steps: int = 30

    def sources(self, node: str) -> tuple[str, ...]:
        """Return the predecessors of a node."""
        return tuple(
            other.name
            for other in self.nodes
            if node in other.targets
            or (
                other.route is not None
                and node in (*other.route.labels.values(), other.route.on_exhausted)
            )
        )


@dataclass(frozen=True)
class Ending:
    """How a run ended, as far as engines have to agree on it.

    Attributes:
        status: `done`, `denied`, or the class of the error.
        state: The final state; None after an error.
        steps: The finished supersteps; None after an error.
        visits: The finished visits; None after an error.
        denied_at: The gate that was denied.
        asked: What was asked, in order: the tool and the total that the gate showed.
        node: The node of the error.
    """

    status: str
    state: Mapping[str, Any] | None = None
    steps: int | None = None
    visits: Mapping[str, int] | None = None
    denied_at: str | None = None
    asked: tuple[tuple[str, int], ...] = ()
    node: str | None = None
