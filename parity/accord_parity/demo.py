"""`accord demo`: the research flow on every engine, side by side, with one approval."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accord import ApprovalDecision, ApprovalRequest, ConfigError
from accord_parity.compare import FieldDifference, compare
from accord_parity.drive import ScenarioRun
from accord_parity.observation import Observation
from accord_parity.quiet import quiet_frameworks
from accord_parity.scenarios.research_approval import RESEARCH_APPROVAL
from accord_parity.suite import REFERENCE, choose_engines

_NO_TERMINAL = (
    "the demo asks for an approval and there is no terminal to ask at; pass --yes or --no"
)
_NO_ANSWER = "the approval was not answered; type y or n, or pass --yes or --no"


def demo(approve: bool | None = None, engines: Sequence[str] | None = None) -> int:
    """Run the demo and print its table.

    Args:
        approve: The answer to the approval; None asks at the terminal.
        engines: The engines to run beside native; all by default.

    Returns:
        The exit code: 0 if all engines agree, else 1.

    Raises:
        ConfigError: If an engine is not installed, or there is nobody to ask.
    """
    if approve is None and not sys.stdin.isatty():
        raise ConfigError(_NO_TERMINAL)
    with quiet_frameworks():
        observations = asyncio.run(_run(approve, engines))
    output = Console(highlight=False)
    output.print(_table(observations))
    differing = {
        engine: differences
        for engine, observed in observations.items()
        if (differences := compare(observations[REFERENCE], observed))
    }
    for engine, differences in differing.items():
        output.print(_details(engine, differences))
    failed = any(each.error is not None for each in observations.values())
    if not differing and not failed:
        output.print(f"{len(observations)} engines, one flow, the same end.")
    return 1 if differing or failed else 0


async def _run(approve: bool | None, engines: Sequence[str] | None) -> dict[str, Observation]:
    terminal = Console(stderr=True, highlight=False)
    with terminal.status("loading the engines"):
        names = choose_engines(None if engines is None else [REFERENCE, *engines])
        runs = {name: ScenarioRun(name, RESEARCH_APPROVAL) for name in names}
    with terminal.status(f"running the flow on {', '.join(names)}"):
        await asyncio.gather(*(run.start() for run in runs.values()))
    paused = [run for run in runs.values() if run.pending is not None]
    if paused and paused[0].pending is not None:
        decision = ApprovalDecision(approved=_ask(terminal, paused[0].pending, approve))
        with terminal.status("going on with the answer"):
            await asyncio.gather(*(run.answer(decision) for run in paused))
    return {name: run.observation() for name, run in runs.items()}


def _ask(terminal: Console, pending: ApprovalRequest, approve: bool | None) -> bool:
    terminal.print(Text.assemble(("Approval needed: ", "bold"), pending.tool))
    terminal.print(json.dumps(pending.arguments, indent=2, ensure_ascii=False), markup=False)
    if approve is not None:
        terminal.print(f"Answered by {'--yes' if approve else '--no'}.")
        return approve
    try:
        while True:
            answer = terminal.input("Approve? (y/n) ", markup=False).strip().lower()
            if answer in ("y", "yes", "n", "no"):
                return answer.startswith("y")
    except EOFError:
        raise ConfigError(_NO_ANSWER) from None


def _table(observations: Mapping[str, Observation]) -> Table:
    # Tight enough that all of it is readable at 80 columns.
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name in ("engine", "status", "steps", "visits", "tool calls", "sources"):
        table.add_column(name, no_wrap=True)
    table.add_column("answer", overflow="fold")
    table.add_column("equal", no_wrap=True)
    for engine, each in observations.items():
        state = each.state or {}
        evidence = state.get("evidence")
        answer = state.get("answer") if each.error is None else each.error.message
        equal = not compare(observations[REFERENCE], each)
        table.add_row(
            engine,
            each.statuses[-1],
            str(each.steps),
            _counts(each.visits),
            _counts({tool: len(calls) for tool, calls in each.calls.items()}),
            str(len(evidence)) if isinstance(evidence, Sequence) else "",
            Text(str(answer or "")),
            Text("yes", style="green") if equal else Text("NO", style="bold red"),
        )
    return table


def _counts(counts: Mapping[str, int]) -> str:
    return "\n".join(f"{name} {count}" for name, count in counts.items())


def _details(engine: str, differences: Sequence[FieldDifference]) -> Text:
    lines = [
        f"{engine}: {each.field} is {json.dumps(each.observed)}, "
        f"on {REFERENCE} {json.dumps(each.reference)}"
        for each in differences
    ]
    return Text("\n".join(lines))
