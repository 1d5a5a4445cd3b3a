"""What only the SQLite store promises: other processes, kills, and files that do not work."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from accord.approval import (
    ApprovalDecision,
    ApprovalRequest,
    MemoryApprovalStore,
    SqliteApprovalStore,
)
from accord.errors import ConfigError

RACE = Path(__file__).with_name("approval_race.py")


@pytest.mark.parametrize("reasons", [("first", "second"), ("same", "same")])
async def test_of_two_processes_that_settle_a_record_exactly_one_succeeds(
    tmp_path: Path, reasons: tuple[str, str]
) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path)
    ids = set()
    for number in range(100):
        request = ApprovalRequest(kind="tool", tool="t", run_id="run", call_id=f"f:n:1:{number}")
        await store.create(request)
        ids.add(request.id)

    racers = [
        subprocess.Popen(
            [sys.executable, str(RACE), str(path), reason],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for reason in reasons
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate()[0]) for racer in racers]

    assert [racer.returncode for racer in racers] == [0, 0]
    assert len(won[0]) + len(won[1]) == 100
    assert {*won[0], *won[1]} == ids
    answers = {record.request.id: record.decision for record in await store.list("consumed")}
    for reason, won_by_racer in zip(reasons, won, strict=True):
        for approval_id in won_by_racer:
            assert answers[approval_id] == ApprovalDecision(approved=True, reason=reason)


async def test_first_uses_of_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    requests = [
        ApprovalRequest(kind="tool", tool="t", run_id="run", call_id=str(n)) for n in range(8)
    ]

    await asyncio.gather(*(SqliteApprovalStore(path).create(request) for request in requests))

    assert len(await SqliteApprovalStore(path).list("pending")) == 8


async def test_the_file_is_in_write_ahead_mode(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    await SqliteApprovalStore(path).list()

    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_record_outlives_the_kill_of_its_process(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    program = (
        "import asyncio, os, signal, sys\n"
        "from accord.approval import ApprovalRequest, SqliteApprovalStore\n"
        "request = ApprovalRequest(kind='tool', tool='t', run_id='r', call_id='c', id='kept')\n"
        "asyncio.run(SqliteApprovalStore(sys.argv[1]).create(request))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    killed = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )

    assert killed.returncode == -signal.SIGKILL
    record = await SqliteApprovalStore(path).get("kept")
    assert record is not None
    assert record.status == "pending"


async def test_a_change_that_a_kill_cut_short_never_happened(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path)
    await store.create(ApprovalRequest(kind="tool", tool="t", run_id="r", call_id="c", id="a"))
    program = (
        "import os, signal, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "connection.execute(\"UPDATE accord_approvals SET status = 'consumed'\")\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    subprocess.run([sys.executable, "-c", program, str(path)], check=False)

    assert (await store.decide("a", ApprovalDecision(approved=True))).status == "decided"


async def test_a_file_that_another_process_is_writing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path, busy_seconds=0)
    request = ApprovalRequest(kind="tool", tool="t", run_id="r", call_id="c")
    await store.create(request)

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigError, match=r"approvals.db.*locked.*larger busy_seconds"):
            await store.decide(request.id, ApprovalDecision(approved=True))
        record = await store.get(request.id)

    assert record is not None
    assert record.status == "pending"


async def test_a_file_in_rollback_mode_is_read_while_another_process_writes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path, busy_seconds=0)
    request = ApprovalRequest(kind="tool", tool="t", run_id="r", call_id="c")
    await store.create(request)

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("BEGIN IMMEDIATE")

        record = await store.get(request.id)

    assert record is not None
    assert record.request == request


async def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)

    with pytest.raises(ConfigError, match=r"notes\.txt.*no SQLite database or it is damaged"):
        await SqliteApprovalStore(path).list()

    assert path.read_text() == "not a database " * 100


async def test_a_file_in_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"approvals\.db.*check that its folder exists"):
        await SqliteApprovalStore(tmp_path / "nowhere" / "approvals.db").list()


async def test_a_row_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    store = SqliteApprovalStore(path)
    await store.create(ApprovalRequest(kind="tool", tool="t", run_id="r", call_id="c", id="a"))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("UPDATE accord_approvals SET arguments = '{'")

    with pytest.raises(ConfigError, match=r"approvals\.db.*cannot be read; restore"):
        await store.get("a")


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"path of a file.*MemoryApprovalStore\(\)"):
        SqliteApprovalStore(path)


def test_the_repr_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"

    assert repr(SqliteApprovalStore(path)) == f"SqliteApprovalStore({str(path)!r})"


def test_making_a_store_opens_no_file(tmp_path: Path) -> None:
    SqliteApprovalStore(tmp_path / "approvals.db")

    assert list(tmp_path.iterdir()) == []


def test_stores_are_equal_when_they_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert SqliteApprovalStore("a.db") == SqliteApprovalStore(tmp_path / "a.db")
    assert hash(SqliteApprovalStore("a.db")) == hash(SqliteApprovalStore(tmp_path / "a.db"))
    assert SqliteApprovalStore("a.db") != SqliteApprovalStore("b.db")
    assert SqliteApprovalStore("a.db") != MemoryApprovalStore()


def test_importing_the_package_imports_no_sqlite() -> None:
    program = "import sys, accord.approval\nprint('sqlite3' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "False\n"
