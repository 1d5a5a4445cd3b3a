"""Keeping the position of a run in session state, as events of its workflow."""

from __future__ import annotations

import json
import logging

from google.adk.events import Event, EventActions
from google.genai import types
from pydantic_core import to_jsonable_python

from accord import FlowCheckpoint, FlowError
from accord.kernel import (
    Position,
    Run,
    SealKeys,
    dump_checkpoint,
    seal_checkpoint,
    seal_pause,
    without_answers,
)
from accord_adk._answers import interrupt_id
from accord_adk._kept import Place, Tombstone

_log = logging.getLogger("accord_adk")


class Keeper:
    """Makes the events that keep one run, for one entry of its invocation.

    A position that is kept while the run goes on holds no answers: they are used up, so a run
    that is recovered from it asks anew.

    Args:
        run: The run.
        keys: Seal the positions.
        place: Where they are kept.
        epoch: Tells this entry from others.
    """

    def __init__(self, run: Run, keys: SealKeys, place: Place, epoch: str) -> None:
        self._run = run
        self._keys = keys
        self._place = place
        self._epoch = epoch
        self._warned = False

    def going_on(self, position: Position) -> Event | None:
        """Return the event from which a crashed run is recovered.

        A flow may hold values that cannot be sealed as long as it does not pause, so there may
        be no such event; a warning says so once.
        """
        hint = self._place.hint()
        try:
            checkpoint = seal_checkpoint(self._run, without_answers(position), self._keys, hint)
        except FlowError as error:
            if error.code != "state-not-sealable":
                raise
            if not self._warned:
                self._warned = True
                _log.warning(
                    "run %s cannot be recovered after a crash: %s", self._run.run_id, error
                )
            return None
        return Event(actions=self._keep(dump_checkpoint(checkpoint, self._keys)))

    async def pause(self, position: Position) -> FlowCheckpoint:
        """Seal a pause, with the id of the question that it asks.

        Raises:
            FlowError: If a part cannot be sealed; what it had asked is closed then.
        """
        _, request = position.pending[0]
        hint = self._place.hint(interrupt_id(request, self._epoch))
        return await seal_pause(self._run, position, self._keys, hint)

    def paused(self, checkpoint: FlowCheckpoint) -> Event:
        """Return the event that keeps a pause."""
        return Event(actions=self._keep(dump_checkpoint(checkpoint, self._keys)))

    def ended(self, position: Position) -> Event:
        """Return the last event of a run: what came of it, as output and as text."""
        state = to_jsonable_python(position.state, fallback=repr)
        output = {"status": position.status, "steps": position.steps, "state": state}
        if position.denied_at is not None:
            output["denied_at"] = position.denied_at
        return Event(
            output=output,
            content=types.Content(role="model", parts=[types.Part(text=json.dumps(output))]),
            actions=self._keep(Tombstone.of(self._run, position).to_data()),
        )

    def _keep(self, value: object) -> EventActions:
        return EventActions(state_delta={self._place.key(self._run.graph.name): value})
