"""Merging one field by its rule."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from pydantic import (
    BaseModel,
    Field,
    model_validator,
)

from accord.errors import FlowError
from accord.flow.state import Merge, StateSchema


class Hit(BaseModel):
    source_id: str
    text: str = ""


class Research(BaseModel):
    question: str = ""
    rounds: Annotated[int, Merge.sum] = 0
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    hits: Annotated[list[Hit], Merge.keyed(by="source_id")] = Field(default_factory=list)
    notes: Annotated[list[str] | None, Merge.append] = None


class Tree(BaseModel):
    name: str
    children: Annotated[list[Tree], Merge.append] = Field(default_factory=list)


class Ordered(BaseModel):
    low: int = 0
    high: int = 10
    words: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def low_is_below_high(self) -> Ordered:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]  # as a value that only lives in a state


class Elementwise:
    def __eq__(self, other: object) -> list[bool]:  # type: ignore[override]  # as arrays do
        return [True, True]

    __hash__ = None  # type: ignore[assignment]  # as arrays have none


def test_replace_takes_a_single_value() -> None:
    value = Incomparable()

    assert StateSchema(Research).merge_field("question", "old", [value]) is value


def test_replace_takes_the_first_of_equal_values() -> None:
    assert repr(StateSchema(Research).merge_field("question", "", [1, 1.0, True])) == "1"


def test_replace_refuses_different_values() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).merge_field("question", "", ["a", "a", "b"])

    assert caught.value.message == "conflicting writes to question"
    assert caught.value.field == "question"


def test_replace_compares_the_values_as_returned_and_not_as_validated() -> None:
    with pytest.raises(FlowError, match="conflicting writes to low"):
        StateSchema(Ordered).merge_field("low", 0, [1, "1"])


def test_an_equality_that_raises_is_reported() -> None:
    with pytest.raises(FlowError, match="comparing their values raised RuntimeError") as caught:
        StateSchema(Research).merge_field("question", "", [Incomparable(), Incomparable()])

    assert caught.value.field == "question"


def test_an_equality_that_gives_no_bool_is_reported() -> None:
    with pytest.raises(FlowError, match="gave a list, not a bool") as caught:
        StateSchema(Research).merge_field("question", "", [Elementwise(), Elementwise()])

    assert caught.value.field == "question"


def test_append_adds_elements_of_lists_and_other_values_themselves() -> None:
    merged = StateSchema(Research).merge_field("log", ["a"], [["b", "c"], "de", ("f",), []])

    assert merged == ["a", "b", "c", "de", ("f",)]


def test_append_changes_neither_the_current_value_nor_the_updates() -> None:
    current, update = ["a"], ["b"]

    merged = StateSchema(Research).merge_field("log", current, [update])

    assert (current, update) == (["a"], ["b"])
    assert merged is not current
    assert merged is not update


@pytest.mark.parametrize("field", ["log", "hits"])
def test_none_counts_as_an_empty_list(field: str) -> None:
    item = {"source_id": "a"}

    assert StateSchema(Research).merge_field(field, None, [item]) == [item]


@pytest.mark.parametrize("field", ["log", "hits"])
@pytest.mark.parametrize("current", ["text", b"bytes", {"a": 1}, 3])
def test_nothing_is_appended_to_what_is_no_collection(field: str, current: object) -> None:
    kind = type(current).__name__

    with pytest.raises(FlowError, match=f"{field} holds a {kind}, to which nothing") as caught:
        StateSchema(Research).merge_field(field, current, [["a"]])

    assert caught.value.field == field


@pytest.mark.parametrize("field", ["log", "hits"])
def test_a_tuple_stays_a_tuple(field: str) -> None:
    item = {"source_id": "a"}

    assert StateSchema(Research).merge_field(field, (), [item]) == (item,)


def test_sum_adds_onto_the_current_value_in_update_order() -> None:
    schema = StateSchema(Research)

    assert schema.merge_field("rounds", 10, [1, 2]) == 13
    assert schema.merge_field("rounds", "a", ["b", "c"]) == "abc"


def test_sum_onto_none_begins_with_the_first_value() -> None:
    assert StateSchema(Research).merge_field("rounds", None, [1, 2]) == 3


def test_a_sum_never_changes_a_list_in_place() -> None:
    current = [1]

    assert StateSchema(Research).merge_field("rounds", current, [[2]]) == [1, 2]
    assert current == [1]


def test_a_sum_of_incompatible_types_is_reported() -> None:
    with pytest.raises(FlowError, match=re.escape("rounds cannot be added (int, str)")) as caught:
        StateSchema(Research).merge_field("rounds", 1, ["a"])

    assert caught.value.field == "rounds"
    assert isinstance(caught.value.__cause__, TypeError)


def test_keyed_replaces_an_item_with_the_same_key_in_first_seen_order() -> None:
    old_a, old_b = Hit(source_id="a", text="old"), Hit(source_id="b", text="old")
    new_c, new_a = {"source_id": "c"}, {"source_id": "a", "text": "new"}
    newest_a = Hit(source_id="a", text="newest")

    merged = StateSchema(Research).merge_field("hits", [old_a, old_b], [[new_c, new_a], newest_a])

    assert merged == [newest_a, old_b, new_c]


def test_keyed_reads_the_key_before_validation() -> None:
    merged = StateSchema(Research).merge_field("hits", [{"source_id": 1}], [{"source_id": "1"}])

    assert merged == [{"source_id": 1}, {"source_id": "1"}]


@pytest.mark.parametrize("item", [{"id": "a"}, Tree(name="a"), "a", None])
def test_an_item_without_the_key_is_reported(item: object) -> None:
    with pytest.raises(FlowError, match=r"for hits is a .* without the key 'source_id'") as caught:
        StateSchema(Research).merge_field("hits", [], [item])

    assert caught.value.field == "hits"


def test_an_unhashable_key_is_reported() -> None:
    with pytest.raises(FlowError, match="for hits has the key 'source_id' of type list") as caught:
        StateSchema(Research).merge_field("hits", [], [{"source_id": []}])

    assert caught.value.field == "hits"


def test_an_unknown_field_does_not_merge() -> None:
    with pytest.raises(FlowError, match="unknown key 'colour'") as caught:
        StateSchema(Research).merge_field("colour", 1, [2])

    assert caught.value.field == "colour"
