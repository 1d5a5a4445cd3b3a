"""What `accord_adk._undocumented` relies on; a failure here means that ADK has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any

import pytest
from google.adk import Context
from google.adk.events import Event, RequestInput
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import START, BaseNode, Edge, Workflow
from google.genai import types

from accord_adk._undocumented import REQUEST_INPUT

seen: ContextVar[str] = ContextVar("seen", default="nothing")


class Child(BaseNode):
    async def _run_impl(self, *, ctx: Context, node_input: Any) -> AsyncGenerator[Event, None]:
        if isinstance(node_input, list):
            node_input.append(ctx.run_id)
        yield Event(output={"ran": True})


class Asker(BaseNode):
    async def _run_impl(
        self, *, ctx: Context, node_input: Any
    ) -> AsyncGenerator[RequestInput, None]:
        yield RequestInput(interrupt_id="question", message="?")


class Orchestra(Workflow):
    """Runs whatever the test put into `parts`."""

    parts: list[Any]

    async def _run_impl(self, *, ctx: Context, node_input: Any) -> AsyncGenerator[Event, None]:
        for part in self.parts:
            await part(ctx)
        yield Event(output={"done": True})


def orchestra(*parts: Any) -> Orchestra:
    child = Child(name="child")
    return Orchestra(name="root", edges=[Edge(from_node=START, to_node=child)], parts=list(parts))


async def run(
    workflow: Workflow,
    service: InMemorySessionService,
    *,
    part: types.Part | None = None,
    invocation_id: str | None = None,
) -> list[Event]:
    runner = Runner(
        node=workflow, app_name="test", session_service=service, auto_create_session=True
    )
    message = types.Content(role="user", parts=[part]) if part is not None else None
    return [
        event
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=message, invocation_id=invocation_id
        )
    ]


async def test_the_function_call_of_a_request_for_input_has_the_name_that_we_answer_with() -> None:
    asker = Workflow(name="root", edges=[Edge(from_node=START, to_node=Asker(name="asker"))])

    events = await run(asker, InMemorySessionService(), part=types.Part(text="go"))

    (call,) = events[-1].get_function_calls()
    assert (call.name, call.id) == (REQUEST_INPUT, "question")


async def test_children_run_side_by_side_in_tasks_of_our_own_and_get_our_very_object() -> None:
    given: list[str] = []

    async def side_by_side(ctx: Context) -> None:
        async with asyncio.TaskGroup() as group:
            for number in (1, 2):
                node = Child(name="child")
                group.create_task(ctx.run_node(node, given, run_id=f"v{number}"))

    events = await run(
        orchestra(side_by_side), InMemorySessionService(), part=types.Part(text="go")
    )

    assert sorted(given) == ["v1", "v2"]
    assert events[-1].output == {"done": True}


async def test_a_task_that_is_cancelled_cancels_its_child() -> None:
    ended: list[str] = []
    started = asyncio.Event()

    class Hanging(BaseNode):
        async def _run_impl(self, *, ctx: Context, node_input: Any) -> AsyncGenerator[Event, None]:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
            yield Event(output={})

    async def cancels(ctx: Context) -> None:
        task = asyncio.ensure_future(ctx.run_node(Hanging(name="hanging"), run_id="v1"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await run(orchestra(cancels), InMemorySessionService(), part=types.Part(text="go"))

    assert ended == ["cancelled"]


async def test_a_run_id_that_the_session_has_seen_runs_nothing() -> None:
    given: list[str] = []

    async def twice(ctx: Context) -> None:
        await ctx.run_node(Child(name="child"), given, run_id="v1")
        await ctx.run_node(Child(name="child"), given, run_id="v1")

    await run(orchestra(twice), InMemorySessionService(), part=types.Part(text="go"))

    assert given == ["v1"]


async def test_the_root_node_runs_with_the_callers_context_variables() -> None:
    found: list[str] = []

    async def look(ctx: Context) -> None:
        found.append(seen.get())

    token = seen.set("the caller's")
    try:
        await run(orchestra(look), InMemorySessionService(), part=types.Part(text="go"))
    finally:
        seen.reset(token)

    assert found == ["the caller's"]


async def test_a_root_workflow_is_entered_again_for_each_answer_and_each_recovery() -> None:
    entries: list[str] = []

    async def ask(ctx: Context) -> None:
        entries.append(ctx.session.events[-1].author)
        await ctx.run_node(Asker(name="asker"), run_id=f"ask{len(entries)}")

    service = InMemorySessionService()
    response = types.FunctionResponse(id="question", name=REQUEST_INPUT, response={"a": 1})
    workflow = orchestra(ask)

    events = await run(workflow, service, part=types.Part(text="go"))
    await run(workflow, service, part=types.Part(function_response=response))
    await run(workflow, service, part=types.Part(function_response=response))
    await run(workflow, service, invocation_id=events[0].invocation_id)

    assert entries == ["user", "user", "user", "asker"]
