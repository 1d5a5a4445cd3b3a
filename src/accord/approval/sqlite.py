"""An approval store in an SQLite file, shared by every process that opens the file."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from accord.approval._stored import (
    StoredApproval,
    arguments_text,
    decision_text,
    taken_id,
    unknown_approval,
)
from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.approval.store import ApprovalRecord, ApprovalStatus
from accord.errors import ConfigError

# sqlite3 and asyncio are imported where they are used: most programs need no SQLite store.
if TYPE_CHECKING:
    import sqlite3

_Result = TypeVar("_Result")
_Row = tuple[str, str, str, str, str, str, ApprovalStatus, str | None]

# `seq` gives the order; every text is ASCII, escaped as in JSON.
_CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS accord_approvals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    status TEXT NOT NULL,
    decision TEXT
)
"""
_CREATE_INDEX = """
CREATE INDEX IF NOT EXISTS accord_approvals_by_call ON accord_approvals (run_id, call_id)
"""
_INSERT = """
INSERT INTO accord_approvals (id, kind, tool, arguments, run_id, call_id, status, decision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
_SELECT = "SELECT id, kind, tool, arguments, run_id, call_id, status, decision"
_BY_ID = f"{_SELECT} FROM accord_approvals WHERE id = ?"
_NEWEST = f"""
{_SELECT} FROM accord_approvals
WHERE run_id = ? AND call_id = ? AND tool = ? AND arguments = ? ORDER BY seq DESC LIMIT 1
"""
_OLDEST_FIRST = f"{_SELECT} FROM accord_approvals ORDER BY seq"
_OLDEST_FIRST_BY_STATUS = f"{_SELECT} FROM accord_approvals WHERE status = ? ORDER BY seq"
_STEP = """
UPDATE accord_approvals SET status = ?, decision = ? WHERE id = ? AND status = ?
"""


class SqliteApprovalStore:
    """Keeps approvals in a file; they outlive the process, and several processes may share them.

    Two stores on the same file are equal, because they hold the same records.

    Implements: "Approval stores".

    Attributes:
        path: The file, absolute; it is made on first use.
        busy_seconds: How long to wait for another process that is writing, in seconds.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 5.0) -> None:
        """Name the file; nothing is opened yet.

        Args:
            path: The database file; its folder must exist.
            busy_seconds: How long to wait for another process that is writing, in seconds.

        Raises:
            ConfigError: If `path` names no file.
        """
        if os.fspath(path) in ("", ":memory:"):
            raise ConfigError(
                f"SqliteApprovalStore needs the path of a file and got {os.fspath(path)!r}; "
                "use MemoryApprovalStore() to keep approvals in memory"
            )
        self.path = Path(path).resolve()
        self.busy_seconds = busy_seconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SqliteApprovalStore) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"SqliteApprovalStore({str(self.path)!r})"

    async def create(self, request: ApprovalRequest) -> ApprovalRecord:
        """Keep a new, pending request; see `ApprovalStore.create`."""
        stored = StoredApproval.of(request)

        def insert(connection: sqlite3.Connection) -> None:
            if connection.execute(_INSERT, _row(stored)).rowcount == 0:
                raise taken_id(stored.id)

        await self._in_thread(insert, write=True)
        return stored.record()

    async def get(self, approval_id: str, /) -> ApprovalRecord | None:
        """Return the record with this id, or None."""
        return await self._in_thread(
            lambda connection: _first(connection.execute(_BY_ID, (_escape(approval_id),)))
        )

    async def find(
        self, run_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> ApprovalRecord | None:
        """Return the newest record of this question, or None; see `ApprovalStore.find`."""
        text = arguments_text(tool, arguments)
        question = (_escape(run_id), _escape(call_id), _escape(tool), text)
        return await self._in_thread(
            lambda connection: _first(connection.execute(_NEWEST, question))
        )

    async def list(self, status: ApprovalStatus | None = None) -> builtins.list[ApprovalRecord]:
        """Return the records, oldest first; only those with `status` if one is given."""

        def select(connection: sqlite3.Connection) -> builtins.list[ApprovalRecord]:
            if status is None:
                rows = connection.execute(_OLDEST_FIRST)
            else:
                rows = connection.execute(_OLDEST_FIRST_BY_STATUS, (status,))
            return [_stored(row).record() for row in rows]

        return await self._in_thread(select)

    async def decide(self, approval_id: str, decision: ApprovalDecision, /) -> ApprovalRecord:
        """Answer a pending request; see `ApprovalStore.decide`."""
        text = decision_text(approval_id, decision)
        return await self._step(approval_id, lambda stored: stored.decided(text))

    async def consume(self, approval_id: str, /) -> ApprovalRecord:
        """Use the decision, which can be done once; see `ApprovalStore.consume`."""
        return await self._step(approval_id, StoredApproval.consumed)

    async def _step(
        self, approval_id: str, change: Callable[[StoredApproval], StoredApproval]
    ) -> ApprovalRecord:
        def update(connection: sqlite3.Connection) -> ApprovalRecord:
            row = connection.execute(_BY_ID, (_escape(approval_id),)).fetchone()
            if row is None:
                raise unknown_approval(approval_id)
            before = _stored(row)
            after = change(before)
            # The write lock is held since before the read, so the status cannot have moved.
            connection.execute(
                _STEP, (after.status, after.decision, _escape(approval_id), before.status)
            )
            return after.record()

        return await self._in_thread(update, write=True)

    async def _in_thread(
        self, work: Callable[[sqlite3.Connection], _Result], *, write: bool = False
    ) -> _Result:
        import asyncio

        working = asyncio.ensure_future(asyncio.to_thread(self._work, work, write))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            # The thread cannot be stopped; what the caller does next must not run beside it.
            await asyncio.wait([working])
            raise

    def _work(self, work: Callable[[sqlite3.Connection], _Result], write: bool) -> _Result:
        import sqlite3
        from contextlib import closing

        try:
            with closing(self._connect()) as connection:
                if not write:
                    return work(connection)
                connection.execute("BEGIN IMMEDIATE")
                # Closing without a commit rolls back.
                result = work(connection)
                connection.execute("COMMIT")
                return result
        except sqlite3.Error as error:
            raise ConfigError(
                f"the approval store {str(self.path)!r} cannot be used: {error}; {_hint(error)}"
            ) from error
        except ValueError as error:
            raise ConfigError(
                f"the approval store {str(self.path)!r} holds a record that cannot be read; "
                "restore the file from a copy, or delete the row from accord_approvals"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        # A connection for each operation: nothing to close, and nothing to inherit in a fork.
        connection = sqlite3.connect(self.path, timeout=self.busy_seconds, isolation_level=None)
        try:
            _prefer_wal(connection)
            connection.execute(_CREATE_TABLE)
            connection.execute(_CREATE_INDEX)
        except BaseException:
            connection.close()
            raise
        return connection


def _prefer_wal(connection: sqlite3.Connection) -> None:
    import sqlite3

    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # SQLite does not wait here. The old mode is as safe, and the next operation switches.
        if _code(error) != sqlite3.SQLITE_BUSY:
            raise


def _code(error: sqlite3.Error) -> int:
    import sqlite3

    # The low byte is the primary code; only errors that SQLite itself reports have one.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _hint(error: sqlite3.Error) -> str:
    import sqlite3

    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another process is writing to it: try again, or pass a larger busy_seconds"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return "it is no SQLite database or it is damaged: restore it, or pass another path"
    return "check that its folder exists and that this process may write there"


def _escape(text: str) -> str:
    # SQLite takes no lone surrogates, which a name or an id may hold.
    return json.dumps(text)[1:-1]


def _unescape(text: str) -> str:
    return str(json.loads(f'"{text}"'))


def _row(stored: StoredApproval) -> _Row:
    return (
        _escape(stored.id),
        stored.kind,
        _escape(stored.tool),
        stored.arguments,
        _escape(stored.run_id),
        _escape(stored.call_id),
        stored.status,
        stored.decision,
    )


def _stored(row: _Row) -> StoredApproval:
    approval_id, kind, tool, arguments, run_id, call_id, status, decision = row
    return StoredApproval(
        id=_unescape(approval_id),
        kind=kind,
        tool=_unescape(tool),
        arguments=arguments,
        run_id=_unescape(run_id),
        call_id=_unescape(call_id),
        status=status,
        decision=decision,
    )


def _first(rows: sqlite3.Cursor) -> ApprovalRecord | None:
    row = rows.fetchone()
    return None if row is None else _stored(row).record()
