"""The written scenarios, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accord import ConfigError
from accord_parity.scenario import Scenario
from accord_parity.scenarios.reducers_fanout import REDUCERS_FANOUT
from accord_parity.scenarios.replay_two_confirms import REPLAY_TWO_CONFIRMS
from accord_parity.scenarios.research_approval import RESEARCH_APPROVAL

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (RESEARCH_APPROVAL, REDUCERS_FANOUT, REPLAY_TWO_CONFIRMS)
}


def choose_scenarios(names: Sequence[str] | None = None) -> Iterable[Scenario]:
    """Return the scenarios of these names, in the suite's order; all without names.

    Raises:
        ConfigError: If there is none of a name.
    """
    unknown = sorted(set(names or ()) - set(SCENARIOS))
    if unknown:
        raise ConfigError(
            f"there is no scenario {unknown[0]!r}; choose from: {', '.join(SCENARIOS)}"
        )
    return [each for name, each in SCENARIOS.items() if not names or name in names]


__all__ = ["SCENARIOS", "choose_scenarios"]
