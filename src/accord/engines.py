"""One face for every engine, and how an engine is found by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from accord.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.approval import ApprovalDecision
    from accord.flow.checkpoint import FlowCheckpoint
    from accord.flow.graph import FlowGraph, StateT
    from accord.flow.result import FlowResult
    from accord.flow.spec import Flow
    from accord.tools import Executor

_GROUP = "accord.engines"


class Engine(Protocol):
    """Runs flows; every engine means the same by each of these.

    Implements: "Running".

    Attributes:
        name: The engine's name, such as `native`.
    """

    @property
    def name(self) -> str:
        """The engine's name, such as `native`."""
        ...

    async def run(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        input: Mapping[str, object] | BaseModel,  # noqa: A002 - the word of every engine
        *,
        run_id: str | None = None,
    ) -> FlowResult[StateT]:
        """Run a flow until it is done, paused or denied."""
        ...

    async def resume(
        self,
        flow: Flow[StateT] | FlowGraph[StateT],
        checkpoint: FlowCheckpoint,
        decision: ApprovalDecision,
    ) -> FlowResult[StateT]:
        """Answer the first pending approval of a paused run and go on."""
        ...

    def dump_checkpoint(self, checkpoint: FlowCheckpoint) -> str:
        """Return a checkpoint as sealed JSON text for any storage."""
        ...

    def load_checkpoint(self, flow: Flow[StateT] | FlowGraph[StateT], text: str) -> FlowCheckpoint:
        """Read a dumped checkpoint; its seal and its graph are checked first."""
        ...


def engine_names() -> tuple[str, ...]:
    """Return the names that `engine` knows, sorted; a framework behind one may be missing."""
    return tuple(sorted({entry.name for entry in entry_points(group=_GROUP)}))


# The options are the engine's own keyword arguments, which its constructor checks.
def engine(name: str, executor: Executor, **options: Any) -> Engine:
    """Return the engine of that name, importing its framework only now.

    Args:
        name: `native`, `langgraph`, `adk`, or a name that another package registered in the
            entry point group `accord.engines`.
        executor: Runs tool and model calls.
        **options: What `FlowRunner` takes, and the engine's own.

    Raises:
        ConfigError: If there is no such engine, or its framework is not installed; the message
            names the install line.
    """
    found = {entry.name: entry for entry in entry_points(group=_GROUP)}
    if name not in found:
        known = ", ".join(engine_names()) or "none"
        raise ConfigError(f"there is no engine {name!r}; installed: {known}")
    try:
        make = found[name].load()
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "accord":
            raise
        distribution = found[name].dist
        extra = f"accord[{name}]" if distribution and distribution.name == "accord" else error.name
        raise ConfigError(
            f"the engine {name!r} needs {error.name!r}, which is not installed; run: "
            f'pip install "{extra}"'
        ) from error
    made: Engine = make(executor, **options)
    return made
