"""Approval ports: what each answers, and what it keeps."""

import pickle

import pytest

from accord.approval import (
    AllowApproval,
    ApprovalDecision,
    ApprovalPending,
    ApprovalRecord,
    ApprovalRequest,
    CallbackApproval,
    DeferredApproval,
    DenyApproval,
    MemoryApprovalStore,
    store_of,
)
from accord.errors import ApprovalAlreadyDecided, ConfigError


def refund(**arguments: object) -> ApprovalRequest:
    return ApprovalRequest(
        kind="tool", tool="refund", arguments=arguments, run_id="run", call_id="shop:pay:1:0"
    )


async def test_a_deferred_request_is_kept_and_pends() -> None:
    store = MemoryApprovalStore()
    request = refund(amount=5)

    with pytest.raises(ApprovalPending) as pending:
        await DeferredApproval(store).ask(request)

    assert pending.value.request == request
    assert [record.request for record in await store.list("pending")] == [request]


async def test_the_same_question_again_pends_under_the_id_that_is_kept() -> None:
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    first = refund(amount=5)
    with pytest.raises(ApprovalPending):
        await port.ask(first)

    with pytest.raises(ApprovalPending) as pending:
        await port.ask(refund(amount=5))

    assert pending.value.request == first
    assert len(await store.list()) == 1


async def test_a_request_that_pends_again_has_the_arguments_of_its_asker() -> None:
    port = DeferredApproval(MemoryApprovalStore())
    with pytest.raises(ApprovalPending):
        await port.ask(refund(span=(1, 2)))

    with pytest.raises(ApprovalPending) as pending:
        await port.ask(refund(span=(1, 2)))

    assert pending.value.request.arguments == {"span": (1, 2)}


async def test_a_decision_in_the_store_answers_once() -> None:
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    first = refund(amount=5)
    with pytest.raises(ApprovalPending):
        await port.ask(first)
    decision = ApprovalDecision(approved=True, edited_args={"amount": 4})
    await store.decide(first.id, decision)

    assert await port.ask(refund(amount=5)) == decision
    with pytest.raises(ApprovalPending) as pending:
        await port.ask(refund(amount=5))

    assert pending.value.request.id != first.id
    assert [record.status for record in await store.list()] == ["consumed", "pending"]


async def test_one_request_asked_again_after_its_use_gets_a_new_id_each_time() -> None:
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    request = refund(amount=5)

    for _ in range(3):
        with pytest.raises(ApprovalPending) as pending:
            await port.ask(request)
        await store.decide(pending.value.request.id, ApprovalDecision(approved=True))
        assert (await port.ask(request)).approved

    assert len({record.request.id for record in await store.list("consumed")}) == 3


async def test_a_decision_answers_no_other_arguments() -> None:
    store = MemoryApprovalStore()
    port = DeferredApproval(store)
    small = refund(amount=5)
    with pytest.raises(ApprovalPending):
        await port.ask(small)
    await store.decide(small.id, ApprovalDecision(approved=True))

    with pytest.raises(ApprovalPending):
        await port.ask(refund(amount=500))


class UsedInBetween(MemoryApprovalStore):
    """A store where another caller consumes every decision just before this one does."""

    async def consume(self, approval_id: str, /) -> ApprovalRecord:
        await super().consume(approval_id)
        raise ApprovalAlreadyDecided("used in between", approval_id=approval_id)


async def test_an_asker_that_comes_second_to_a_decision_asks_anew() -> None:
    store = UsedInBetween()
    port = DeferredApproval(store)
    first = refund(amount=5)
    with pytest.raises(ApprovalPending):
        await port.ask(first)
    await store.decide(first.id, ApprovalDecision(approved=True))

    with pytest.raises(ApprovalPending) as pending:
        await port.ask(refund(amount=5))

    assert pending.value.request.id != first.id


async def test_a_request_that_cannot_be_stored_is_an_error_and_does_not_pend() -> None:
    with pytest.raises(ConfigError, match="JSON values only"):
        await DeferredApproval(MemoryApprovalStore()).ask(refund(amount=object()))


async def test_allow_and_deny_answer_at_once() -> None:
    assert await AllowApproval().ask(refund()) == ApprovalDecision(approved=True)
    assert await DenyApproval().ask(refund()) == ApprovalDecision(approved=False)
    assert await DenyApproval("closed").ask(refund()) == ApprovalDecision(
        approved=False, reason="closed"
    )


async def test_a_callback_may_answer_with_a_bool_or_a_decision() -> None:
    decision = ApprovalDecision(approved=True, edited_args={"amount": 1})

    async def later(request: ApprovalRequest) -> ApprovalDecision:
        return decision

    by_bool = CallbackApproval(lambda request: request.arguments["amount"] < 10)

    assert await by_bool.ask(refund(amount=5)) == ApprovalDecision(approved=True)
    assert await by_bool.ask(refund(amount=50)) == ApprovalDecision(approved=False)
    assert await CallbackApproval(later).ask(refund()) == decision


async def test_a_callback_may_pend() -> None:
    def undecided(request: ApprovalRequest) -> bool:
        raise ApprovalPending(request)

    with pytest.raises(ApprovalPending):
        await CallbackApproval(undecided).ask(refund())


@pytest.mark.parametrize("answer", ["yes", 1, None, {"approved": True}])
async def test_a_callback_that_answers_anything_else_is_refused(answer: object) -> None:
    def careless(request: ApprovalRequest) -> bool:
        return answer  # type: ignore[return-value]  # the mistake that this test is about

    with pytest.raises(ConfigError, match=r"'refund' with a .*; return ApprovalDecision"):
        await CallbackApproval(careless).ask(refund())


def test_only_a_port_with_a_store_has_one() -> None:
    store = MemoryApprovalStore()

    assert store_of(DeferredApproval(store)) is store
    assert store_of(AllowApproval()) is None
    assert store_of(None) is None


def test_a_pickled_pending_keeps_its_request_without_the_arguments() -> None:
    request = refund(card="4111")

    copy = pickle.loads(pickle.dumps(ApprovalPending(request)))

    assert copy.request == request.model_copy(update={"arguments": {}})
    assert str(copy) == str(ApprovalPending(request))


def test_no_repr_shows_the_arguments() -> None:
    assert "4111" not in repr(refund(card="4111"))
    assert "4111" not in repr(ApprovalPending(refund(card="4111")))
