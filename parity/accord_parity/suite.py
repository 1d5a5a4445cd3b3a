"""Running scenarios on engines and judging every one of them against native."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import accord
from accord import Executor, ToolRegistry
from accord.engines import engine_names
from accord_parity.compare import PASSING, FieldDifference, Outcome, Verdict, compare, judge
from accord_parity.differences import RECORDED, Difference
from accord_parity.drive import ScriptMismatch, run_scenario
from accord_parity.observation import Observation
from accord_parity.scenario import Mode, Scenario

REFERENCE = "native"

Progress = Callable[[str], None]

_WORST_FIRST: tuple[Outcome, ...] = ("different", "stale", "recorded", "equal")


@dataclass(frozen=True, slots=True)
class ModeReport:
    """What one engine did with one scenario in one mode.

    Attributes:
        mode: How checkpoints were passed on.
        observation: What the engine did.
        verdict: What that amounts to.
        problem: What did not fit between the script and the run, if anything.
    """

    mode: Mode
    observation: Observation
    verdict: Verdict
    problem: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The verdict in a word."""
        return "different" if self.problem is not None else self.verdict.outcome


@dataclass(frozen=True, slots=True)
class EngineReport:
    """What one engine did with one scenario, mode by mode.

    Attributes:
        engine: The engine's name.
        modes: One report for each mode of the scenario.
    """

    engine: str
    modes: tuple[ModeReport, ...]

    @property
    def shown(self) -> ModeReport:
        """The mode that tells most: the first of those with the worst outcome."""
        return min(self.modes, key=lambda each: _WORST_FIRST.index(each.outcome))

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of all modes."""
        return self.shown.outcome

    @property
    def passed(self) -> bool:
        """Whether every mode is equal to the reference but for recorded differences."""
        return self.outcome in PASSING

    @property
    def recorded(self) -> tuple[FieldDifference, ...]:
        """The recorded differences that showed."""
        return tuple(difference for difference, _ in self.shown.verdict.recorded)


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """What every engine did with one scenario."""

    scenario: Scenario
    engines: tuple[EngineReport, ...]


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """What every engine did with every scenario."""

    scenarios: tuple[ScenarioReport, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every engine passed every scenario."""
        return all(engine.passed for each in self.scenarios for engine in each.engines)


def choose_engines(names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the engines of these names, the reference first; all known ones without names.

    Raises:
        ConfigError: If there is none of a name, or its framework is not installed.
    """
    wanted = set(names or engine_names())
    engines = tuple(sorted(wanted, key=lambda name: (name != REFERENCE, name)))
    for name in engines:
        accord.engine(name, Executor(ToolRegistry()))
    return engines


async def run_suite(
    scenarios: Iterable[Scenario],
    engines: Sequence[str],
    *,
    records: Iterable[Difference] = RECORDED,
    progress: Progress = lambda _: None,
) -> SuiteReport:
    """Run scenarios on engines and judge each against the reference in memory.

    The reference runs in any case; it is part of the report if it is among the engines. A mode
    must not change what a scenario means, so all modes are compared with the same observation.

    Args:
        scenarios: What to run.
        engines: Where to run it.
        records: The recorded differences.
        progress: Told, before each run, which one comes.
    """
    known = tuple(records)
    reports: list[ScenarioReport] = []
    for scenario in scenarios:
        progress(f"{scenario.name} on {REFERENCE}")
        reference, _ = await _observe(REFERENCE, scenario, "memory")
        of_engines: list[EngineReport] = []
        for engine in engines:
            modes: list[ModeReport] = []
            for mode in scenario.modes:
                progress(f"{scenario.name} on {engine} ({mode})")
                observed, problem = await _observe(engine, scenario, mode)
                differences = compare(reference, observed)
                verdict = judge(scenario.name, engine, differences, known)
                modes.append(ModeReport(mode, observed, verdict, problem))
            of_engines.append(EngineReport(engine, tuple(modes)))
        reports.append(ScenarioReport(scenario, tuple(of_engines)))
    return SuiteReport(tuple(reports))


async def _observe(engine: str, scenario: Scenario, mode: Mode) -> tuple[Observation, str | None]:
    # A script that fits native and not another engine is a finding, no reason to stop.
    try:
        return await run_scenario(engine, scenario, mode), None
    except ScriptMismatch as mismatch:
        return mismatch.observation, str(mismatch)
