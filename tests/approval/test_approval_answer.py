"""Answers from outside: which are taken, for which request, and which are refused."""

import pytest

from accord.approval import AnswerRefused, ApprovalDecision, ApprovalRequest, parse_answer
from accord.errors import AdapterError

PAY = ApprovalRequest(
    kind="tool", tool="pay", arguments={"card": "4111"}, run_id="r", call_id="f:n:1:0", id="id-pay"
)
SHIP = ApprovalRequest(
    kind="node", tool="node:f.ship", run_id="r", call_id="f:ship:1", id="id-ship"
)

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)
EDITED = ApprovalDecision(approved=True, edited_args={"amount": 4}, reason="fair")


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        (True, YES),
        (False, NO),
        (EDITED, EDITED),
        ({"approved": True}, YES),
        ({"approved": False, "reason": "no"}, ApprovalDecision(approved=False, reason="no")),
        ({"approved": True, "edited_args": {"amount": 4}, "reason": "fair"}, EDITED),
        ({"approved": True, "approval_id": "id-pay"}, YES),
        ({"result": "true"}, YES),
        ({"result": ' {"approved": false} '}, NO),
        ({"result": '{"approved": true, "approval_id": "id-pay"}'}, YES),
    ],
)
def test_an_answer_to_the_only_request_is_taken(value: object, decision: ApprovalDecision) -> None:
    assert parse_answer(value, [PAY]) == (PAY, decision)


@pytest.mark.parametrize(
    "value",
    [
        {"approved": True, "approval_id": "id-ship"},
        {"result": '{"approved": true, "approval_id": "id-ship"}'},
    ],
)
def test_the_approval_id_picks_among_several_requests(value: object) -> None:
    assert parse_answer(value, [PAY, SHIP]) == (SHIP, YES)


@pytest.mark.parametrize(
    "value", [True, YES, {"approved": True}, {"result": "true"}, {"result": '{"approved": true}'}]
)
def test_without_an_approval_id_several_requests_are_too_many(value: object) -> None:
    with pytest.raises(AnswerRefused, match=r"2 approvals wait.*approval_id.*id-pay.*id-ship"):
        parse_answer(value, [PAY, SHIP])


@pytest.mark.parametrize("value", [True, YES, {"approved": True, "approval_id": "id-pay"}])
def test_where_nothing_waits_every_answer_is_refused(value: object) -> None:
    with pytest.raises(AnswerRefused, match="No approval waits"):
        parse_answer(value, [])


@pytest.mark.parametrize(
    "value",
    [
        "yes",
        "true",
        b"true",
        1,
        0,
        1.0,
        None,
        [],
        [True],
        {},
        {"approved": "yes"},
        {"approved": "true"},
        {"approved": 1},
        {"approved": None},
        {"approve": True},
        {"reason": "no answer in it"},
        {"approved": True, "edited_args": None},
        {"approved": True, "edited_args": [["amount", 4]]},
        {"approved": True, "edited_args": "{}"},
        {"approved": True, "edited_args": {1: 2}},
        {"approved": True, "reason": 5},
        {"approved": True, "extra": 1},
        {"approved": True, 1: 1},
        {"approved": True, "approval_id": "id-ship"},
        {"approved": True, "approval_id": ""},
        {"approved": True, "approval_id": None},
        {"approved": True, "approval_id": 7},
        {"approved": True, "result": "true"},
        {"result": True},
        {"result": {"approved": True}},
        {"result": None},
        {"result": ""},
        {"result": "yes"},
        {"result": "1"},
        {"result": "null"},
        {"result": '"true"'},
        {"result": "[true]"},
        {"result": '{"approved": true'},
        {"result": '{"approved": false, "approved": true}'},
        {"result": '{"result": "true"}'},
        {"result": "[" * 100_000},
        {"result": "1" * 5_000},
        ApprovalDecision.model_construct(approved="yes"),  # type: ignore[arg-type] # unchecked
    ],
    ids=lambda value: repr(value)[:60],
)
def test_an_answer_that_does_not_fit_is_refused_with_an_example(value: object) -> None:
    with pytest.raises(AnswerRefused) as caught:
        parse_answer(value, [PAY])

    assert isinstance(caught.value, AdapterError)
    assert 'such as {"approved": true, "approval_id": "id-pay"}' in str(caught.value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("yes", "it is a str, not an object or a bool"),
        ({"approved": "yes"}, "approved: "),
        ({"approved": True, "extra": 1}, "extra: "),
        ({"approved": True, "approval_id": "x"}, "no approval 'x' waits"),
        ({"result": "yes"}, "result is not JSON text"),
    ],
)
def test_a_refusal_says_what_is_wrong(value: object, problem: str) -> None:
    with pytest.raises(AnswerRefused) as caught:
        parse_answer(value, [PAY])

    assert problem in str(caught.value)


def test_a_refusal_shows_neither_arguments_nor_the_values_sent() -> None:
    with pytest.raises(AnswerRefused) as caught:
        parse_answer({"approved": True, "edited_args": "secret-value"}, [PAY])

    assert "4111" not in str(caught.value)
    assert "secret-value" not in str(caught.value)
