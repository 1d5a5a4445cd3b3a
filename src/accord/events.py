"""Events: one flat record for everything that a run reports, and where records go."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

_log = logging.getLogger("accord.events")

EventValue = str | int | float | bool | None | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run.

    Attributes:
        name: What happened, such as `node.finished` or `tool.started`.
        run_id: The run.
        flow: The flow's name.
        node: The node, where the event is about one.
        visit: The number of the node's visit, counted from 1; 0 where there is no node.
        at: Seconds since the epoch.
        data: What else is known, by name.
    """

    name: str
    run_id: str
    flow: str
    node: str | None
    visit: int
    at: float
    data: Mapping[str, EventValue] = field(default_factory=dict)


class EventSink(Protocol):
    """Takes the events of runs, in the order in which they happen."""

    def emit(self, event: Event) -> None:
        """Take one event. What it raises is logged and never breaks a run."""
        ...


class MemorySink:
    """Keeps the events in a list, for tests and for looking at a run afterwards.

    Attributes:
        events: What was emitted, oldest first.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Append the event."""
        self.events.append(event)


def emit(
    sink: EventSink,
    name: str,
    *,
    run_id: str,
    flow: str,
    node: str | None = None,
    visit: int = 0,
    data: Mapping[str, EventValue] | None = None,
) -> None:
    """Hand one event to `sink`; a sink that raises is logged and the run goes on.

    Args:
        sink: Where the event goes.
        name: What happened.
        run_id: The run.
        flow: The flow's name.
        node: The node, if the event is about one.
        visit: The number of the node's visit, counted from 1.
        data: What else is known.
    """
    try:
        sink.emit(Event(name, run_id, flow, node, visit, time.time(), data or {}))
    except Exception:  # noqa: BLE001 - a sink may raise anything
        _log.exception("the event sink %r failed on %s; the run goes on", sink, name)
