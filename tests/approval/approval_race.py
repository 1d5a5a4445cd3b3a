"""One of two processes that race for the records of a store; run by test_approval_sqlite.py.

Arguments: the store's file, the answer's reason. It says "ready", waits for a line, settles every
record with its answer, and prints the ids that it won, as JSON.
"""

import asyncio
import json
import sys

from accord.approval import ApprovalDecision, SqliteApprovalStore, settle
from accord.errors import ApprovalAlreadyDecided


async def race(path: str, reason: str) -> list[str]:
    store = SqliteApprovalStore(path, busy_seconds=30)
    requests = [record.request for record in await store.list()]
    decision = ApprovalDecision(approved=True, reason=reason)
    print("ready", flush=True)
    sys.stdin.readline()
    won = []
    for request in requests:
        try:
            await settle(request, decision, store)
        except ApprovalAlreadyDecided:
            continue
        won.append(request.id)
    return won


if __name__ == "__main__":
    print(json.dumps(asyncio.run(race(sys.argv[1], sys.argv[2]))))
