"""What a session keeps of a run: its sealed position while it goes on, a tombstone afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accord import FlowCheckpoint, FlowError
from accord.kernel import RunOptions, load_checkpoint

if TYPE_CHECKING:
    from google.adk import Context

    from accord import FlowGraph
    from accord.kernel import Position, Run

ENGINE: Final = "adk"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is kept: an invocation in a session.

    Attributes:
        app_name: The app of the session.
        user_id: The user of the session.
        session_id: The session.
        invocation_id: The invocation.
    """

    app_name: str
    user_id: str
    session_id: str
    invocation_id: str

    @classmethod
    def of(cls, ctx: Context) -> Place:
        """Return where the workflow with this context runs."""
        session = ctx.session
        return cls(session.app_name, session.user_id, session.id, ctx.invocation_id)

    @classmethod
    def in_hint(cls, hint: Mapping[str, str]) -> Place | None:
        """Return the place that a checkpoint of this engine names; None for another engine's."""
        if hint.get("name") != ENGINE:
            return None
        return cls(**{name: hint[name] for name in cls.__slots__})

    def hint(self, interrupt_id: str | None = None) -> dict[str, str]:
        """Return the place in the form that a checkpoint holds."""
        hint = {"name": ENGINE, **{name: getattr(self, name) for name in self.__slots__}}
        return hint if interrupt_id is None else {**hint, "interrupt_id": interrupt_id}

    def key(self, flow: str) -> str:
        """Return the key in session state; its colons exempt it from a `state_schema`."""
        return f"aa_flow:{flow}:{self.invocation_id}"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a run that ended.

    It is not sealed: all it does is to refuse, and who may write to the session can do that
    anyway.

    Attributes:
        status: `done` or `denied`.
        run_id: The run.
    """

    status: str
    run_id: str

    @classmethod
    def of(cls, run: Run, position: Position) -> Tombstone:
        """Return the tombstone of a run that ended at `position`."""
        return cls(position.status, run.run_id)

    def to_data(self) -> dict[str, str]:
        """Return the form in session state."""
        return {"ended": self.status, "run_id": self.run_id}


def read_kept(
    graph: FlowGraph, options: RunOptions, place: Place, value: object
) -> FlowCheckpoint | Tombstone | None:
    """Read what a session keeps of a run; the seal is checked before anything is built.

    Args:
        graph: The flow.
        options: Hold the keys and the tools.
        place: Where the value was found.
        value: What session state holds.

    Raises:
        FlowError: If it was changed, is another key's or another graph's, or was sealed for
            another session or invocation.
    """
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() == {"ended", "run_id"}:
        return Tombstone(str(value["ended"]), str(value["run_id"]))
    # The loader refuses what is no text.
    text = value if isinstance(value, str) else ""
    checkpoint = load_checkpoint(graph, text, options.keys, options.executor.registry)
    if Place.in_hint(checkpoint.engine) != place:
        raise FlowError(
            "the position in session state was sealed for another session or invocation; nothing "
            f"ran. Restore what {place.key(graph.name)!r} held",
            flow=graph.name,
            code="checkpoint-tampered",
        )
    return checkpoint
