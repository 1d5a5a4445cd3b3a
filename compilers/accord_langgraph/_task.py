"""What the checkpointer holds about the LangGraph step that is running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from accord_langgraph._undocumented import checkpointer_of


def task_id() -> str | None:
    """Return LangGraph's id of the task that is running."""
    task = get_runtime().execution_info
    return None if task is None else task.task_id


async def saved_writes() -> Sequence[tuple[str, str, Any]]:
    """Return what earlier legs of the running step have written: task id, channel and value."""
    saver = checkpointer_of(get_config())
    task = get_runtime().execution_info
    if saver is None or task is None or task.thread_id is None:
        return ()
    saved = await saver.aget_tuple(
        {
            "configurable": {
                "thread_id": task.thread_id,
                "checkpoint_ns": task.checkpoint_ns.rpartition("|")[0],
                "checkpoint_id": task.checkpoint_id,
            }
        }
    )
    return () if saved is None else saved.pending_writes or ()
