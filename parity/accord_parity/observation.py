"""What one engine did with one scenario, as plain data that can be compared and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_core import to_jsonable_python

from accord import Event

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """What a paused leg waited for.

    Attributes:
        tool: The tool's name, or `node:<flow>.<node>` for a gate.
        arguments: What was asked to be approved.
    """

    tool: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a run.

    Attributes:
        type: The name of its class.
        message: Its message.
        node: The node that failed, where the error names one.
        field: The state field concerned, where the error names one.
    """

    type: str
    message: str
    node: str | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What one engine did with one scenario.

    It holds nothing that differs from run to run: no ids, no times, no interleaving of nodes.

    Attributes:
        statuses: How each leg ended: `done`, `paused`, `denied`, `failed`, or `hung` when the leg
            was given up after its time limit.
        pending: What each paused leg waited for.
        state: The state of the last result; None when no leg returned one.
        visits: How often each node finished, as the last result tells it.
        steps: How many supersteps finished, as the last result tells it.
        calls: The arguments of every execution of each tool, in the order of execution.
        events: The names of the events in order: of the run under `<flow>`, of each visit under
            `<flow>:<node>:<visit>`.
        error: What ended a failed run.
    """

    statuses: tuple[str, ...]
    pending: tuple[PendingApproval, ...]
    state: Mapping[str, JsonValue] | None
    visits: Mapping[str, int]
    steps: int
    calls: Mapping[str, Sequence[Mapping[str, JsonValue]]]
    events: Mapping[str, tuple[str, ...]]
    error: Failure | None = None

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the observation as JSON values, its keys sorted where they have no order."""
        return {
            "statuses": list(self.statuses),
            "pending": [{"tool": each.tool, "arguments": each.arguments} for each in self.pending],
            "state": self.state,
            "visits": dict(sorted(self.visits.items())),
            "steps": self.steps,
            "calls": {tool: list(calls) for tool, calls in sorted(self.calls.items())},
            "events": {where: list(names) for where, names in sorted(self.events.items())},
            "error": None
            if self.error is None
            else {
                "type": self.error.type,
                "message": self.error.message,
                "node": self.error.node,
                "field": self.error.field,
            },
        }


def event_names(events: Iterable[Event]) -> dict[str, tuple[str, ...]]:
    """Return the names of events, each visit and each flow for itself.

    Concurrent visits, and concurrent calls of one visit, interleave as the moment will have it.
    So each visit is kept for itself, and in it the events of calls stand in the calls' order.

    Args:
        events: The events of one run, oldest first.
    """
    by_place: dict[str, list[Event]] = {}
    for event in events:
        visit = f"{event.flow}:{event.node}:{event.visit}"
        by_place.setdefault(event.flow if event.node is None else visit, []).append(event)
    return {place: tuple(_names_in_order(those)) for place, those in by_place.items()}


def _names_in_order(events: Iterable[Event]) -> Iterator[str]:
    calls: list[tuple[int, str]] = []
    for event in events:
        if event.name.startswith(("tool.", "model.")):
            # An event that names no call belongs to the one before it.
            calls.append((_call_number(event, calls[-1][0] if calls else 0), event.name))
        else:
            yield from _names_by_call(calls)
            calls.clear()
            yield event.name
    yield from _names_by_call(calls)


def _names_by_call(calls: Iterable[tuple[int, str]]) -> Iterator[str]:
    return (name for _, name in sorted(calls, key=lambda call: call[0]))


def _call_number(event: Event, default: int) -> int:
    number = str(event.data.get("call_id", "")).rpartition(":")[2]
    return int(number) if number.isdecimal() else default


def as_json(value: object) -> JsonValue:
    """Return `value` as JSON values; models as their fields, what JSON lacks as its `repr`."""
    plain: JsonValue = to_jsonable_python(value, fallback=repr)
    return plain
