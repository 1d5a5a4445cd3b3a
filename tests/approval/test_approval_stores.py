"""What every approval store promises; each test runs on each store."""

import threading
from asyncio import run
from pathlib import Path

import pytest
from pydantic import BaseModel

from accord.approval import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStore,
    MemoryApprovalStore,
    SqliteApprovalStore,
)
from accord.errors import AdapterError, ApprovalAlreadyDecided, ConfigError


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ApprovalStore:
    if request.param == "memory":
        return MemoryApprovalStore()
    return SqliteApprovalStore(tmp_path / "approvals.db")


def refund(**arguments: object) -> ApprovalRequest:
    return ApprovalRequest(
        kind="tool", tool="refund", arguments=arguments, run_id="run", call_id="shop:pay:1:0"
    )


async def test_a_created_request_is_pending(store: ApprovalStore) -> None:
    request = refund(amount=5)

    record = await store.create(request)

    assert record.request == request
    assert record.status == "pending"
    assert record.decision is None
    assert await store.get(request.id) == record


async def test_a_gate_s_request_comes_back_as_it_was(store: ApprovalStore) -> None:
    gate = ApprovalRequest(
        kind="node",
        tool="node:shop.pay",
        arguments={"total": 1.5},
        run_id="r",
        call_id="shop:pay:1",
    )

    await store.create(gate)

    record = await store.get(gate.id)
    assert record is not None
    assert record.request == gate


async def test_an_id_is_taken_once(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)

    with pytest.raises(ConfigError, match=f"already holds an approval '{request.id}'.*get"):
        await store.create(request.model_copy(update={"arguments": {"amount": 500}}))

    record = await store.get(request.id)
    assert record is not None
    assert record.request.arguments == {"amount": 5}


async def test_an_unknown_id_has_no_record(store: ApprovalStore) -> None:
    assert await store.get("nobody") is None


async def test_an_unknown_id_can_be_neither_decided_nor_consumed(store: ApprovalStore) -> None:
    with pytest.raises(AdapterError, match=r"no approval 'nobody'; list\(status='pending'\)"):
        await store.decide("nobody", ApprovalDecision(approved=True))
    with pytest.raises(AdapterError, match=r"no approval 'nobody'; list\(status='pending'\)"):
        await store.consume("nobody")


async def test_a_decision_is_kept_and_then_used(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)
    decision = ApprovalDecision(approved=True, edited_args={"amount": 4}, reason="fair")

    decided = await store.decide(request.id, decision)
    consumed = await store.consume(request.id)

    assert (decided.status, decided.decision) == ("decided", decision)
    assert (consumed.status, consumed.decision) == ("consumed", decision)
    assert await store.get(request.id) == consumed


async def test_a_request_is_decided_once(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)
    await store.decide(request.id, ApprovalDecision(approved=False))

    with pytest.raises(ApprovalAlreadyDecided, match="nothing was changed") as caught:
        await store.decide(request.id, ApprovalDecision(approved=True))

    assert caught.value.approval_id == request.id
    record = await store.get(request.id)
    assert record is not None
    assert record.decision == ApprovalDecision(approved=False)


async def test_a_consumed_request_can_be_neither_decided_nor_consumed(
    store: ApprovalStore,
) -> None:
    request = refund(amount=5)
    await store.create(request)
    await store.decide(request.id, ApprovalDecision(approved=True))
    await store.consume(request.id)

    with pytest.raises(ApprovalAlreadyDecided):
        await store.decide(request.id, ApprovalDecision(approved=True))
    with pytest.raises(ApprovalAlreadyDecided):
        await store.consume(request.id)


async def test_a_pending_request_cannot_be_consumed(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)

    with pytest.raises(ConfigError, match=r"still pending.*decide"):
        await store.consume(request.id)

    record = await store.get(request.id)
    assert record is not None
    assert record.status == "pending"


async def test_find_gives_the_newest_record_of_a_question(store: ApprovalStore) -> None:
    older, newer = refund(amount=5, why="late"), refund(why="late", amount=5)
    await store.create(older)
    await store.create(newer)

    record = await store.find("run", "shop:pay:1:0", "refund", {"why": "late", "amount": 5})

    assert record is not None
    assert record.request.id == newer.id


@pytest.mark.parametrize(
    ("run_id", "call_id", "tool", "arguments"),
    [
        ("other", "shop:pay:1:0", "refund", {"amount": 1}),
        ("run", "shop:pay:1:1", "refund", {"amount": 1}),
        ("run", "shop:pay:1:0", "charge", {"amount": 1}),
        ("run", "shop:pay:1:0", "refund", {"amount": 2}),
        ("run", "shop:pay:1:0", "refund", {"amount": True}),
        ("run", "shop:pay:1:0", "refund", {"amount": "1"}),
        ("run", "shop:pay:1:0", "refund", {}),
    ],
)
async def test_find_takes_no_other_question(
    store: ApprovalStore, run_id: str, call_id: str, tool: str, arguments: dict[str, object]
) -> None:
    await store.create(refund(amount=1))

    assert await store.find(run_id, call_id, tool, arguments) is None


