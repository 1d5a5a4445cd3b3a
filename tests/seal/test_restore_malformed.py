"""A form that nothing was sealed as is refused, with its place and the reason."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from accord.errors import FlowError
from accord.seal import decode

NAME = f"{__name__}:Note"


class Note(BaseModel):
    text: str = ""


def test_the_forms_that_are_changed_below_are_well_formed() -> None:
    model: Any = {"$model": NAME, "fields": {"text": "a"}, "set": ["text"], "extra": {"x": 1}}

    assert decode({"$str": ["a", "b"]}, {}) == "ab"
    assert decode({"$dict": [["$a", 1], [{"$str": ["b"]}, 2]]}, {}) == {"$a": 1, "b": 2}
    assert isinstance(decode(model, {NAME: Note}), Note)


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({"$set": ["a"]}, r"the tag '\$set' is unknown"),
        ({"$str": ["a"], "b": 1}, r"a \$str is a list of texts and nothing else"),
        ({"b": 1, "$str": ["a"]}, r"a \$str is a list of texts and nothing else"),
        ({"$str": "a"}, r"a \$str is a list of texts and nothing else"),
        ({"$str": ["a", 1]}, "int stands where a text belongs"),
        ({"$dict": [["$a", 1]], "b": 1}, r"a \$dict is a list of pairs and nothing else"),
        ({"$dict": {"$a": 1}}, r"a \$dict is a list of pairs and nothing else"),
        ({"$dict": ["ab"]}, r"a \$dict holds pairs of key and value"),
        ({"$dict": [["$a"]]}, r"a \$dict holds pairs of key and value"),
        ({"$dict": [["$a", 1, 2]]}, r"a \$dict holds pairs of key and value"),
        ({"$dict": [[1, 1]]}, "int stands where a text belongs"),
        ({"$dict": [["$a", 1], ["$a", 1]]}, r"the key '\$a' comes twice"),
        ({"$dict": [["$a", 1], [{"$str": ["$a"]}, 1]]}, r"the key '\$a' comes twice"),
        (float("nan"), "the float nan is not finite"),
        (float("inf"), "the float inf is not finite"),
        ((1,), "tuple is no JSON type"),
        (b"a", "bytes is no JSON type"),
    ],
    ids=repr,
)
def test_a_form_that_does_not_fit_is_refused(tree: Any, reason: str) -> None:
    with pytest.raises(
        FlowError, match=f"^state is malformed in the checkpoint: {reason}; nothing was run"
    ) as refused:
        decode(tree, {})

    assert refused.value.code == "checkpoint-malformed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"$model": 1}, "int stands where a text belongs"),
        ({"fields": ["text"]}, r"the fields and the extra of a \$model are dicts"),
        ({"fields": {"text": "a", "more": 1}}, f"the class '{NAME}' has no field 'more'"),
        ({"set": "text"}, r"the set of a \$model is a list of names"),
        ({"set": [1]}, "int stands where a text belongs"),
        ({"extra": None}, r"the fields and the extra of a \$model are dicts"),
        ({"more": 1}, r"a \$model has fields, set and at most extra"),
        ({"$str": ["a"]}, r"a \$model has fields, set and at most extra"),
    ],
    ids=repr,
)
def test_a_form_of_a_model_that_does_not_fit_is_refused(
    change: dict[str, Any], reason: str
) -> None:
    tree: Any = {"$model": NAME, "fields": {"text": "a"}, "set": ["text"], "extra": {"x": 1}}

    with pytest.raises(FlowError, match=f"^state is malformed in the checkpoint: {reason}; noth"):
        decode({**tree, **change}, {NAME: Note})


@pytest.mark.parametrize("left_out", ["fields", "set"])
def test_a_form_of_a_model_that_lacks_a_part_is_refused(left_out: str) -> None:
    tree: Any = {"$model": NAME, "fields": {"text": "a"}, "set": ["text"]}

    del tree[left_out]

    with pytest.raises(FlowError, match=r"a \$model has fields, set and at most extra"):
        decode(tree, {NAME: Note})


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ([0, [1, (2,)]], r"state\[1\]\[1\]"),
        ({"a": {"b": (1,)}}, r"state\['a'\]\['b'\]"),
        ({"$dict": [["$a", [(1,)]]]}, r"state\['\$a'\]\[0\]"),
        ({"$model": NAME, "fields": {"text": [(1,)]}, "set": []}, r"state\['text'\]\[0\]"),
    ],
    ids=["list", "dict", "tagged dict", "model"],
)
def test_a_malformed_value_is_refused_with_its_place(tree: Any, place: str) -> None:
    with pytest.raises(FlowError, match=f"^{place} is malformed .* tuple is no JSON type"):
        decode(tree, {NAME: Note})


def test_a_form_that_no_stack_would_hold_is_refused() -> None:
    tree: Any = 1
    for _ in range(100_000):
        tree = [tree]

    with pytest.raises(FlowError, match=r"^checkpoint is malformed .* exceeds the stack") as got:
        decode(tree, {}, "checkpoint")

    assert got.value.code == "checkpoint-malformed"
