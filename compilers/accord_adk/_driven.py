"""A leg that `CompiledFlow` drives: live objects on their way into the workflow and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from accord import FlowCheckpoint
from accord.kernel import Position, Run


@dataclass(slots=True)
class DrivenLeg:
    """One leg of a run, from a start or a resume to the next pause or the end.

    Attributes:
        run: The run.
        position: Where the leg begins; live, so that it tells at the end where the leg ended.
        first: Whether the run begins here.
        session_id: The session that the leg runs in.
        entered: Whether the workflow has taken the leg over.
        kept: Whether the session knows that it has; from then on nodes may have run.
        checkpoint: The sealed pause, if the leg ended in one.
        error: What the workflow raised.
    """

    run: Run
    position: Position
    first: bool
    session_id: str
    entered: bool = False
    kept: bool = False
    checkpoint: FlowCheckpoint | None = None
    error: Exception | None = None


_driven: ContextVar[DrivenLeg | None] = ContextVar("accord_adk_driven_leg", default=None)


@contextmanager
def driving(leg: DrivenLeg) -> Iterator[None]:
    """Offer `leg` to the workflow that a `Runner` enters in this context."""
    token = _driven.set(leg)
    try:
        yield
    finally:
        _driven.reset(token)


def take_driven(flow: str, session_id: str) -> DrivenLeg | None:
    """Take over the leg that waits for this flow in this session, once; None in raw use.

    A node may itself use a raw `Runner`: what that enters has another session.
    """
    leg = _driven.get()
    if leg is None or leg.entered or leg.session_id != session_id or leg.run.graph.name != flow:
        return None
    leg.entered = True
    return leg
