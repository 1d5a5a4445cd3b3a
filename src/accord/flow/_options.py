"""The options that every engine takes, spelled the same everywhere."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.errors import ConfigError
from accord.flow._position import Position
from accord.flow._run import Run
from accord.flow.graph import FlowGraph, StateT
from accord.flow.spec import Flow
from accord.seal import SealKeys

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.approval import ApprovalPort
    from accord.events import EventSink
    from accord.models import Model
    from accord.tools import Executor


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How an engine runs flows.

    Implements: "Running".

    Attributes:
        executor: Runs tool and model calls.
        approval: The port that pause gates ask; the executor's by default.
        sink: Where events go; the executor's by default.
        max_steps: How many supersteps a run may take.
        concurrency: How many nodes of a superstep run at once; None sets no cap.
        model: What nodes get from `node_model`.
        keys: Seal checkpoints.
    """

    executor: Executor
    approval: ApprovalPort | None
    sink: EventSink | None
    max_steps: int
    concurrency: int | None
    model: Model | None
    keys: SealKeys

    @classmethod
    def of(
        cls,
        executor: Executor,
        *,
        approval: ApprovalPort | None = None,
        sink: EventSink | None = None,
        max_steps: int = 100,
        concurrency: int | None = None,
        model: Model | None = None,
        checkpoint_key: bytes | Sequence[bytes] | None = None,
    ) -> RunOptions:
        """Check the options and fill in the defaults.

        Args:
            executor: Runs tool and model calls.
            approval: The port that pause gates ask.
            sink: Where events go.
            max_steps: How many supersteps a run may take, at least 1.
            concurrency: How many nodes of a superstep run at once, at least 1.
            model: What nodes get from `node_model`.
            checkpoint_key: One key or several (16 bytes or more each); the first signs, all
                verify. Default: the environment's `ACCORD_CHECKPOINT_KEY`, else a random key of
                this process.

        Raises:
            ConfigError: If a number is below 1, a part lacks what it is for, or a key is too
                short.
        """
        _check_shape("executor", executor, "run_spec", "pass Executor(registry)")
        approval = approval if approval is not None else executor.approval
        sink = sink if sink is not None else executor.sink
        _check_count("max_steps", max_steps)
        if concurrency is not None:
            _check_count("concurrency", concurrency)
        if approval is not None:
            _check_shape("approval", approval, "ask", "pass a port, as DeferredApproval(store) is")
        if sink is not None:
            _check_shape("sink", sink, "emit", "pass an event sink, as MemorySink() is")
        if model is not None:
            _check_shape("model", model, "generate", "wrap a function in CallableModel(fn)")
        return cls(
            executor=executor,
            approval=approval,
            sink=sink,
            max_steps=max_steps,
            concurrency=concurrency,
            model=model,
            keys=SealKeys.resolve(checkpoint_key),
        )

    def new_run(self, graph: FlowGraph, run_id: str | None = None) -> Run:
        """Return a run of `graph`, under a new id unless one is given.

        Raises:
            ConfigError: If the id is no text.
        """
        if run_id is not None and not isinstance(run_id, str):
            raise ConfigError(f"run_id is {run_id!r}; pass text, or None for a new id")
        return Run(
            graph=graph,
            run_id=run_id or uuid.uuid4().hex,
            executor=self.executor,
            approval=self.approval,
            model=None if self.model is None else self.executor.model(self.model),
            sink=self.sink,
            max_steps=self.max_steps,
            concurrency=self.concurrency,
        )


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{name} is {value!r}; it has to be a whole number of at least 1")


def _check_shape(name: str, part: object, method: str, hint: str) -> None:
    if not callable(getattr(part, method, None)):
        raise ConfigError(f"{name} is a {type(part).__name__}, which has no {method}(); {hint}")


def as_graph(flow: Flow[StateT] | FlowGraph[StateT]) -> FlowGraph[StateT]:
    """Return the validated graph of a flow.

    Raises:
        FlowDefinitionError: If the flow has problems; all are listed.
        ConfigError: If it is no flow at all.
    """
    if isinstance(flow, FlowGraph):
        return flow
    if not isinstance(flow, Flow):
        raise ConfigError(f"a {type(flow).__name__} is no flow; pass a Flow or its FlowGraph")
    return flow.validate()


def start_position(graph: FlowGraph, values: Mapping[str, object] | BaseModel) -> Position:
    """Return where a run with this input begins.

    Implements: "Running".

    Raises:
        FlowError: If the input has unknown keys or does not fit the state model.
    """
    state = graph.schema.initial(values, flow=graph.name)
    return Position(state=state, frontier=frozenset({graph.start}))
