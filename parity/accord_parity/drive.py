"""Driving one scenario on one engine, leg by leg, until there is an observation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Any

import accord
from accord import (
    ApprovalDecision,
    ApprovalRequest,
    DeferredApproval,
    Executor,
    FlowCheckpoint,
    FlowResult,
    MemoryApprovalStore,
    MemorySink,
)
from accord_parity.calls import CallLog
from accord_parity.observation import (
    Failure,
    Observation,
    PendingApproval,
    as_json,
    event_names,
)
from accord_parity.replies import ScriptedModel
from accord_parity.scenario import Mode, Scenario, ScenarioError

LEG_TIMEOUT = 30.0
"""After how many seconds a leg counts as hung, unless a run says otherwise."""

_GENERATED_ID = re.compile(r"\b[0-9a-f]{32}\b")


class ScriptMismatch(ScenarioError):
    """The run and the scenario's script do not fit.

    Attributes:
        observation: What the run did all the same.
    """

    def __init__(self, message: str, observation: Observation) -> None:
        super().__init__(message)
        self.observation = observation


class ScenarioRun:
    """One run of a scenario on one engine, with a store, tools and a model of its own."""

    def __init__(
        self,
        engine: str,
        scenario: Scenario,
        mode: Mode = "memory",
        *,
        leg_timeout: float = LEG_TIMEOUT,
    ) -> None:
        """Set everything up; nothing runs yet.

        Args:
            engine: The engine's name.
            scenario: What to run.
            mode: How a checkpoint gets from one leg to the next.
            leg_timeout: After how many seconds a leg counts as hung.

        Raises:
            ConfigError: If the engine is not installed.
        """
        self.scenario = scenario
        self._mode = mode
        self._leg_timeout = leg_timeout
        self._log = CallLog()
        self._sink = MemorySink()
        self._model = ScriptedModel(scenario.replies)
        approval = DeferredApproval(MemoryApprovalStore())
        self._engine = accord.engine(
            engine,
            Executor(self._log.watch(scenario.tools()), approval=approval),
            approval=approval,
            model=self._model,
            sink=self._sink,
        )
        self._flow = scenario.flow()
        self._result: FlowResult[Any] | None = None
        self._statuses: list[str] = []
        self._pending: list[PendingApproval] = []
        self._error: Failure | None = None

    async def start(self) -> None:
        """Run the first leg."""
        # A fixed id: what a node does with it has to be the same on every engine.
        run_id = f"parity-{self.scenario.name}"
        await self._leg(self._engine.run(self._flow, self.scenario.input, run_id=run_id))

    async def answer(self, decision: ApprovalDecision) -> None:
        """Run the next leg with the answer to what is pending.

        Raises:
            ScenarioError: If nothing is pending.
        """
        checkpoint = self._result.checkpoint if self._result is not None else None
        if not self.paused or checkpoint is None:
            raise ScenarioError(
                f"scenario {self.scenario.name!r} is not paused, so there is nothing to answer"
            )
        await self._leg(self._resume(checkpoint, decision))

    @property
    def paused(self) -> bool:
        """Whether the last leg ended with a pause."""
        return self._statuses[-1:] == ["paused"]

    @property
    def pending(self) -> ApprovalRequest | None:
        """What the run waits for, if it is paused."""
        return self._result.pending if self.paused and self._result is not None else None

    @property
    def script_problem(self) -> str | None:
        """What does not fit between the scripted replies and the model requests so far."""
        return self._model.problem

    def observation(self) -> Observation:
        """Return what the run did so far."""
        result = self._result
        state = None if result is None else result.state.model_dump(mode="json")
        return Observation(
            statuses=tuple(self._statuses),
            pending=tuple(self._pending),
            state=state,
            visits={} if result is None else dict(result.visits),
            steps=0 if result is None else result.steps,
            calls=self._log.calls,
            events=event_names(self._sink.events),
            error=self._error,
        )

    async def _resume(
        self, checkpoint: FlowCheckpoint, decision: ApprovalDecision
    ) -> FlowResult[Any]:
        if self._mode == "dump":
            text = self._engine.dump_checkpoint(checkpoint)
            checkpoint = self._engine.load_checkpoint(self._flow, text)
        return await self._engine.resume(self._flow, checkpoint, decision)

    async def _leg(self, leg: Awaitable[FlowResult[Any]]) -> None:
        limit = asyncio.timeout(self._leg_timeout)
        try:
            async with limit:
                result = await leg
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its observation
            if limit.expired():
                self._fail("hung", Failure("Hang", f"no result within {self._leg_timeout:g} s"))
            else:
                self._fail("failed", _failure(error))
            return
        self._result = result
        self._statuses.append(result.status)
        if result.pending is not None:
            arguments = {name: as_json(each) for name, each in result.pending.arguments.items()}
            self._pending.append(PendingApproval(result.pending.tool, arguments))

    def _fail(self, status: str, failure: Failure) -> None:
        self._statuses.append(status)
        self._error = failure


async def run_scenario(
    engine: str, scenario: Scenario, mode: Mode = "memory", *, leg_timeout: float = LEG_TIMEOUT
) -> Observation:
    """Run a scenario on an engine, answering its approvals in order.

    Args:
        engine: The engine's name.
        scenario: What to run.
        mode: How a checkpoint gets from one leg to the next.
        leg_timeout: After how many seconds a leg counts as hung.

    Returns:
        What the engine did; a failure or a hang of the run is part of it.

    Raises:
        ConfigError: If the engine is not installed.
        ScriptMismatch: If a decision or a model reply is missing or left over; it carries the
            observation up to there.
    """
    run = ScenarioRun(engine, scenario, mode, leg_timeout=leg_timeout)
    await run.start()
    left = list(scenario.decisions)
    while run.paused and left:
        await run.answer(left.pop(0))
    observation = run.observation()
    if problem := _mismatch(run, left):
        raise ScriptMismatch(
            f"scenario {scenario.name!r} on {engine} ({mode}): {problem}", observation
        )
    return observation


def _mismatch(run: ScenarioRun, left: list[ApprovalDecision]) -> str | None:
    given = len(run.scenario.decisions)
    if run.pending is not None:
        return (
            f"pause {given + 1} asks for {run.pending.tool!r} and only {given} decisions are "
            "given; add one to Scenario(decisions=...)"
        )
    if left:
        ended = run.observation().statuses[-1]
        return (
            f"the run ended ({ended}) with {len(left)} of {given} decisions left over; take them "
            "out of Scenario(decisions=...)"
        )
    return run.script_problem


def _failure(error: Exception) -> Failure:
    message = error.message if isinstance(error, accord.FlowError) else str(error)
    return Failure(
        type=type(error).__name__,
        message=_GENERATED_ID.sub("<id>", message),
        node=getattr(error, "node", None),
        field=getattr(error, "field", None),
    )
