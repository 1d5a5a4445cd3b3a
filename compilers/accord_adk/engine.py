"""ADK as an engine of Accord."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from google.adk.sessions import BaseSessionService, InMemorySessionService
from pydantic import BaseModel

from accord import Flow, FlowCheckpoint, FlowGraph, FlowResult
from accord.kernel import RunOptions, as_graph, dump_checkpoint
from accord_adk._durable import check_durable
from accord_adk._kept import ENGINE
from accord_adk.compile import check_durability, compile_graph
from accord_adk.compiled import CompiledFlow

if TYPE_CHECKING:
    from accord import ApprovalDecision, ApprovalPort, EventSink, Executor, Model
    from accord_adk.workflow import Durability

StateT = TypeVar("StateT", bound=BaseModel)

_COMPILED_FLOWS = 128


class AdkEngine:
    """Runs flows on ADK, one session a run.

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
        session_service: Where the sessions are kept; by default in memory, until they end.
        app_name: The name of the ADK app; by default each flow's own.
        user_id: The ADK user whose sessions the runs are.
        durability: `superstep` keeps the position after every superstep, so that a crash costs
            one; `pause` keeps it at pauses only.

    Raises:
        ConfigError: If an option is out of range, or the session service outlives the process
            and the key does not.
    """

    name: ClassVar[str] = ENGINE

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
        session_service: BaseSessionService | None = None,
        app_name: str | None = None,
        user_id: str = "accord",
        durability: Durability = "superstep",
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
        check_durable(session_service, self._options.keys)
        check_durability(durability)
        # Shared by all flows, so that a flow compiled again finds the sessions of its paused runs.
        self._sessions = session_service or InMemorySessionService()
        self._owns_sessions = session_service is None
        self._app_name = app_name
        self._user_id = user_id
        self._durability: Durability = durability
        self._compiled: OrderedDict[int, CompiledFlow[Any]] = OrderedDict()

    def compiled(self, flow: Flow[StateT] | FlowGraph[StateT]) -> CompiledFlow[StateT]:
        """Return the compiled form of a flow, made at its first use.

        Raises:
            FlowDefinitionError: If the flow has problems.
            ConfigError: If ADK refuses the app name.
        """
        graph = as_graph(flow)
        # A compiled flow holds its graph, so the identity is not given to another one meanwhile.
        found = self._compiled.get(id(graph))
        if found is None:
            found = compile_graph(
                graph,
                self._options,
                self._sessions,
                owns_sessions=self._owns_sessions,
                app_name=self._app_name,
                user_id=self._user_id,
                durability=self._durability,
            )
            self._compiled[id(graph)] = found
            if len(self._compiled) > _COMPILED_FLOWS:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(id(graph))
        return cast("CompiledFlow[StateT]", found)

    async def run(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """Run a flow until it is done, paused or denied; see `CompiledFlow.run`."""
        return await self.compiled(flow).run(input, run_id=run_id)

    async def resume(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        checkpoint: FlowCheckpoint,
        decision: ApprovalDecision,
    ) -> FlowResult[StateT]:
        """Answer the first pending approval of a paused run; see `CompiledFlow.resume`."""
        return await self.compiled(flow).resume(checkpoint, decision)

    def dump_checkpoint(self, checkpoint: FlowCheckpoint) -> str:
        """Return a checkpoint as sealed JSON text for any storage.

        Raises:
            FlowError: If the checkpoint was changed or is another key's.
        """
        return dump_checkpoint(checkpoint, self._options.keys)

    def load_checkpoint(self, flow: Flow[StateT] | FlowGraph[StateT], text: str) -> FlowCheckpoint:
        """Read a dumped checkpoint; its seal and its graph are checked first.

        Raises:
            FlowError: If the text was changed, or is another key's or another graph's.
        """
        return self.compiled(flow).load_checkpoint(text)
