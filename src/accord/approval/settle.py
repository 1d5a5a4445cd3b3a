"""Spending an answer in the stores that hold its request, and closing a request unanswered."""

from __future__ import annotations

from contextlib import suppress

from accord.approval._stored import already_decided, decision_text
from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.approval.store import ApprovalRecord, ApprovalStore
from accord.errors import ApprovalAlreadyDecided


async def settle(
    request: ApprovalRequest, decision: ApprovalDecision, *stores: ApprovalStore | None
) -> None:
    """Decide and consume `request` in every store that holds it; it can be done once.

    A pending record is decided, one that holds the same decision is taken as it is, and a store
    that does not hold the request is passed over. All stores are checked before any is changed,
    and all are decided before any is consumed, so a refusal leaves the answer usable.

    Implements: "Once".

    Args:
        request: The request that is answered.
        decision: The answer.
        *stores: Where the request may be held; None and repeats are passed over.

    Raises:
        ApprovalAlreadyDecided: If a record is decided otherwise or consumed; of several callers
            at once exactly one succeeds.
        ConfigError: If a store cannot be used, or holds the request and an edited argument is
            no JSON value.
    """
    holders = await _holders(request, decision, stores)
    for store, record in holders:
        if record.status == "pending":
            await store.decide(request.id, decision)
    for store, _ in holders:
        await store.consume(request.id)


async def close(request: ApprovalRequest, reason: str, *stores: ApprovalStore | None) -> None:
    """Make sure that nobody can answer `request` any more, whatever has become of it.

    A pending record is denied with `reason` and consumed, a decided one is consumed unused.

    Implements: "Once".

    Args:
        request: The request that is no longer asked.
        reason: Why, for people who look at the record.
        *stores: Where the request may be held; None and repeats are passed over.

    Raises:
        ConfigError: If a store cannot be used.
    """
    denial = ApprovalDecision(approved=False, reason=reason)
    for store in _each_once(stores):
        if await store.get(request.id) is None:
            continue
        # Someone may decide or consume it first; either way it ends up consumed.
        with suppress(ApprovalAlreadyDecided):
            await store.decide(request.id, denial)
        with suppress(ApprovalAlreadyDecided):
            await store.consume(request.id)


async def check_settle(
    request: ApprovalRequest, decision: ApprovalDecision, *stores: ApprovalStore | None
) -> None:
    """Raise what `settle` would refuse with; nothing is changed.

    Implements: "Once".

    Args:
        request: The request that is answered.
        decision: The answer.
        *stores: Where the request may be held; None and repeats are passed over.

    Raises:
        ApprovalAlreadyDecided: If a record is decided otherwise or consumed.
        ConfigError: If a store cannot be used.
    """
    await _holders(request, decision, stores)


async def _holders(
    request: ApprovalRequest, decision: ApprovalDecision, stores: tuple[ApprovalStore | None, ...]
) -> list[tuple[ApprovalStore, ApprovalRecord]]:
    holders = []
    for store in _each_once(stores):
        record = await store.get(request.id)
        if record is not None:
            _refuse_other(record, decision_text(request.id, decision))
            holders.append((store, record))
    return holders


def _refuse_other(record: ApprovalRecord, answer: str) -> None:
    if record.status == "consumed":
        raise already_decided(record.request.id, "consumed")
    if record.decision is not None and decision_text(record.request.id, record.decision) != answer:
        raise ApprovalAlreadyDecided(
            f"approval {record.request.id!r} of {record.request.tool!r} was decided otherwise "
            "in its store; nothing was changed. Resume with the decision that the store holds",
            approval_id=record.request.id,
        )


def _each_once(stores: tuple[ApprovalStore | None, ...]) -> list[ApprovalStore]:
    # By equality: two stores on one file would refuse each other's step.
    once: list[ApprovalStore] = []
    for store in stores:
        if store is not None and store not in once:
            once.append(store)
    return once
