"""From a flow to an ADK `Workflow`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from google.adk.apps import App
from google.adk.sessions import BaseSessionService, InMemorySessionService
from pydantic import BaseModel

from accord import ConfigError, Flow, FlowGraph
from accord.kernel import RunOptions, as_graph
from accord_adk._durable import check_durable
from accord_adk.compiled import CompiledFlow
from accord_adk.workflow import Durability, FlowWorkflow

if TYPE_CHECKING:
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
    session_service: BaseSessionService | None = None,
    app_name: str | None = None,
    user_id: str = "accord",
    durability: Durability = "superstep",
) -> CompiledFlow[StateT]:
    """Compile a flow for ADK.

    Implements: "Running".

    Args:
        flow: The flow.
        executor: Runs tool and model calls.
        approval: The port that pause gates ask; the executor's by default.
        sink: Where events go; the executor's by default.
        max_steps: How many supersteps a run may take, at least 1.
        concurrency: How many nodes of a superstep run at once, at least 1; None sets no cap.
        model: What nodes get from `node_model`.
        checkpoint_key: One key or several (16 bytes or more each) that seal checkpoints; default:
            the environment's `ACCORD_CHECKPOINT_KEY`, else a random key of this process.
        session_service: Where `CompiledFlow.run` keeps its sessions; by default in memory, until
            their runs end.
        app_name: The name of the ADK app; by default the flow's, or one like it that ADK takes.
        user_id: The ADK user whose sessions the runs are.
        durability: `superstep` keeps the position after every superstep, so that a crash costs
            one; `pause` keeps it at pauses only.

    Returns:
        The compiled flow.

    Raises:
        FlowDefinitionError: If the flow has problems.
        ConfigError: If an option is out of range or refused by ADK, or the session service
            outlives the process and the key does not.
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
    check_durable(session_service, options.keys)
    return compile_graph(
        as_graph(flow),
        options,
        session_service or InMemorySessionService(),
        owns_sessions=session_service is None,
        app_name=app_name,
        user_id=user_id,
        durability=durability,
    )


def compile_graph(
    graph: FlowGraph[StateT],
    options: RunOptions,
    sessions: BaseSessionService,
    *,
    owns_sessions: bool,
    app_name: str | None,
    user_id: str,
    durability: Durability,
) -> CompiledFlow[StateT]:
    """Compile a validated graph; sessions that nobody else can see are dropped when they end.

    Raises:
        ConfigError: As `compile_flow`.
    """
    check_durability(durability)
    name = adk_name(graph.name)
    workflow = FlowWorkflow(graph, options, name=name, durability=durability)
    try:
        app = App(name=app_name or name, root_agent=workflow)
    except ValueError as error:
        raise ConfigError(
            f"ADK refuses the app name {app_name!r}; it takes letters, digits, '_' and '-' after "
            "a first letter, and not 'user'"
        ) from error
    return CompiledFlow(
        graph, workflow, app, options, sessions, owns_sessions=owns_sessions, user_id=user_id
    )


def check_durability(durability: Durability) -> None:
    """Refuse a word that is no durability.

    Raises:
        ConfigError: The message lists the words.
    """
    if durability not in ("superstep", "pause"):
        raise ConfigError(f"durability is {durability!r}; it has to be 'superstep' or 'pause'")


def adk_name(flow: str) -> str:
    """Return a flow's name as ADK takes it: it wants a letter first, and `user` for itself."""
    return f"flow_{flow.lstrip('_')}" if flow.startswith("_") or flow == "user" else flow
