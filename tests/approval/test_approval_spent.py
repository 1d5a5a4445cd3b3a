"""The process-wide memory of approvals that have been resumed."""

import threading

import pytest

from accord.approval import SpentApprovals, spent_approvals
from accord.errors import ApprovalAlreadyDecided, ConfigError


def test_an_approval_is_claimed_once() -> None:
    spent = SpentApprovals()
    spent.claim("a")
    spent.claim("b")

    with pytest.raises(ApprovalAlreadyDecided, match="nothing ran") as caught:
        spent.claim("a")

    assert caught.value.approval_id == "a"


def test_a_released_approval_can_be_claimed_again() -> None:
    spent = SpentApprovals()
    spent.claim("a")

    spent.release("a")

    spent.claim("a")
    with pytest.raises(ApprovalAlreadyDecided):
        spent.claim("a")


def test_releasing_what_nobody_claimed_does_nothing() -> None:
    spent = SpentApprovals()

    spent.release("a")

    spent.claim("a")


def test_an_approval_is_remembered_for_a_day() -> None:
    now = [0.0]
    spent = SpentApprovals(clock=lambda: now[0])
    spent.claim("a")

    now[0] = 24 * 60 * 60 - 1
    with pytest.raises(ApprovalAlreadyDecided):
        spent.claim("a")

    now[0] = 24 * 60 * 60
    spent.claim("a")


def test_the_oldest_makes_room_and_the_others_stay() -> None:
    spent = SpentApprovals(capacity=2)
    spent.claim("a")
    spent.claim("b")

    spent.claim("c")

    for kept in ("b", "c"):
        with pytest.raises(ApprovalAlreadyDecided):
            spent.claim(kept)
    spent.claim("a")


def test_a_claim_that_is_refused_makes_no_room() -> None:
    spent = SpentApprovals(capacity=2)
    spent.claim("a")
    spent.claim("b")

    with pytest.raises(ApprovalAlreadyDecided):
        spent.claim("b")

    with pytest.raises(ApprovalAlreadyDecided):
        spent.claim("a")


def test_of_threads_that_claim_at_once_exactly_one_succeeds() -> None:
    spent = SpentApprovals()
    together = threading.Barrier(8)
    won: list[int] = []

    def claim(number: int) -> None:
        together.wait()
        try:
            spent.claim("a")
        except ApprovalAlreadyDecided:
            return
        won.append(number)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1


@pytest.mark.parametrize(("keep_seconds", "capacity"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_memory_that_keeps_nothing_is_refused(keep_seconds: float, capacity: int) -> None:
    with pytest.raises(ConfigError, match="remembers nothing"):
        SpentApprovals(keep_seconds=keep_seconds, capacity=capacity)


def test_the_process_has_one_memory_of_a_day() -> None:
    assert isinstance(spent_approvals, SpentApprovals)
    assert spent_approvals.keep_seconds == 24 * 60 * 60
