"""What this compiler relies on and LangGraph does not document, each with the reason.

`tests/langgraph/test_undocumented.py` notices when one of them changes.

- LangGraph builds the input of a node from its `input_schema` once for all nodes of a superstep
  and gives each of them `copy.copy` of it. `View` relies on that: its `__copy__` returns itself,
  so co-scheduled nodes meet there. If it stops, errors of joint merges lose their node.
- An empty channel has no public name for "no value"; `NO_VALUE` is read from one.
- A node's config holds the checkpointer under a private key. There is no public way to it when
  a server or a parent graph brings the checkpointer.
"""

from __future__ import annotations

from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver

NO_VALUE: Final[object] = LastValue(object).checkpoint()

_CHECKPOINTER = "__pregel_checkpointer"


def checkpointer_of(config: RunnableConfig) -> BaseCheckpointSaver[str] | None:
    """Return the checkpointer under which the node with this config runs, if there is one."""
    saver = config["configurable"].get(_CHECKPOINTER)
    return saver if isinstance(saver, BaseCheckpointSaver) else None
