"""A paused run outlives its process: SQLite threads, SQLite approvals, one key for both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from accord import (
    ApprovalDecision,
    CallableModel,
    ConfigError,
    DeferredApproval,
    Executor,
    FlowRunner,
    MemoryApprovalStore,
)
from accord_langgraph import LangGraphEngine, compile_flow
from accord_parity.flows import research

SCRIPT = Path(__file__).with_name("paused_process.py")
ENVIRONMENT = {
    **os.environ,
    "ACCORD_CHECKPOINT_KEY": "0123456789abcdef0123456789abcdef",
    "PYTHONPATH": os.pathsep.join(sys.path),
}


def paused_and_killed(folder: Path, flow: str) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", SCRIPT, folder, flow, "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert line, process.stderr.read()
    assert process.returncode == -signal.SIGKILL
    paused: dict[str, Any] = json.loads(line)
    return paused


def resumed(folder: Path, flow: str, checkpoint: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, folder, flow, "resume"],
        input=checkpoint,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    # Also no warning that LangGraph logs, such as that it does not know the classes of the state.
    assert ended.stderr == ""
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


async def test_a_run_whose_process_was_killed_while_paused_ends_as_native(tmp_path: Path) -> None:
    # Given the native result
    native = FlowRunner(
        Executor(research.research_tools()),
        approval=DeferredApproval(MemoryApprovalStore()),
        model=CallableModel(research.answer),
    )
    waits = await native.run(research.flow, research.QUESTION)
    assert waits.checkpoint is not None
    expected = await native.resume(research.flow, waits.checkpoint, ApprovalDecision(approved=True))

    # When a process pauses and is killed, and another one resumes
    paused = paused_and_killed(tmp_path, "research")
    done = resumed(tmp_path, "research", paused["checkpoint"])

    # Then it ends as native, and a second resume in a third process is refused
    assert (paused["status"], paused["pending"]) == ("paused", "node:research.approve")
    assert done["state"] == expected.state.model_dump(mode="json")
    assert done["types"] == ["Hit"]
    assert (done["status"], done["steps"]) == ("done", expected.steps)
    assert done["visits"] == dict(expected.visits)
    assert resumed(tmp_path, "research", paused["checkpoint"]) == {
        "error": "ApprovalAlreadyDecided"
    }


def test_two_confirms_are_answered_in_processes_of_their_own(tmp_path: Path) -> None:
    first = paused_and_killed(tmp_path, "confirms")

    second = resumed(tmp_path, "confirms", first["checkpoint"])
    refused = resumed(tmp_path, "confirms", first["checkpoint"])
    done = resumed(tmp_path, "confirms", second["checkpoint"])

    assert [first["pending"], second["pending"], done["pending"]] == ["pay", "notify", None]
    assert refused == {"error": "ApprovalAlreadyDecided"}
    assert done["state"] == {"log": ["look", "pay", "notify"]}
    calls = (tmp_path / "calls.txt").read_text().split()
    assert [calls.count(name) for name in ("look", "pay", "notify")] == [3, 2, 1]


async def test_a_durable_checkpointer_needs_a_key_that_lasts(tmp_path: Path) -> None:
    executor = Executor(research.research_tools())
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        with pytest.raises(ConfigError, match=r"token_hex.*ACCORD_CHECKPOINT_KEY"):
            LangGraphEngine(executor, checkpointer=saver)
        with pytest.raises(ConfigError, match="AsyncSqliteSaver"):
            compile_flow(research.flow, executor, checkpointer=saver)

        LangGraphEngine(executor, checkpointer=saver, checkpoint_key=b"k" * 32)
