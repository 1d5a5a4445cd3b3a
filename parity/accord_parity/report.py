"""What a suite found, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from accord_parity.compare import PASSING, FieldDifference
from accord_parity.observation import JsonValue
from accord_parity.suite import REFERENCE, EngineReport, ModeReport, ScenarioReport, SuiteReport

_STYLES = {"equal": "green", "recorded": "yellow", "different": "bold red", "stale": "bold red"}
_LONGEST_VALUE = 400


def suite_table(report: SuiteReport) -> RenderableType:
    """Return the findings as one table, a row for each scenario and a column for each engine."""
    table = Table()
    table.add_column("scenario", no_wrap=True)
    for engine in report.scenarios[0].engines if report.scenarios else ():
        table.add_column(engine.engine)
    for each in report.scenarios:
        table.add_row(each.scenario.name, *(_cell(engine) for engine in each.engines))
    return table


def failure_details(report: SuiteReport) -> RenderableType:
    """Return what failed, each with its place and both values; nothing if all passed."""
    return Group(
        *(
            Text.from_markup(line)
            for each in report.scenarios
            for engine in each.engines
            if not engine.passed
            for line in _failed(each, engine)
        )
    )


def suite_json(report: SuiteReport) -> dict[str, JsonValue]:
    """Return the findings as JSON values.

    `equal` says that nothing at all differs; `recorded` lists the fields of the recorded
    differences that showed. `differences` holds every difference of every mode, each with
    `status`: `recorded`, `unrecorded`, `stale`, or `script` where the run and the scenario's
    script do not fit; all but `recorded` are failures.
    """
    return {
        "scenarios": [
            {
                "name": each.scenario.name,
                "engines": {
                    engine.engine: {
                        "equal": engine.outcome == "equal",
                        "recorded": [difference.field for difference in engine.recorded],
                        "observation": engine.shown.observation.to_dict(),
                    }
                    for engine in each.engines
                },
            }
            for each in report.scenarios
        ],
        "differences": [
            {"scenario": each.scenario.name, "engine": engine.engine, "mode": mode.mode, **found}
            for each in report.scenarios
            for engine in each.engines
            for mode in engine.modes
            for found in _found(mode)
        ],
    }


def _found(mode: ModeReport) -> Iterator[dict[str, JsonValue]]:
    if mode.problem is not None:
        yield {"status": "script", "problem": mode.problem}
    for difference in mode.verdict.unrecorded:
        yield {"status": "unrecorded", **_both(difference)}
    for difference, record in mode.verdict.recorded:
        yield {
            "status": "recorded",
            **_both(difference),
            "kind": record.kind,
            "reason": record.reason,
            "user_sees": record.user_sees,
        }
    for record in mode.verdict.stale:
        yield {"status": "stale", "field": record.field, "reason": record.reason}


def _both(difference: FieldDifference) -> dict[str, JsonValue]:
    return {
        "field": difference.field,
        "reference": difference.reference,
        "observed": difference.observed,
    }


def _cell(engine: EngineReport) -> Text:
    words = {
        "equal": "equal",
        "recorded": f"recorded ({len(engine.recorded)})",
        "different": "DIFFERENT",
        "stale": "STALE",
    }
    return Text(words[engine.outcome], style=_STYLES[engine.outcome])


def _failed(each: ScenarioReport, engine: EngineReport) -> Iterator[str]:
    for mode in engine.modes:
        if mode.outcome in PASSING:
            continue
        yield f"\n[bold]{each.scenario.name} on {escape(engine.engine)}[/bold] ({mode.mode})"
        if mode.problem is not None:
            yield f"  {escape(mode.problem)}"
        for difference in mode.verdict.unrecorded:
            yield f"  [red]{escape(difference.field)}[/red] differs and is not recorded"
            yield f"    {REFERENCE}: {_short(difference.reference)}"
            yield f"    {escape(engine.engine)}: {_short(difference.observed)}"
        for record in mode.verdict.stale:
            yield (
                f"  [red]{escape(record.field)}[/red] is recorded as a difference and is equal "
                "now; take the record out"
            )


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return escape(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ...")
