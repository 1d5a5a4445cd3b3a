"""One leg of a run in a process of its own, on SQLite; started by the tests of fresh processes.

Usage: paused_process.py <folder> <flow> run
       paused_process.py <folder> <flow> resume < <checkpoint>

Prints one line of JSON about how the leg ended. After `run` it waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel, Field

from accord import (
    AdapterError,
    ApprovalDecision,
    CallableModel,
    DeferredApproval,
    Executor,
    Flow,
    FlowResult,
    Merge,
    SqliteApprovalStore,
    Tool,
    ToolContext,
    ToolRegistry,
)
from accord_langgraph import LangGraphEngine
from accord_parity.flows import research


class Ledger(BaseModel):
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)


async def two_confirms(state: Ledger, ctx: ToolContext) -> dict[str, Any]:
    return {
        "log": [
            await ctx.call("look"),
            await ctx.call("pay"),
            await ctx.call("notify"),
        ]
    }


def registry_of(calls: Path) -> ToolRegistry:
    """Tools that note each call in a file, which outlives the process."""
    registry = ToolRegistry()

    def counted(name: str, *, confirm: bool) -> None:
        def call() -> str:
            with calls.open("a") as file:
                file.write(f"{name}\n")
            return name

        registry.add(Tool.from_function(call, name=name, confirm=confirm))

    counted("look", confirm=False)
    counted("pay", confirm=True)
    counted("notify", confirm=True)
    return registry


FLOWS: dict[str, tuple[Flow[Any], dict[str, Any]]] = {
    "research": (research.flow, research.QUESTION),
    "confirms": (Flow("confirms", state=Ledger).node("work", two_confirms).end("work"), {}),
}


async def main(folder: Path, name: str, leg: str) -> None:
    flow, given = FLOWS[name]
    registry = (
        research.research_tools() if name == "research" else registry_of(folder / "calls.txt")
    )
    port = DeferredApproval(SqliteApprovalStore(folder / "approvals.db"))
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        engine = LangGraphEngine(
            Executor(registry, approval=port),
            model=CallableModel(research.answer),
            checkpointer=saver,
        )
        if leg == "run":
            report(engine, await engine.run(flow, given))
            sys.stdin.read()  # until the test kills this process
        else:
            checkpoint = engine.load_checkpoint(flow, sys.stdin.read())
            try:
                decision = ApprovalDecision(approved=True)
                report(engine, await engine.resume(flow, checkpoint, decision))
            except AdapterError as error:
                print(json.dumps({"error": type(error).__name__}), flush=True)


def report(engine: LangGraphEngine, result: FlowResult[Any]) -> None:
    checkpoint = result.checkpoint
    print(
        json.dumps(
            {
                "status": result.status,
                "steps": result.steps,
                "visits": dict(result.visits),
                "state": result.state.model_dump(mode="json"),
                "types": sorted(
                    {type(hit).__name__ for hit in getattr(result.state, "evidence", ())}
                ),
                "pending": result.pending.tool if result.pending else None,
                "checkpoint": engine.dump_checkpoint(checkpoint) if checkpoint else None,
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