async def test_find_sees_the_status(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)
    await store.decide(request.id, ApprovalDecision(approved=True))

    record = await store.find("run", "shop:pay:1:0", "refund", {"amount": 5})

    assert record is not None
    assert record.status == "decided"


async def test_list_gives_the_oldest_first_and_one_status_if_asked(store: ApprovalStore) -> None:
    requests = [refund(amount=amount) for amount in range(4)]
    for request in requests:
        await store.create(request)
    await store.decide(requests[0].id, ApprovalDecision(approved=True))
    await store.decide(requests[2].id, ApprovalDecision(approved=True))
    await store.consume(requests[2].id)

    assert [record.request for record in await store.list()] == requests
    assert [record.request for record in await store.list("pending")] == [requests[1], requests[3]]
    assert [record.request for record in await store.list("decided")] == [requests[0]]
    assert [record.request for record in await store.list("consumed")] == [requests[2]]


async def test_any_text_survives(store: ApprovalStore) -> None:
    odd = 'lone \ud800, "quoted", \\u0041, \x00, ü, 🙂'
    request = ApprovalRequest(
        kind="tool", tool=odd, arguments={odd: [odd]}, run_id=odd, call_id=odd, id=odd
    )
    await store.create(request)
    decision = ApprovalDecision(approved=True, edited_args={odd: odd}, reason=odd)
    await store.decide(odd, decision)

    by_id = await store.get(odd)
    by_question = await store.find(odd, odd, odd, {odd: [odd]})

    assert by_id is not None
    assert by_id.request == request
    assert by_id.decision == decision
    assert by_question == by_id


async def test_every_json_value_survives(store: ApprovalStore) -> None:
    arguments: dict[str, object] = {
        "n": None,
        "yes": True,
        "int": 10**30,
        "float": 0.1,
        "list": [1, [2]],
        "d": {"k": {}},
    }
    request = refund(**arguments)

    await store.create(request)

    record = await store.find("run", "shop:pay:1:0", "refund", arguments)
    assert record is not None
    assert record.request.arguments == arguments
    assert record.request.arguments["yes"] is True


class Money(BaseModel):
    amount: int


@pytest.mark.parametrize(
    "value",
    [Money(amount=5), {1, 2}, b"bytes", object(), {1: "a number as key"}, [{"deep": {2: "two"}}]],
    ids=lambda value: type(value).__name__,
)
async def test_an_argument_that_is_no_json_value_is_refused_before_anything_is_stored(
    store: ApprovalStore, value: object
) -> None:
    with pytest.raises(ConfigError, match=r"'refund' cannot be stored: .* JSON values only"):
        await store.create(refund(value=value))
    with pytest.raises(ConfigError, match=r"'refund' cannot be stored: .* JSON values only"):
        await store.find("run", "shop:pay:1:0", "refund", {"value": value})

    assert await store.list() == []


async def test_arguments_that_hold_themselves_are_refused(store: ApprovalStore) -> None:
    loop: list[object] = []
    loop.append(loop)

    with pytest.raises(ConfigError, match="cannot be stored"):
        await store.create(refund(loop=loop))


async def test_an_edited_argument_that_is_no_json_value_decides_nothing(
    store: ApprovalStore,
) -> None:
    request = refund(amount=5)
    await store.create(request)

    with pytest.raises(ConfigError, match=r"the decision of approval .* cannot be stored"):
        await store.decide(
            request.id, ApprovalDecision(approved=True, edited_args={"amount": Money(amount=1)})
        )

    record = await store.get(request.id)
    assert record is not None
    assert record.status == "pending"


async def test_nobody_shares_a_mutable_value_with_the_store(store: ApprovalStore) -> None:
    items = ["a"]
    request = refund(items=items)
    created = await store.create(request)
    items.append("from the caller")
    created.request.arguments["items"].append("from the record")
    edits = ["x"]
    decided = await store.decide(
        request.id, ApprovalDecision(approved=True, edited_args={"items": edits})
    )
    assert decided.decision is not None
    edits.append("from the approver")
    decided.decision.edited_args["items"].append("from the record")

    record = await store.get(request.id)

    assert record is not None
    assert record.request.arguments == {"items": ["a"]}
    assert record.decision is not None
    assert record.decision.edited_args == {"items": ["x"]}


async def test_of_threads_that_decide_at_once_exactly_one_wins(store: ApprovalStore) -> None:
    request = refund(amount=5)
    await store.create(request)
    together = threading.Barrier(4)
    won: list[int] = []
    lost: list[int] = []

    def decide(number: int) -> None:
        together.wait()
        try:
            run(store.decide(request.id, ApprovalDecision(approved=True, reason=str(number))))
        except ApprovalAlreadyDecided:
            lost.append(number)
        else:
            won.append(number)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert len(lost) == 3
    record = await store.get(request.id)
    assert record is not None
    assert record.decision == ApprovalDecision(approved=True, reason=str(won[0]))
