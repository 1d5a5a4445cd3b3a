"""Comparing two observations, and judging what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accord_parity import (
    Failure,
    FieldDifference,
    Observation,
    PendingApproval,
    compare,
    judge,
)
from accord_parity.differences import Difference

REFERENCE = Observation(
    statuses=("paused", "done"),
    pending=(PendingApproval("charge", {"order": 7}),),
    state={"total": 3, "log": ["a", "b"]},
    visits={"work": 1},
    steps=2,
    calls={"charge": ({"order": 7},)},
    events={"shop": ("run.started",), "shop:work:1": ("node.started", "node.finished")},
)

RECORD = Difference(
    scenario="shop",
    engine="langgraph",
    field="calls.charge",
    kind="never",
    reason="The engine is made so.",
    user_sees="The charge runs twice.",
    engine_version="1.2",
)

TWICE = replace(REFERENCE, calls={"charge": ({"order": 7}, {"order": 7})})


def test_equal_observations_have_no_differences() -> None:
    assert compare(REFERENCE, replace(REFERENCE, visits={"work": 1})) == ()


@pytest.mark.parametrize(
    ("observed", "field"),
    [
        (replace(REFERENCE, statuses=("done",)), "statuses"),
        (replace(REFERENCE, pending=(PendingApproval("charge", {"order": 8}),)), "pending"),
        (replace(REFERENCE, state={"total": 4, "log": ["a", "b"]}), "state.total"),
        (replace(REFERENCE, state={"total": 3, "log": ["b", "a"]}), "state.log"),
        (replace(REFERENCE, state={"log": ["a", "b"]}), "state.total"),
        (replace(REFERENCE, state=None), "state"),
        (replace(REFERENCE, visits={"work": 2}), "visits.work"),
        (replace(REFERENCE, steps=3), "steps"),
        (TWICE, "calls.charge"),
        (replace(REFERENCE, calls={"charge": ({"order": 8},)}), "calls.charge"),
        (replace(REFERENCE, events={**REFERENCE.events, "shop": ()}), "events.shop"),
        (replace(REFERENCE, error=Failure("FlowError", "it broke")), "error"),
    ],
)
def test_a_difference_is_found_where_it_is(observed: Observation, field: str) -> None:
    assert [difference.field for difference in compare(REFERENCE, observed)] == [field]


def test_a_difference_shows_both_values_and_says_which_is_absent() -> None:
    observed = replace(REFERENCE, visits={"other": 1})

    assert compare(REFERENCE, observed) == (
        FieldDifference("visits.work", 1, "(absent)"),
        FieldDifference("visits.other", "(absent)", 1),
    )


def test_true_and_one_are_not_the_same() -> None:
    one = replace(REFERENCE, state={"value": 1})
    true = replace(REFERENCE, state={"value": True})

    assert compare(one, true) == (FieldDifference("state.value", 1, True),)


def test_true_and_one_are_not_the_same_inside_a_sequence() -> None:
    one = replace(REFERENCE, state={"values": [1]})
    true = replace(REFERENCE, state={"values": [True]})

    assert compare(one, true) == (FieldDifference("state.values", [1], [True]),)


def test_nothing_different_and_nothing_recorded_is_equal() -> None:
    verdict = judge("shop", "langgraph", compare(REFERENCE, REFERENCE), [])

    assert (verdict.outcome, verdict.passed) == ("equal", True)


def test_an_unrecorded_difference_fails() -> None:
    verdict = judge("shop", "langgraph", compare(REFERENCE, TWICE), [])

    assert (verdict.outcome, verdict.passed) == ("different", False)
    assert [difference.field for difference in verdict.unrecorded] == ["calls.charge"]


def test_a_recorded_difference_passes() -> None:
    verdict = judge("shop", "langgraph", compare(REFERENCE, TWICE), [RECORD])

    assert (verdict.outcome, verdict.passed) == ("recorded", True)
    assert [record for _, record in verdict.recorded] == [RECORD]


def test_a_recorded_difference_that_no_longer_shows_fails_as_stale() -> None:
    verdict = judge("shop", "langgraph", compare(REFERENCE, REFERENCE), [RECORD])

    assert (verdict.outcome, verdict.passed) == ("stale", False)
    assert verdict.stale == (RECORD,)


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(RECORD, scenario="other"),
        replace(RECORD, engine="adk"),
        replace(RECORD, field="calls.refund"),
    ],
)
def test_a_record_of_another_place_excuses_nothing(elsewhere: Difference) -> None:
    verdict = judge("shop", "langgraph", compare(REFERENCE, TWICE), [elsewhere])

    assert verdict.outcome == "different"


def test_an_unrecorded_difference_beside_a_recorded_one_fails() -> None:
    observed = replace(TWICE, steps=9)

    verdict = judge("shop", "langgraph", compare(REFERENCE, observed), [RECORD])

    assert verdict.outcome == "different"
    assert [difference.field for difference in verdict.unrecorded] == ["steps"]
