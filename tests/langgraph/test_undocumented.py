"""What the compiler relies on without a promise of LangGraph; a failure here names what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from accord_langgraph._undocumented import NO_VALUE, checkpointer_of


async def test_the_nodes_of_a_superstep_share_one_input() -> None:
    class State(TypedDict):
        x: int

    @dataclass
    class Shared:
        x: int

        def __copy__(self) -> Self:
            return self

    seen: list[Shared] = []

    def see(shared: Shared) -> None:
        seen.append(shared)

    builder = StateGraph(State)
    node: Any = see  # that a dataclass copies itself is more than LangGraph's types know
    for name in ("a", "b"):
        builder.add_node(name, node, input_schema=Shared)
        builder.add_edge(START, name)

    await builder.compile().ainvoke({"x": 1})

    assert seen[0] is seen[1]


async def test_an_empty_channel_is_restored_from_no_value() -> None:
    no_value: Any = NO_VALUE
    channel: LastValue[object] = LastValue(object).from_checkpoint(no_value)

    assert not channel.is_available()


async def test_a_node_finds_the_checkpointer_that_runs_it() -> None:
    found = []

    class State(TypedDict):
        x: int

    async def look(state: State, config: RunnableConfig) -> Command[str]:
        found.append(checkpointer_of(config))
        return Command()

    saver = InMemorySaver()
    builder = StateGraph(State)
    builder.add_node("look", look)
    builder.add_edge(START, "look")

    await builder.compile(checkpointer=saver).ainvoke(
        {"x": 1}, {"configurable": {"thread_id": "t"}}
    )
    await builder.compile().ainvoke({"x": 1})

    assert found == [saver, None]
