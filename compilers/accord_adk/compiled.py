"""A flow that runs on ADK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, TypeVar

from google.adk.errors import StaleSessionError
from google.adk.runners import Runner
from google.genai import types
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from accord import (
    AdapterError,
    ApprovalAlreadyDecided,
    ApprovalDecision,
    FlowCheckpoint,
    FlowError,
    FlowGraph,
    FlowResult,
)
from accord.kernel import (
    RunOptions,
    check_answer,
    check_unspent,
    dump_checkpoint,
    load_checkpoint,
    result_of,
    seal_checkpoint,
    start_position,
    take_answer,
    verify_checkpoint,
)
from accord_adk._answers import taken_answer
from accord_adk._driven import DrivenLeg, driving
from accord_adk._kept import Place, read_kept

if TYPE_CHECKING:
    from google.adk.apps import App
    from google.adk.sessions import BaseSessionService

    from accord.kernel import Run
    from accord_adk.workflow import FlowWorkflow

StateT = TypeVar("StateT", bound=BaseModel)

_ATTEMPTS = 5


class CompiledFlow(Generic[StateT]):
    """A flow as an ADK `Workflow`, and its runs with Accord's results and checkpoints.

    Implements: "Running".

    Attributes:
        flow: The flow's graph.
        workflow: The root node, to be used as any other.
        app: The app around it, for `adk web`, `adk run` and any `Runner`.
    """

    def __init__(
        self,
        flow: FlowGraph[StateT],
        workflow: FlowWorkflow,
        app: App,
        options: RunOptions,
        sessions: BaseSessionService,
        *,
        owns_sessions: bool,
        user_id: str,
    ) -> None:
        self.flow = flow
        self.workflow = workflow
        self.app = app
        self._options = options
        self._sessions = sessions
        self._owns_sessions = owns_sessions
        self._user_id = user_id

    async def run(
        self,
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """Run the flow in a new session until it is done, paused or denied.

        Args:
            input: The state to begin with, as a mapping or an instance of the state model.
            run_id: The run's id, which is also the session's; a new one by default.

        Returns:
            How it ended.

        Raises:
            FlowError: If the input does not fit, the session exists already, or the run fails.
        """
        position = start_position(self.flow, input)
        run = self._options.new_run(self.flow, run_id)
        place = await self._new_session(run)
        leg = DrivenLeg(run, position, first=True, session_id=place.session_id)
        return await self._drive(leg, place, _message(to_jsonable_python(input, fallback=repr)))

    async def resume(
        self, checkpoint: FlowCheckpoint, decision: ApprovalDecision
    ) -> FlowResult[StateT]:
        """Answer the first pending approval of a paused run and go on.

        A run that paused on another engine goes on in a new session.

        Args:
            checkpoint: Where it paused; good for one resume.
            decision: The answer.

        Returns:
            How the leg ended.

        Raises:
            FlowError: If the checkpoint is not to be trusted or belongs to another graph, an edit
                does not fit, the session is not here or has moved on, or the run fails.
            ApprovalAlreadyDecided: If the approval was answered before; nothing ran.
        """
        verify_checkpoint(self.flow, checkpoint, self._options.keys)
        run = self._options.new_run(self.flow, checkpoint.run_id)
        check_answer(run, checkpoint.position, decision)
        await check_unspent(run, checkpoint.pending[0], decision)
        place = Place.in_hint(checkpoint.engine)
        if place is None:
            place = await self._new_session(run)
            message = _message({"resumed_from": checkpoint.engine.get("name", "native")})
        else:
            kept = await self._kept(run, checkpoint, place)
            message = taken_answer(checkpoint, kept, decision)
        # Spent here and not in the workflow: of two processes that resume one checkpoint, the
        # store lets one through, and the other never touches the session.
        position = await take_answer(run, checkpoint.position, decision)
        leg = DrivenLeg(run, position, first=False, session_id=place.session_id)
        return await self._drive(leg, place, message)

    def dump_checkpoint(self, checkpoint: FlowCheckpoint) -> str:
        """Return a checkpoint as sealed JSON text for any storage.

        Raises:
            FlowError: If the checkpoint was changed or is another key's.
        """
        return dump_checkpoint(checkpoint, self._options.keys)

    def load_checkpoint(self, text: str) -> FlowCheckpoint:
        """Read a dumped checkpoint; its seal and its graph are checked first.

        Raises:
            FlowError: If the text was changed, or is another key's or another graph's.
        """
        registry = self._options.executor.registry
        return load_checkpoint(self.flow, text, self._options.keys, registry)

    async def _new_session(self, run: Run) -> Place:
        app_name, user_id = self.app.name, self._user_id
        found = await self._sessions.get_session(
            app_name=app_name, user_id=user_id, session_id=run.run_id
        )
        if found is not None:
            raise FlowError(
                f"the session {run.run_id!r} exists already; nothing ran. Pass another run_id, or "
                "resume the run with its checkpoint",
                flow=self.flow.name,
                code="session-exists",
            )
        session = await self._sessions.create_session(
            app_name=app_name, user_id=user_id, session_id=run.run_id
        )
        return Place(app_name, user_id, session.id, invocation_id="")

    async def _kept(self, run: Run, checkpoint: FlowCheckpoint, place: Place) -> FlowCheckpoint:
        """Return the session's copy of a pause, if the session still stands there."""
        nothing_ran = "nothing ran and the approval is not spent"
        session = None
        if place.app_name == self.app.name:
            session = await self._sessions.get_session(
                app_name=place.app_name, user_id=place.user_id, session_id=place.session_id
            )
        if session is None:
            raise FlowError(
                f"there is no session {place.session_id!r} of the app {place.app_name!r} here; "
                f"{nothing_ran}. Compile the flow with the session service and app_name of the "
                "run that paused",
                flow=self.flow.name,
                code="session-unknown",
            )
        value = session.state.get(place.key(self.flow.name))
        kept = read_kept(self.flow, self._options, place, value)
        if not isinstance(kept, FlowCheckpoint) or kept.position.status != "paused":
            approval_id = checkpoint.pending[0].id
            raise ApprovalAlreadyDecided(
                f"approval {approval_id!r} was answered in its session before; {nothing_ran}",
                approval_id=approval_id,
            )
        if not self._same_position(run, checkpoint, kept):
            raise FlowError(
                f"the session {place.session_id!r} has moved on since the checkpoint was sealed; "
                f"{nothing_ran}. Resume it with the checkpoint of its latest pause",
                flow=self.flow.name,
                code="session-moved",
            )
        return kept

    def _same_position(self, run: Run, one: FlowCheckpoint, other: FlowCheckpoint) -> bool:
        # Sealed again without the engine's hint, which names a question and not a position.
        keys = self._options.keys
        macs = {seal_checkpoint(run, each.position, keys).mac for each in (one, other)}
        return len(macs) == 1 and one.run_id == other.run_id

    async def _drive(
        self, leg: DrivenLeg, place: Place, message: types.Content
    ) -> FlowResult[StateT]:
        try:
            with driving(leg):
                await self._run_leg(leg, place, message)
        except Exception as error:
            if leg.error is None:
                raise self._engine_error(error) from error
        if leg.error is not None:
            await self._forget(place)
            # ADK raised it through its own errors, which would hide what caused it.
            raise leg.error from leg.error.__cause__
        if leg.position.status != "paused":
            await self._forget(place)
        return result_of(self.flow, leg.run.run_id, leg.position, leg.checkpoint)

    async def _run_leg(self, leg: DrivenLeg, place: Place, message: types.Content) -> None:
        runner = Runner(app=self.app, session_service=self._sessions)
        for attempt in range(_ATTEMPTS):
            leg.entered = False
            try:
                async with aclosing(
                    runner.run_async(
                        user_id=place.user_id, session_id=place.session_id, new_message=message
                    )
                ) as events:
                    async for _ in events:
                        pass
            except StaleSessionError:
                # Someone else wrote to the session before the leg was kept there. The answer is
                # spent and ours, and no node has run, so it can go into the session as it is now.
                if leg.kept or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def _engine_error(self, error: Exception) -> AdapterError:
        if isinstance(error, AdapterError):
            return error
        return FlowError(f"ADK ended the run: {type(error).__name__}: {error}", flow=self.flow.name)

    async def _forget(self, place: Place) -> None:
        """Drop a session that nobody else can see; a user's service keeps its sessions."""
        if self._owns_sessions:
            await self._sessions.delete_session(
                app_name=place.app_name, user_id=place.user_id, session_id=place.session_id
            )


def _message(data: object) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=json.dumps(data))])
