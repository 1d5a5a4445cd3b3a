"""Settling and closing a request in the stores that hold it."""

import asyncio
from pathlib import Path

import pytest

from accord.approval import (
    ApprovalDecision,
    ApprovalRecord,
    ApprovalRequest,
    MemoryApprovalStore,
    SqliteApprovalStore,
    close,
    settle,
)
from accord.errors import ApprovalAlreadyDecided, ConfigError

YES = ApprovalDecision(approved=True, edited_args={"n": 1})
NO = ApprovalDecision(approved=False)


@pytest.fixture
def request_() -> ApprovalRequest:
    return ApprovalRequest(kind="tool", tool="t", run_id="run", call_id="f:n:1:0")


async def status(store: MemoryApprovalStore, request: ApprovalRequest) -> str:
    record = await store.get(request.id)
    assert record is not None
    return record.status


async def test_a_pending_record_is_decided_and_consumed(request_: ApprovalRequest) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)

    await settle(request_, YES, store)

    assert await store.get(request_.id) == ApprovalRecord(
        request=request_, status="consumed", decision=YES
    )


async def test_a_record_with_the_same_decision_is_consumed(request_: ApprovalRequest) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)
    await store.decide(request_.id, YES)

    await settle(request_, YES, store)

    assert await status(store, request_) == "consumed"


@pytest.mark.parametrize(
    "other",
    [
        NO,
        ApprovalDecision(approved=True),
        ApprovalDecision(approved=True, edited_args={"n": True}),
        ApprovalDecision(approved=True, edited_args={"n": 1}, reason="another"),
    ],
)
async def test_a_record_with_another_decision_refuses(
    request_: ApprovalRequest, other: ApprovalDecision
) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)
    await store.decide(request_.id, other)

    with pytest.raises(ApprovalAlreadyDecided, match=r"decided otherwise.*Resume with") as caught:
        await settle(request_, YES, store)

    assert caught.value.approval_id == request_.id
    assert await status(store, request_) == "decided"


async def test_a_consumed_record_refuses_even_the_same_decision(
    request_: ApprovalRequest,
) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)
    await settle(request_, YES, store)

    with pytest.raises(ApprovalAlreadyDecided):
        await settle(request_, YES, store)


async def test_a_store_that_does_not_hold_the_request_is_passed_over(
    request_: ApprovalRequest,
) -> None:
    store = MemoryApprovalStore()

    await settle(request_, YES, None, store)

    assert await store.list() == []


async def test_every_store_that_holds_the_request_is_settled(request_: ApprovalRequest) -> None:
    pending, decided = MemoryApprovalStore(), MemoryApprovalStore()
    await pending.create(request_)
    await decided.create(request_)
    await decided.decide(request_.id, YES)

    await settle(request_, YES, pending, MemoryApprovalStore(), decided)

    assert await status(pending, request_) == "consumed"
    assert await status(decided, request_) == "consumed"


async def test_a_refusal_by_the_last_store_changes_nothing_in_the_first(
    request_: ApprovalRequest,
) -> None:
    first, last = MemoryApprovalStore(), MemoryApprovalStore()
    await first.create(request_)
    await last.create(request_)
    await last.decide(request_.id, NO)

    with pytest.raises(ApprovalAlreadyDecided):
        await settle(request_, YES, first, last)

    assert await status(first, request_) == "pending"
    assert await status(last, request_) == "decided"


class OutOfReach(MemoryApprovalStore):
    """A store that can be read and fails on its first change, as over a broken connection."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 1

    async def decide(self, approval_id: str, decision: ApprovalDecision, /) -> ApprovalRecord:
        if self.failures:
            self.failures -= 1
            raise ConfigError("out of reach")
        return await super().decide(approval_id, decision)


async def test_a_settle_that_broke_off_can_be_made_again(request_: ApprovalRequest) -> None:
    first, last = MemoryApprovalStore(), OutOfReach()
    await first.create(request_)
    await last.create(request_)
    with pytest.raises(ConfigError, match="out of reach"):
        await settle(request_, YES, first, last)

    await settle(request_, YES, first, last)

    assert await status(first, request_) == "consumed"
    assert await status(last, request_) == "consumed"


async def test_one_store_given_twice_is_settled_once(
    request_: ApprovalRequest, tmp_path: Path
) -> None:
    memory = MemoryApprovalStore()
    await memory.create(request_)
    path = tmp_path / "approvals.db"
    await SqliteApprovalStore(path).create(request_)

    await settle(request_, YES, memory, memory)
    await settle(request_, YES, SqliteApprovalStore(path), SqliteApprovalStore(path))

    assert [record.status for record in await SqliteApprovalStore(path).list()] == ["consumed"]


@pytest.mark.parametrize("second", [YES, NO], ids=["same answer", "other answer"])
async def test_of_two_settles_at_once_exactly_one_succeeds(
    request_: ApprovalRequest, tmp_path: Path, second: ApprovalDecision
) -> None:
    first_store, second_store = MemoryApprovalStore(), SqliteApprovalStore(tmp_path / "a.db")
    await first_store.create(request_)
    await second_store.create(request_)

    outcomes = await asyncio.gather(
        settle(request_, YES, first_store, second_store),
        settle(request_, second, first_store, second_store),
        return_exceptions=True,
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        "ApprovalAlreadyDecided",
        "NoneType",
    ]
    assert await status(first_store, request_) == "consumed"


async def test_an_answer_that_cannot_be_stored_changes_nothing(request_: ApprovalRequest) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)

    with pytest.raises(ConfigError, match="JSON values only"):
        await settle(request_, ApprovalDecision(approved=True, edited_args={"n": object()}), store)

    assert await status(store, request_) == "pending"


async def test_an_answer_that_no_store_has_to_keep_may_hold_any_value(
    request_: ApprovalRequest,
) -> None:
    decision = ApprovalDecision(approved=True, edited_args={"n": object()})

    await settle(request_, decision)
    await settle(request_, decision, None, MemoryApprovalStore())


async def test_closing_a_pending_record_denies_and_consumes_it(
    request_: ApprovalRequest,
) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)

    await close(request_, "superseded", None, store)

    assert await store.get(request_.id) == ApprovalRecord(
        request=request_,
        status="consumed",
        decision=ApprovalDecision(approved=False, reason="superseded"),
    )


async def test_closing_a_decided_record_consumes_it_unused(request_: ApprovalRequest) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)
    await store.decide(request_.id, YES)

    await close(request_, "superseded", store)

    assert await store.get(request_.id) == ApprovalRecord(
        request=request_, status="consumed", decision=YES
    )


async def test_closing_what_is_consumed_or_not_held_does_nothing(
    request_: ApprovalRequest,
) -> None:
    consumed, empty = MemoryApprovalStore(), MemoryApprovalStore()
    await consumed.create(request_)
    await settle(request_, YES, consumed)

    await close(request_, "superseded", consumed, empty)

    assert await consumed.get(request_.id) == ApprovalRecord(
        request=request_, status="consumed", decision=YES
    )
    assert await empty.list() == []


async def test_closes_at_once_do_not_disturb_each_other(request_: ApprovalRequest) -> None:
    store = MemoryApprovalStore()
    await store.create(request_)

    await asyncio.gather(*(close(request_, "superseded", store) for _ in range(5)))

    assert await status(store, request_) == "consumed"
