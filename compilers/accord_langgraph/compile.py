"""From a flow to a LangGraph `StateGraph`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from accord import ConfigError, Flow, FlowGraph
from accord.kernel import RunOptions, as_graph, start_position
from accord_langgraph._channels import FieldChannel, PositionChannel
from accord_langgraph._nodes import node_function
from accord_langgraph._position import POSITION, START_NODE, PositionEvent, started
from accord_langgraph._serializer import with_state_classes
from accord_langgraph._view import view_class
from accord_langgraph.compiled import BEGIN, Beginning, CompiledFlow

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from accord import ApprovalPort, EventSink, Executor, Model

StateT = TypeVar("StateT", bound=BaseModel)


def compile_flow(
    flow: Flow[StateT] | FlowGraph[StateT],
    executor: Executor,
    *,
    approval: ApprovalPort | None = None,
    sink: EventSink | None = None,
    max_steps: int = 100,
    concurrency: int | None = None,
    model: Model | None = None,
    checkpoint_key: bytes | Sequence[bytes] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
) -> CompiledFlow[StateT]:
    """Compile a flow for LangGraph.

    Implements: "Running".

    Args:
        flow: The flow.
        executor: Runs tool and model calls.
        approval: The port that pause gates ask; the executor's by default.
        sink: Where events go; the executor's by default.
        max_steps: How many supersteps a run may take, at least 1.
        concurrency: How many nodes of a superstep run at once, at least 1; None sets no cap. It
            is the graph's `max_concurrency`.
        model: What nodes get from `node_model`.
        checkpoint_key: One key or several (16 bytes or more each) that seal checkpoints; default:
            the environment's `ACCORD_CHECKPOINT_KEY`, else a random key of this process.
        checkpointer: What the graph is compiled with. Without one, `CompiledFlow.run` keeps its
            threads in memory until they end, and `CompiledFlow.graph` is left without, as
            `langgraph dev` wants it.
        store: The LangGraph store that node functions get from `langgraph.config.get_store`.

    Returns:
        The compiled flow.

    Raises:
        FlowDefinitionError: If the flow has problems.
        ConfigError: If an option is out of range, the checkpointer outlives the process and the
            key does not, or a name is one that LangGraph keeps to itself.
    """
    options = RunOptions.of(
        executor,
        approval=approval,
        sink=sink,
        max_steps=max_steps,
        concurrency=concurrency,
        model=model,
        checkpoint_key=checkpoint_key,
    )
    return compile_graph(as_graph(flow), options, checkpointer, store, InMemorySaver())


def compile_graph(
    graph: FlowGraph[StateT],
    options: RunOptions,
    checkpointer: BaseCheckpointSaver[Any] | bool | None,
    store: BaseStore | None,
    own_saver: InMemorySaver,
) -> CompiledFlow[StateT]:
    """Compile a validated graph; `own_saver` keeps the runs where there is no checkpointer.

    Raises:
        ConfigError: As `compile_flow`.
    """
    check_durable(checkpointer, options)
    saver = (
        with_state_classes(checkpointer, graph)
        if isinstance(checkpointer, BaseCheckpointSaver)
        else checkpointer
    )
    builder = state_graph(graph, options)
    try:
        compiled = builder.compile(checkpointer=saver, store=store, name=graph.name)
    except ValueError as error:
        raise ConfigError(
            f"LangGraph does not take the flow {graph.name!r}: {error}. Rename the field or node"
        ) from error
    # Only the flow's own fields are shown where LangGraph shows the state.
    compiled.stream_channels = list(graph.schema.rules)
    if options.concurrency is not None:
        compiled = compiled.with_config(max_concurrency=options.concurrency)
    if isinstance(saver, BaseCheckpointSaver):
        return CompiledFlow(graph, compiled, options, saver, owns_threads=False)
    own = with_state_classes(own_saver, graph)
    return CompiledFlow(graph, compiled, options, own, owns_threads=True)


def check_durable(
    checkpointer: BaseCheckpointSaver[Any] | bool | None, options: RunOptions
) -> None:
    """Refuse a checkpointer that outlives the process together with a key that does not.

    Raises:
        ConfigError: The message shows how to make a key.
    """
    lasts = isinstance(checkpointer, BaseCheckpointSaver)
    if lasts and not isinstance(checkpointer, InMemorySaver):
        options.keys.require_lasting(type(checkpointer).__name__)


def state_graph(graph: FlowGraph, options: RunOptions) -> StateGraph[Any, None, Any, Any]:
    """Return the `StateGraph` of a flow: its fields as channels, its nodes and a start node."""
    fields = {
        name: Annotated[
            graph.state.model_fields[name].annotation,
            FieldChannel(graph.schema, name, graph.state.model_fields[name].annotation),
        ]
        for name in graph.schema.rules
    }
    name = graph.state.__name__
    state = _schema(name, {**fields, POSITION: Annotated[dict[str, Any], PositionChannel()]})
    visible = _schema(f"{name}Fields", fields)
    builder: StateGraph[Any, None, Any, Any] = StateGraph(
        state, input_schema=visible, output_schema=visible
    )
    builder.add_node(START_NODE, _start_function(graph), destinations=(graph.start,))
    builder.add_edge(START, START_NODE)
    # A dataclass, as LangGraph wants it, but one that no type checker can see to be one.
    view: Any = view_class(graph, options)
    for node in sorted(graph.nodes):  # update order, also where LangGraph takes ours
        spec = graph.nodes[node]
        # A list of commands is more than LangGraph's types say a node may return.
        function: Any = node_function(spec)
        builder.add_node(
            node,
            function,
            input_schema=view,
            destinations=_destinations(graph, node),
            defer=spec.kind == "join",
            metadata={"kind": spec.kind},
        )
    return builder


def _schema(name: str, annotations: dict[str, Any]) -> type:
    return type(name, (), {"__annotations__": annotations})


def _destinations(graph: FlowGraph, node: str) -> tuple[str, ...] | dict[str, str]:
    route = graph.routes.get(node)
    if route is None:
        return graph.successors(node) or (END,)
    labels = route.labels_by_target()
    return {target: ", ".join(labels[target]) for target in route.successors}


def _start_function(graph: FlowGraph) -> Any:
    # With LangGraph's own type for it, mypy takes `values` for the state class.
    async def start(values: dict[str, Any], config: RunnableConfig) -> Command[str]:
        beginning = config["configurable"].get(BEGIN)
        if isinstance(beginning, Beginning):
            position, run_id = beginning.position, beginning.run_id
        else:
            given = {field: values[field] for field in graph.schema.rules if field in values}
            position, run_id = start_position(graph, given), uuid.uuid4().hex
        fields = {field: Overwrite(getattr(position.state, field)) for field in graph.schema.rules}
        event = PositionEvent(start=started(position, run_id, graph))
        return Command(update={**fields, POSITION: event}, goto=graph.start)

    return start
