"""A run outlives its process: killed while paused, resumed in others, answered once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "desk_process.py"
KEY = {"ACCORD_CHECKPOINT_KEY": "a key for tests only, of 32 bytes"}


def leg(directory: Path, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(directory), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **KEY, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def started_and_killed(directory: Path) -> dict[str, Any]:
    with leg(directory, "start") as process:
        assert process.stdout is not None
        paused: dict[str, Any] = json.loads(process.stdout.readline())
        process.kill()
    assert process.returncode == -signal.SIGKILL
    return paused


def answered(directory: Path, checkpoint: str, *modes: str) -> list[dict[str, Any]]:
    with ExitStack() as running:
        processes = [running.enter_context(leg(directory, mode)) for mode in modes]
        for process in processes:
            running.callback(process.kill)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{checkpoint}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [json.loads(process.communicate()[0]) for process in processes]


def test_a_run_that_was_killed_while_paused_goes_on_in_fresh_processes(tmp_path: Path) -> None:
    paused = started_and_killed(tmp_path)

    (second,) = answered(tmp_path, paused["checkpoint"], "resume")
    (done,) = answered(tmp_path, second["checkpoint"], "resume")

    assert [paused["status"], second["status"], done["status"]] == ["paused", "paused", "done"]
    assert done["state"] == {"paid": 3}
    assert (tmp_path / "calls").read_text().split("\n") == ["look", "pay 1", "pay 2", ""]


@pytest.mark.parametrize("modes", [("resume", "raw"), ("raw", "resume")])
def test_a_second_answer_in_another_process_runs_nothing(
    tmp_path: Path, modes: tuple[str, str]
) -> None:
    paused = started_and_killed(tmp_path)

    (first,) = answered(tmp_path, paused["checkpoint"], modes[0])
    (second,) = answered(tmp_path, paused["checkpoint"], modes[1])

    assert (first["status"], second["status"]) == ("paused", "ApprovalAlreadyDecided")
    assert (tmp_path / "calls").read_text().split("\n") == ["look", "pay 1", ""]


def test_of_two_processes_that_resume_at_once_one_goes_on(tmp_path: Path) -> None:
    paused = started_and_killed(tmp_path)

    legs = answered(tmp_path, paused["checkpoint"], "resume", "resume")

    assert sorted(each["status"] for each in legs) == ["ApprovalAlreadyDecided", "paused"]
    assert (tmp_path / "calls").read_text().split("\n") == ["look", "pay 1", ""]


@pytest.mark.parametrize("other", ["raw", "resume"])
def test_a_raw_answer_at_the_same_instant_as_another_runs_nothing_twice(
    tmp_path: Path, other: str
) -> None:
    paused = started_and_killed(tmp_path)

    legs = answered(tmp_path, paused["checkpoint"], "raw", other)

    # ADK writes a raw answer into the session before the flow sees it, and lets a session have
    # one writer only: the later one may end the other's leg, after its call was made.
    assert {each["status"] for each in legs} < {
        "ApprovalAlreadyDecided",
        "StaleSessionError",
        "paused",
    }
    assert (tmp_path / "calls").read_text().split("\n") == ["look", "pay 1", ""]
