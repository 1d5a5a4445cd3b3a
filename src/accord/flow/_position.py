"""Where a run stands: the one thing that every engine keeps and every resume starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from accord.approval import ApprovalDecision, ApprovalRequest
from accord.flow._journal import Answer, Journal
from accord.flow._snapshot import snapshot

if TYPE_CHECKING:
    from pydantic import BaseModel

Status = Literal["running", "paused", "denied", "done"]

# What one visit wrote: one mapping for a function, one for each item of a Map.
Updates = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """Where a finished visit leads.

    Attributes:
        targets: The nodes that follow.
        looped: Whether the route went back, which counts one loop.
    """

    targets: tuple[str, ...]
    looped: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What one superstep changes; made by `advance`, applied by `Position.apply`.

    Attributes:
        state: The merged state.
        exits: Where each node that ran leads, in update order.
    """

    state: BaseModel
    exits: Mapping[str, Exit]


@dataclass(slots=True)
class OpenSuperstep:
    """A superstep that began and paused.

    Attributes:
        gates: The approvals of its gates so far, by node.
        entered: Whether every gate approved and the edits are in the state.
        updates: What the finished visits wrote, by node.
        journals: What the paused visits had done, by node.
        answers: Answers to tool requests, kept until the visit finishes, by node.
    """

    gates: dict[str, ApprovalDecision] = field(default_factory=dict)
    entered: bool = False
    updates: dict[str, Updates] = field(default_factory=dict)
    journals: dict[str, Journal] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=dict)

    def detached(self) -> OpenSuperstep:
        """Return a copy that shares no value with what nodes, tools and callers hold."""
        return OpenSuperstep(
            gates=snapshot(self.gates),
            entered=self.entered,
            updates={
                node: tuple(snapshot(dict(update)) for update in updates)
                for node, updates in self.updates.items()
            },
            journals={node: journal.detached() for node, journal in self.journals.items()},
            answers={
                node: [Answer(snapshot(each.request), snapshot(each.decision)) for each in answers]
                for node, answers in self.answers.items()
            },
        )

    def copy(self) -> OpenSuperstep:
        """Return a copy that can go its own way; journals are copied too."""
        return OpenSuperstep(
            gates=dict(self.gates),
            entered=self.entered,
            updates=dict(self.updates),
            journals={node: journal.copy() for node, journal in self.journals.items()},
            answers={node: list(answers) for node, answers in self.answers.items()},
        )


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run has come, apart from its state.

    Implements: "Position".

    Attributes:
        frontier: The nodes that wait to run.
        visits: How often each node finished.
        loops: How often each route went back.
        steps: How many supersteps finished.
        status: Whether the run goes on, waits, was denied or is done.
        denied_at: The gate that was denied, if one was.
    """

    frontier: frozenset[str]
    visits: dict[str, int] = field(default_factory=dict)
    loops: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    status: Status = "running"
    denied_at: str | None = None

    def finish(self, exits: Mapping[str, Exit]) -> None:
        """Count a finished superstep and lead on from it.

        Args:
            exits: Where each node that ran leads.
        """
        frontier = self.frontier.difference(exits)
        for node, leads in exits.items():
            frontier = frontier.union(leads.targets)
            self.visits[node] = self.visits.get(node, 0) + 1
            if leads.looped:
                self.loops[node] = self.loops.get(node, 0) + 1
        self.frontier = frontier
        self.steps += 1
        self.status = "running" if frontier else "done"

    def deny(self, node: str) -> None:
        """End the run at the gate of `node`."""
        self.status = "denied"
        self.denied_at = node


@dataclass(slots=True, kw_only=True)
class Position(Progress):
    """Where a run stands between two durable points.

    Implements: "Position".

    A position is live: its loop changes it in place. Keep a `copy`.

    Attributes:
        state: The state that the next superstep reads.
        pending: The open approvals of a paused run, each with its node; a resume settles the
            first one.
        opened: The superstep that paused, if one did.
    """

    state: BaseModel
    pending: tuple[tuple[str, ApprovalRequest], ...] = ()
    opened: OpenSuperstep | None = None

    def apply(self, step: Step) -> None:
        """Take over what a finished superstep changes."""
        self.finish(step.exits)
        self.state = step.state
        self.opened = None
        self.pending = ()

    def pause(self, pending: Iterable[tuple[str, ApprovalRequest]]) -> None:
        """Wait for approvals, each with its node: of a gate, or of tool calls.

        Tool calls ask inside the superstep, so it has been entered then.
        """
        self.pending = tuple(pending)
        self.opened = self.opened or OpenSuperstep()
        self.opened.entered = self.pending[0][1].kind == "tool"
        self.status = "paused"

    def detached(self) -> Position:
        """Return a copy that shares no value with what nodes, tools and callers hold."""
        return replace(
            self.copy(),
            state=snapshot(self.state),
            pending=snapshot(self.pending),
            opened=None if self.opened is None else self.opened.detached(),
        )

    def copy(self) -> Position:
        """Return a copy that can go its own way; the state itself is shared, nobody writes it."""
        return replace(
            self,
            visits=dict(self.visits),
            loops=dict(self.loops),
            opened=None if self.opened is None else self.opened.copy(),
        )
