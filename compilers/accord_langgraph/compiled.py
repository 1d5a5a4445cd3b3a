"""A flow that runs on LangGraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Final, Generic, TypeAlias, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel

from accord import (
    ApprovalAlreadyDecided,
    ApprovalDecision,
    ApprovalRequest,
    FlowCheckpoint,
    FlowError,
    FlowGraph,
    FlowResult,
)
from accord.kernel import (
    Position,
    Run,
    RunOptions,
    check_answer,
    check_unspent,
    dump_checkpoint,
    leg,
    load_checkpoint,
    result_of,
    seal_pause,
    start_position,
    verify_checkpoint,
)
from accord_langgraph._saved import OpenInterrupt, SavedThread, saved_thread

LangGraph: TypeAlias = CompiledStateGraph[Any, None, Any, Any]
StateT = TypeVar("StateT", bound=BaseModel)

ENGINE: Final = "langgraph"
BEGIN: Final = "aa_begin"
"""The key of a run's `Beginning` in its config."""

# `max_steps` ends a run that goes in circles, and says where; LangGraph's own limit never should.
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Beginning:
    """The validated input of a run, on its way to the start node.

    Attributes:
        position: Where the run begins.
        run_id: The run.
    """

    position: Position
    run_id: str


class CompiledFlow(Generic[StateT]):
    """A flow as a `CompiledStateGraph`, and its runs with Accord's results and checkpoints.

    Implements: "Running".

    Attributes:
        flow: The flow's graph.
        graph: The compiled LangGraph graph, to be used as any other.
    """

    def __init__(
        self,
        flow: FlowGraph[StateT],
        graph: LangGraph,
        options: RunOptions,
        saver: BaseCheckpointSaver[Any],
        *,
        owns_threads: bool,
    ) -> None:
        self.flow = flow
        self.graph = graph
        self._options = options
        self._saver = saver
        self._owns_threads = owns_threads
        self._runner = graph.copy({"checkpointer": saver}) if owns_threads else graph

    async def run(
        self,
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """Run the flow on a new thread until it is done, paused or denied.

        Args:
            input: The state to begin with, as a mapping or an instance of the state model.
            run_id: The run's id, which is also the thread's; a new one by default.

        Returns:
            How it ended.

        Raises:
            FlowError: If the input does not fit, the thread exists already, or the run fails.
        """
        position = start_position(self.flow, input)
        run = self._options.new_run(self.flow, run_id)
        if run_id is not None and await self._saved(run_id) is not None:
            raise FlowError(
                f"the thread {run_id!r} exists already; nothing ran. Pass another run_id, or "
                "resume the run with its checkpoint",
                flow=self.flow.name,
                code="thread-exists",
            )
        state = position.state
        values = {field: getattr(state, field) for field in state.model_fields_set}
        begin = Beginning(position.copy(), run.run_id)
        return await self._drive(run, position, values, {BEGIN: begin}, first=True)

    async def resume(
        self, checkpoint: FlowCheckpoint, decision: ApprovalDecision
    ) -> FlowResult[StateT]:
        """Answer the first pending approval of a paused run and go on.

        Args:
            checkpoint: Where it paused; good for one resume.
            decision: The answer.

        Returns:
            How the leg ended.

        Raises:
            FlowError: If the checkpoint is not to be trusted or belongs to another graph, an edit
                does not fit, the thread is not here or has moved on, or the run fails.
            ApprovalAlreadyDecided: If the approval was answered before; nothing ran.
        """
        verify_checkpoint(self.flow, checkpoint, self._options.keys)
        run = self._options.new_run(self.flow, checkpoint.run_id)
        check_answer(run, checkpoint.position, decision)
        _, request = checkpoint.position.pending[0]
        with _answering(request):
            await check_unspent(run, request, decision)
            waiting = await self._waiting(checkpoint, request)
            answer = {**decision.model_dump(), "approval_id": request.id}
            position = checkpoint.position.copy()
            position.status = "running"
            given: Command[str] = Command(resume={waiting.id: answer})
            return await self._drive(run, position, given, {}, first=False, answered=request)

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

    async def _drive(
        self,
        run: Run,
        position: Position,
        given: object,
        configurable: dict[str, object],
        *,
        first: bool,
        answered: ApprovalRequest | None = None,
    ) -> FlowResult[StateT]:
        thread_id = run.run_id
        config: RunnableConfig = {
            "configurable": {"thread_id": thread_id, **configurable},
            "recursion_limit": _NO_LIMIT,
        }
        checkpoint = None
        with leg(run, position, first=first):
            try:
                await self._runner.ainvoke(given, config)
            except FlowError:
                saved = await self._saved(thread_id)
                position.steps = position.steps if saved is None else saved.kept["steps"]
                await self._forget(thread_id)
                raise
            saved = await self._saved(thread_id)
            if saved is None:
                raise FlowError("LangGraph kept no position of the run", flow=self.flow.name)
            _refuse_unspent(saved, answered)
            _adopt(position, saved.position(self.flow))
            if position.status == "paused":
                hint = {
                    "name": ENGINE,
                    "thread_id": thread_id,
                    "checkpoint_id": saved.checkpoint_id,
                }
                checkpoint = await seal_pause(run, position, self._options.keys, hint)
        if position.status != "paused":
            await self._forget(thread_id)
        return result_of(self.flow, run.run_id, position, checkpoint)

    async def _waiting(self, checkpoint: FlowCheckpoint, request: ApprovalRequest) -> OpenInterrupt:
        """Return the interrupt that `request` is the question of."""
        engine = checkpoint.engine
        if engine.get("name") != ENGINE:
            raise FlowError(
                f"the run paused on the engine {engine.get('name', 'native')!r}, not on a thread "
                "of LangGraph; nothing ran and the approval is not spent. Resume it there",
                flow=self.flow.name,
                code="other-engine",
            )
        thread_id = engine["thread_id"]
        saved = await self._saved(thread_id)
        if saved is None:
            raise FlowError(
                f"the checkpointer holds no thread {thread_id!r}; nothing ran and the approval is "
                "not spent. Compile the flow with the checkpointer of the run that paused",
                flow=self.flow.name,
                code="thread-unknown",
            )
        for waiting in saved.interrupts:
            if saved.checkpoint_id == engine["checkpoint_id"] and (
                waiting.question.request.id == request.id
            ):
                return waiting
        raise FlowError(
            f"the thread {thread_id!r} has moved on since the checkpoint was sealed; nothing ran. "
            "Resume it with the checkpoint of its latest pause",
            flow=self.flow.name,
            code="thread-moved",
        )

    async def _saved(self, thread_id: str) -> SavedThread | None:
        return await saved_thread(self.flow, self._saver, thread_id)

    async def _forget(self, thread_id: str) -> None:
        """Drop a thread that nobody else can see; a user's checkpointer keeps its threads."""
        if self._owns_threads:
            await self._saver.adelete_thread(thread_id)


_being_answered: set[str] = set()


@contextmanager
def _answering(request: ApprovalRequest) -> Iterator[None]:
    """Let one resume of this process at a time answer an approval.

    LangGraph runs a thread twice at once if it is asked to, and keeps what both of them wrote.
    """
    if request.id in _being_answered:
        raise ApprovalAlreadyDecided(
            f"approval {request.id!r} is being answered by another resume; nothing ran",
            approval_id=request.id,
        )
    _being_answered.add(request.id)
    try:
        yield
    finally:
        _being_answered.discard(request.id)


def _refuse_unspent(saved: SavedThread, answered: ApprovalRequest | None) -> None:
    """Report an answer that the node refused because another process was quicker."""
    for waiting in saved.interrupts:
        question = waiting.question
        if answered is not None and question.request.id == answered.id:
            raise ApprovalAlreadyDecided(
                question.error or f"approval {answered.id!r} was decided meanwhile; nothing ran",
                approval_id=answered.id,
            )


def _adopt(position: Position, other: Position) -> None:
    """Make a live position stand where `other` does."""
    for each in fields(Position):
        setattr(position, each.name, getattr(other, each.name))
