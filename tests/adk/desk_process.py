"""One leg of a run on SQLite in a process of its own: `desk_process.py DIRECTORY start|resume|raw`.

Prints one JSON line with what came of it. After `start` it waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import BaseModel

from accord import (
    AdapterError,
    ApprovalDecision,
    DeferredApproval,
    Executor,
    Flow,
    FlowResult,
    Merge,
    SqliteApprovalStore,
    ToolContext,
    ToolRegistry,
)
from accord_adk import compile_flow

directory = Path(sys.argv[1])
registry = ToolRegistry()


class Ledger(BaseModel):
    paid: Annotated[int, Merge.sum] = 0


@registry.tool
async def look() -> int:
    note("look")
    return 0


@registry.tool(confirm=True)
async def pay(amount: int) -> int:
    note(f"pay {amount}")
    return amount


def note(call: str) -> None:
    with (directory / "calls").open("a") as calls:
        calls.write(f"{call}\n")


async def node(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
    await ctx.call("look")
    return {"paid": await ctx.call("pay", amount=1) + await ctx.call("pay", amount=2)}


flow = Flow("desk", state=Ledger).node("node", node).end("node")
service = SqliteSessionService(str(directory / "sessions.db"))
store = SqliteApprovalStore(directory / "approvals.db")
compiled = compile_flow(
    flow, Executor(registry, approval=DeferredApproval(store)), session_service=service
)


def told(result: FlowResult[Ledger]) -> dict[str, Any]:
    text = None if result.checkpoint is None else compiled.dump_checkpoint(result.checkpoint)
    return {"status": result.status, "state": result.state.model_dump(), "checkpoint": text}


async def raw_answer(interrupt_id: str) -> dict[str, Any]:
    response = types.FunctionResponse(
        id=interrupt_id, name="adk_request_input", response={"approved": True}
    )
    message = types.Content(role="user", parts=[types.Part(function_response=response)])
    runner = Runner(app=compiled.app, session_service=service)
    events = [
        event
        async for event in runner.run_async(user_id="accord", session_id="r1", new_message=message)
    ]
    return {"status": "paused" if events[-1].get_function_calls() else "done"}


async def main() -> None:
    mode = sys.argv[2]
    try:
        if mode == "start":
            print(json.dumps(told(await compiled.run({}, run_id="r1"))), flush=True)
            await asyncio.Event().wait()
        checkpoint = compiled.load_checkpoint(sys.stdin.readline().strip())
        # All processes have loaded everything before the first one answers.
        print("ready", flush=True)
        sys.stdin.readline()
        if mode == "resume":
            answer = ApprovalDecision(approved=True)
            print(json.dumps(told(await compiled.resume(checkpoint, answer))))
        else:
            print(json.dumps(await raw_answer(checkpoint.engine["interrupt_id"])))
    except (AdapterError, ValueError) as error:
        print(json.dumps({"status": type(error).__name__, "message": str(error)}))


asyncio.run(main())
