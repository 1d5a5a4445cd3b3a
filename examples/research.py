"""The research flow on the engine of your choice: `python examples/research.py [ENGINE]`.

The flow itself is in `accord_parity/flows/research.py`. It plans two searches, runs them side by
side, asks for one more source, and waits for an approval before it ends.
"""

from __future__ import annotations

import asyncio
import sys

import accord
from accord import (
    ApprovalDecision,
    CallableModel,
    DeferredApproval,
    Executor,
    FlowError,
    MemoryApprovalStore,
)
from accord_parity.flows.research import QUESTION, answer, flow, research_tools


async def main(engine_name: str) -> None:
    """Run the flow, approve what it asks, and print what came of it."""
    engine = accord.engine(
        engine_name,
        Executor(research_tools()),
        approval=DeferredApproval(MemoryApprovalStore()),
        model=CallableModel(answer),
    )
    paused = await engine.run(flow, QUESTION)
    if paused.pending is None or paused.checkpoint is None:
        raise FlowError(f"expected the approval pause, got {paused.status}")
    print(paused.status, paused.pending.tool, paused.pending.arguments)

    done = await engine.resume(flow, paused.checkpoint, ApprovalDecision(approved=True))
    print(done.status, done.steps, dict(done.visits))
    print([hit.source_id for hit in done.state.evidence])
    print(done.state.answer)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or ["native"]))
