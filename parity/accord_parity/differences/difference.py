"""What a recorded difference says, and the rules that a set of them keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal, get_args

from accord import ConfigError

Kind = Literal["never", "upstream", "notyet"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where one engine differs from native in one scenario.

    Attributes:
        scenario: The scenario's name.
        engine: The engine's name.
        field: The place in the observation, such as `steps` or `calls.search`; it covers all that
            lies below it.
        kind: `never` is the engine's nature, `upstream` a fault of the engine, `notyet` ours.
        reason: Why it differs; for `upstream` with the address of the report.
        user_sees: What somebody who runs the flow notices.
        engine_version: The version of the engine that showed it.
    """

    scenario: str
    engine: str
    field: str
    kind: Kind
    reason: str
    user_sees: str
    engine_version: str

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(
                    f"a recorded difference has no {each.name}: scenario {self.scenario!r}, "
                    f"engine {self.engine!r}, field {self.field!r}; every attribute is needed"
                )
        if self.kind not in get_args(Kind):
            raise ConfigError(
                f"a recorded difference of {self.scenario!r} is of kind {self.kind!r}; "
                f"choose one of {', '.join(get_args(Kind))}"
            )
        if self.engine == "native":
            raise ConfigError(
                f"a recorded difference of {self.scenario!r} names native, which is what the "
                "other engines are compared with; it cannot differ from itself"
            )

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it one entry: scenario, engine and field."""
        return self.scenario, self.engine, self.field

    def covers(self, field: str) -> bool:
        """Tell whether a difference at `field` is this one."""
        return field == self.field or field.startswith(f"{self.field}.")


def checked(records: Iterable[Difference]) -> tuple[Difference, ...]:
    """Return the records, in the order of their keys.

    Args:
        records: The recorded differences.

    Raises:
        ConfigError: If two records speak of the same place.
    """
    ordered = tuple(sorted(records, key=lambda record: record.key))
    for one, other in combinations(ordered, 2):
        if one.key[:2] == other.key[:2] and (one.covers(other.field) or other.covers(one.field)):
            raise ConfigError(
                f"{one.field!r} and {other.field!r} of {one.scenario!r} on {one.engine} are "
                "recorded twice; keep one record for a place and what lies below it"
            )
    return ordered
