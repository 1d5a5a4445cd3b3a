"""Comparing observations, and judging what differs against what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from accord_parity.differences import Difference
from accord_parity.observation import JsonValue, Observation

ABSENT = "(absent)"

Outcome = Literal["equal", "recorded", "different", "stale"]
PASSING: frozenset[Outcome] = frozenset({"equal", "recorded"})
"""The outcomes that are no fault."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One place where two observations differ.

    Attributes:
        field: The path of the place, such as `steps`, `calls.search` or `events.flow:node:1`.
        reference: What the reference holds there.
        observed: What the engine's observation holds there; `(absent)` where there is nothing.
    """

    field: str
    reference: JsonValue
    observed: JsonValue


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an engine's differences amount to.

    Attributes:
        recorded: The differences that are recorded, each with its record.
        unrecorded: Those that are not; each is a fault.
        stale: Records that nothing shows any more; each is a fault too.
    """

    recorded: tuple[tuple[FieldDifference, Difference], ...] = ()
    unrecorded: tuple[FieldDifference, ...] = ()
    stale: tuple[Difference, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The verdict in a word; a fault outweighs what is recorded."""
        if self.unrecorded:
            return "different"
        if self.stale:
            return "stale"
        return "recorded" if self.recorded else "equal"

    @property
    def passed(self) -> bool:
        """Whether nothing differs but what is recorded."""
        return self.outcome in PASSING


def compare(reference: Observation, observed: Observation) -> tuple[FieldDifference, ...]:
    """Return where two observations differ, in the order of the observation's fields.

    Mappings are compared key by key, everything else as a whole: in a sequence the order counts.

    Args:
        reference: What should have been.
        observed: What was.
    """
    return tuple(_differences("", reference.to_dict(), observed.to_dict()))


def judge(
    scenario: str,
    engine: str,
    differences: Iterable[FieldDifference],
    records: Iterable[Difference],
) -> Verdict:
    """Sort the differences of one engine in one scenario into recorded and not.

    Args:
        scenario: The scenario's name.
        engine: The engine's name.
        differences: What `compare` found.
        records: The recorded differences, of any scenario and engine.
    """
    here = [r for r in records if (r.scenario, r.engine) == (scenario, engine)]
    recorded: list[tuple[FieldDifference, Difference]] = []
    unrecorded: list[FieldDifference] = []
    for difference in differences:
        record = next((r for r in here if r.covers(difference.field)), None)
        if record is None:
            unrecorded.append(difference)
        else:
            recorded.append((difference, record))
    shown = {record.key for _, record in recorded}
    stale = tuple(record for record in here if record.key not in shown)
    return Verdict(tuple(recorded), tuple(unrecorded), stale)


def _differences(path: str, reference: JsonValue, observed: JsonValue) -> Iterator[FieldDifference]:
    if isinstance(reference, Mapping) and isinstance(observed, Mapping):
        for key in dict.fromkeys([*reference, *observed]):
            below = f"{path}.{key}" if path else key
            yield from _differences(below, reference.get(key, ABSENT), observed.get(key, ABSENT))
    # As text, in which true is not 1 and 1.0 is not 1.
    elif json.dumps(reference, sort_keys=True) != json.dumps(observed, sort_keys=True):
        yield FieldDifference(path, reference, observed)
