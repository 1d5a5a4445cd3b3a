"""One leg of a run, from a start or a resume to the next pause or the end, as events tell it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from accord.errors import FlowError

if TYPE_CHECKING:
    from accord.events import EventValue
    from accord.flow._position import Position
    from accord.flow._run import Run


@contextmanager
def leg(run: Run, position: Position, *, first: bool) -> Iterator[None]:
    """Report the start and the end of a leg, whatever its end is.

    Implements: "Events".

    Args:
        run: The run.
        position: The live position of the leg; its status is read at the end.
        first: Whether the run begins here.
    """
    if first:
        run.report("run.started")
    run.report("flow.started")
    try:
        yield
    except FlowError as error:
        error.within(run.graph.name)
        _report_end(run, position, "failed")
        raise
    except Exception:
        _report_end(run, position, "failed")
        raise
    except BaseException:  # left at once: cancelled, interrupted, or closed by an engine
        _report_end(run, position, "cancelled")
        raise
    _report_end(run, position, position.status)


def _report_end(run: Run, position: Position, status: str) -> None:
    data: dict[str, EventValue] = {"status": status, "steps": position.steps}
    run.report("flow.finished", data=data)
    if status != "paused":
        run.report("run.finished", data=data)
