"""The native runner: the reference that every other engine has to equal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from accord.errors import ConfigError
from accord.flow import checkpoint as sealed
from accord.flow._leg import leg
from accord.flow._loop import supersteps
from accord.flow._nodes import run_visit
from accord.flow._options import RunOptions, as_graph, start_position
from accord.flow._resume import take_answer
from accord.flow.result import FlowResult, result_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.approval import ApprovalDecision, ApprovalPort
    from accord.events import EventSink
    from accord.flow._position import Position
    from accord.flow._run import Run
    from accord.flow.checkpoint import FlowCheckpoint
    from accord.flow.graph import FlowGraph, StateT
    from accord.flow.spec import Flow
    from accord.models import Model
    from accord.tools import Executor


class FlowRunner:
    """Runs flows in this process.

    Implements: "Running".

    Args:
        executor: Runs tool and model calls.
        approval: The port that pause gates ask; the executor's by default.
        sink: Where events go; the executor's by default.
        max_steps: How many supersteps a run may take.
        concurrency: How many nodes of a superstep run at once; None sets no cap.
        model: What nodes get from `node_model`.
        checkpoint_key: One key or several (16 bytes or more each) that seal checkpoints; default:
            the environment's `ACCORD_CHECKPOINT_KEY`, else a random key of this process.

    Raises:
        ConfigError: If an option is out of range.
    """

    name: ClassVar[str] = "native"

    def __init__(
        self,
        executor: Executor,
        *,
        approval: ApprovalPort | None = None,
        sink: EventSink | None = None,
        max_steps: int = 100,
        concurrency: int | None = None,
        model: Model | None = None,
        checkpoint_key: bytes | Sequence[bytes] | None = None,
    ) -> None:
        self._options = RunOptions.of(
            executor,
            approval=approval,
            sink=sink,
            max_steps=max_steps,
            concurrency=concurrency,
            model=model,
            checkpoint_key=checkpoint_key,
        )

    async def run(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """Run a flow until it is done, paused or denied.

        Args:
            flow: The flow.
            input: The state to begin with, as a mapping or an instance of the state model.
            run_id: The run's id; a new one by default.

        Returns:
            How it ended.

        Raises:
            FlowDefinitionError: If the flow has problems.
            FlowError: If the input does not fit, or the run fails.
        """
        graph = as_graph(flow)
        position = start_position(graph, input)
        run = self._options.new_run(graph, run_id)
        return await self._drive(graph, run, position, first=True)

    async def resume(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        checkpoint: FlowCheckpoint,
        decision: ApprovalDecision,
    ) -> FlowResult[StateT]:
        """Answer the first pending approval of a paused run and go on.

        Args:
            flow: The flow that paused.
            checkpoint: Where it paused; good for one resume.
            decision: The answer.

        Returns:
            How the leg ended.

        Raises:
            FlowError: If the checkpoint is not to be trusted or belongs to another graph, an
                edit does not fit, or the run fails.
            ApprovalAlreadyDecided: If the approval was answered before; nothing ran.
        """
        graph = as_graph(flow)
        sealed.verify_checkpoint(graph, checkpoint, self._options.keys)
        run = self._options.new_run(graph, checkpoint.run_id)
        position = await take_answer(run, checkpoint.position, decision)
        return await self._drive(graph, run, position, first=False)

    def run_sync(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """`run` for callers without an event loop.

        Raises:
            ConfigError: If an event loop runs here; await `run` there.
        """
        _refuse_loop("run")
        return asyncio.run(self.run(flow, input, run_id=run_id))

    def resume_sync(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        checkpoint: FlowCheckpoint,
        decision: ApprovalDecision,
    ) -> FlowResult[StateT]:
        """`resume` for callers without an event loop.

        Raises:
            ConfigError: If an event loop runs here; await `resume` there.
        """
        _refuse_loop("resume")
        return asyncio.run(self.resume(flow, checkpoint, decision))

    def dump_checkpoint(self, checkpoint: FlowCheckpoint) -> str:
        """Return a checkpoint as sealed JSON text for any storage.

        Raises:
            FlowError: If the checkpoint was changed or is another key's.
        """
        return sealed.dump_checkpoint(checkpoint, self._options.keys)

    def load_checkpoint(self, flow: Flow[StateT] | FlowGraph[StateT], text: str) -> FlowCheckpoint:
        """Read a dumped checkpoint; its seal and its graph are checked first.

        Raises:
            FlowError: If the text was changed, or is another key's or another graph's.
        """
        graph = as_graph(flow)
        registry = self._options.executor.registry
        return sealed.load_checkpoint(graph, text, self._options.keys, registry)

    async def _drive(
        self, graph: FlowGraph[StateT], run: Run, position: Position, *, first: bool
    ) -> FlowResult[StateT]:
        with leg(run, position, first=first):
            async for _ in supersteps(run, position, run_visit):
                pass
            paused = position.status == "paused"
            checkpoint = (
                await sealed.seal_pause(run, position, self._options.keys) if paused else None
            )
        return result_of(graph, run.run_id, position, checkpoint)


def _refuse_loop(method: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError(
        f"{method}_sync() was called where an event loop runs, which it would block; write "
        f"`await runner.{method}(...)`"
    )
