"""`accord parity`: run scenarios on engines and show where they differ."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from rich.console import Console

from accord import ConfigError
from accord_parity.differences import RECORDED, Difference
from accord_parity.quiet import quiet_frameworks
from accord_parity.report import failure_details, suite_json, suite_table
from accord_parity.scenarios import choose_scenarios
from accord_parity.suite import SuiteReport, choose_engines, run_suite


def parity(
    engines: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    *,
    as_json: bool = False,
    records: Sequence[Difference] = RECORDED,
) -> int:
    """Run the suite and print its report.

    Args:
        engines: The engines to run; all by default.
        scenarios: The scenarios to run; all by default.
        as_json: Print JSON instead of a table.
        records: The recorded differences.

    Returns:
        The exit code: 0 if every engine passed every scenario, else 1.

    Raises:
        ConfigError: If a scenario or an engine is unknown, or an engine is not installed.
    """
    chosen = tuple(choose_scenarios(scenarios))
    output, progress = Console(highlight=False), Console(stderr=True)
    with quiet_frameworks(), progress.status("loading the engines") as status:
        names = _choose(engines)
        total = sum(1 + len(names) * len(each.modes) for each in chosen)
        started = 0

        def show(what: str) -> None:
            nonlocal started
            started += 1
            status.update(f"{started}/{total} {what}")

        report = asyncio.run(run_suite(chosen, names, records=records, progress=show))
    if as_json:
        # Not through rich, which would wrap it.
        output.file.write(f"{json.dumps(suite_json(report), indent=2)}\n")
    else:
        _print(report, output)
    return 0 if report.passed else 1


def _choose(engines: Sequence[str] | None) -> tuple[str, ...]:
    try:
        return choose_engines(engines)
    except ConfigError as error:
        if engines:
            raise
        raise ConfigError(f"{error}, or name the engines that you have with --engine") from error


def _print(report: SuiteReport, output: Console) -> None:
    output.print(suite_table(report))
    if report.passed:
        recorded = sum(len(e.recorded) for each in report.scenarios for e in each.engines)
        output.print(f"All agree with native; recorded differences that showed: {recorded}.")
    else:
        output.print(failure_details(report))
