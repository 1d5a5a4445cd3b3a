"""What a checkpointer holds of a thread: the position, the state and the open questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Interrupt

from accord import FlowGraph
from accord.kernel import Position, ready_nodes
from accord_langgraph._channels import loaded_value
from accord_langgraph._position import POSITION, KeptPosition, core_position
from accord_langgraph._questions import Question


@dataclass(frozen=True, slots=True)
class OpenInterrupt:
    """An interrupt that waits for its answer.

    Attributes:
        id: LangGraph's id of it.
        question: What it asks.
    """

    id: str
    question: Question


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A thread of a compiled flow at its latest checkpoint.

    Attributes:
        checkpoint_id: LangGraph's id of the checkpoint.
        kept: The position.
        values: The state's fields.
        interrupts: What waits, by node name.
    """

    checkpoint_id: str
    kept: KeptPosition
    values: Mapping[str, object]
    interrupts: tuple[OpenInterrupt, ...]

    def position(self, graph: FlowGraph) -> Position:
        """Return the core's form of the position; paused if an interrupt waits.

        Raises:
            FlowError: If the state model refuses the values.
        """
        schema = graph.schema
        position = core_position(
            graph,
            self.kept,
            {field: loaded_value(schema, field, value) for field, value in self.values.items()},
        )
        if self.interrupts:
            questions = [waiting.question for waiting in self.interrupts]
            position.pause((asked.node, asked.request) for asked in questions)
        return position


async def saved_thread(
    graph: FlowGraph, saver: BaseCheckpointSaver[Any], thread_id: str
) -> SavedThread | None:
    """Read a thread; None if the checkpointer does not hold it or no run has begun there."""
    saved = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    if saved is None or POSITION not in saved.checkpoint["channel_values"]:
        return None
    values = saved.checkpoint["channel_values"]
    kept: KeptPosition = values[POSITION]
    ready = ready_nodes(graph, kept["frontier"])
    waiting = [asked for asked in _open_interrupts(saved) if asked.question.node in ready]
    return SavedThread(
        saved.checkpoint["id"],
        kept,
        {field: values[field] for field in graph.schema.rules},
        tuple(sorted(waiting, key=lambda asked: asked.question.node)),
    )


def _open_interrupts(saved: CheckpointTuple) -> Iterator[OpenInterrupt]:
    writes = saved.pending_writes or []
    # A task that was answered and finished has written its event beside its old interrupt.
    finished = {task_id for task_id, channel, _ in writes if channel == POSITION}
    for task_id, _, value in writes:
        if task_id not in finished and isinstance(value, list | tuple):
            for asked in value:
                question = Question.from_interrupt(asked)
                if question is not None and isinstance(asked, Interrupt):
                    yield OpenInterrupt(asked.id, question)
