"""The `accord` command: exit codes, messages, and what it prints."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from accord_parity.cli import main


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])

    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("accord 0.")


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])

    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_parity_prints_a_table_and_exits_0_when_all_agree(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["parity", "--engine", "native"])

    printed = capsys.readouterr()
    assert code == 0
    assert printed.out.count("equal") == 3
    assert "replay_two_confirms" in printed.out
    assert printed.err == ""


def test_parity_shows_recorded_differences_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["parity", "--engine", "langgraph", "--scenario", "replay_two_confirms"])

    assert code == 0
    assert "recorded (3)" in capsys.readouterr().out


def test_parity_json_has_its_stable_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["parity", "--json", "--scenario", "replay_two_confirms"])

    printed = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(printed) == {"scenarios", "differences"}
    (scenario,) = printed["scenarios"]
    assert scenario["name"] == "replay_two_confirms"
    engines = scenario["engines"]
    assert {name: engine["equal"] for name, engine in engines.items()} == {
        "native": True,
        "adk": True,
        "langgraph": False,
    }
    assert engines["adk"]["recorded"] == []
    assert engines["langgraph"]["recorded"] == ["calls.A", "calls.B", "events.replay:work:1"]
    assert len(engines["langgraph"]["observation"]["calls"]["A"]) == 3
    assert {each["status"] for each in printed["differences"]} == {"recorded"}
    assert {each["engine"] for each in printed["differences"]} == {"langgraph"}


def test_parity_refuses_an_unknown_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["parity", "--scenario", "nope"])

    assert code == 2
    assert "there is no scenario 'nope'" in capsys.readouterr().err


def test_parity_refuses_an_unknown_engine(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["parity", "--engine", "steam"])

    assert code == 2
    assert "there is no engine 'steam'" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["parity"], ["demo", "--yes"]])
def test_an_engine_that_is_not_installed_is_named_with_its_install_line(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "accord_langgraph", None)

    code = main(command)

    assert code == 2
    assert 'pip install "accord[langgraph]"' in capsys.readouterr().err


@pytest.mark.parametrize("command", ["parity", "demo"])
def test_without_rich_the_command_names_its_install_line(command: str) -> None:
    program = (
        "import sys; sys.modules['rich'] = None; from accord_parity.cli import main; "
        f"sys.exit(main([{command!r}]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert 'pip install "accord[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_demo_without_a_terminal_and_without_an_answer_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "accord_parity.cli", "demo"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "--yes or --no" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("answer", "status"), [("--yes", "done"), ("--no", "denied")])
def test_demo_with_an_answer_agrees_on_all_engines(
    answer: str, status: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    code = main(["demo", answer])

    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if status in line.split()]
    assert code == 0
    assert [row[:2] for row in rows] == [["native", status], ["adk", status], ["langgraph", status]]
    assert all(row[-1] == "yes" for row in rows)
    assert max(len(line) for line in printed.out.splitlines()) <= 80
    assert "search_articles 3" in printed.out
    assert "node:research.approve" in printed.err


def test_demo_takes_one_answer() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--yes", "--no"])

    assert stopped.value.code == 2


@pytest.mark.parametrize(("typed", "status"), [(b"what\ny\n", "done"), (b"n\n", "denied")])
def test_demo_asks_once_at_a_terminal(typed: bytes, status: str) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "accord_parity.cli", "demo"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        os.close(theirs)
        os.write(ours, typed)
        out, err = demo.communicate(timeout=50)
    os.close(ours)

    assert demo.returncode == 0
    assert out.count(status) == 3
    assert err.count("Approval needed: node:research.approve") == 1
    assert err.count("Approve? (y/n)") == typed.count(b"\n")
