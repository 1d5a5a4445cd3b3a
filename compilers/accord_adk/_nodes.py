"""The children of a flow's workflow: one that makes visits, one that asks."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk import Context
from google.adk.events import Event, RequestInput
from google.adk.workflow import BaseNode

from accord.kernel import Failed, Finished, Outcome, Paused, run_visit
from accord_adk._undocumented import VisitRun


class VisitNode(BaseNode):
    """Draws one node of a flow, and makes its visits."""

    async def _run_impl(self, *, ctx: Context, node_input: VisitRun) -> AsyncGenerator[Event, None]:
        node_input.outcome = await run_visit(node_input.visit)
        yield _summary(node_input.outcome)


class QuestionNode(BaseNode):
    """Asks for an approval, under the name of the node that waits for it."""

    async def _run_impl(
        self, *, ctx: Context, node_input: RequestInput
    ) -> AsyncGenerator[RequestInput, None]:
        yield node_input


def _summary(outcome: Outcome) -> Event:
    """Return what the session keeps of a visit, for people; a resume does not read it."""
    match outcome:
        case Finished(updates):
            return Event(output={"changed": sorted({key for each in updates for key in each})})
        case Paused(requests):
            return Event(output={"pending": [request.id for request in requests]})
        case Failed(error):
            return Event(error_code=type(error).__name__, error_message=str(error))
