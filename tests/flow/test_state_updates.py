"""Applying the updates of one superstep: a new state, and what a merge leaves alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Json,
    model_validator,
)

from accord.flow.state import Merge, StateSchema

Count = Annotated[int, Merge.sum]


class Hit(BaseModel):
    source_id: str
    text: str = ""


class Research(BaseModel):
    question: str = ""
    rounds: Annotated[int, Merge.sum] = 0
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    hits: Annotated[list[Hit], Merge.keyed(by="source_id")] = Field(default_factory=list)
    notes: Annotated[list[str] | None, Merge.append] = None


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    count: Annotated[int, Merge.sum] = 0
    words: list[str] = Field(default_factory=list)


class Ordered(BaseModel):
    low: int = 0
    high: int = 10
    words: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def low_is_below_high(self) -> Ordered:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def test_updates_give_a_new_state_and_leave_the_old_one() -> None:
    state = Research(log=["a"])

    merged = StateSchema(Research).apply_updates(state, [("n", {"log": "b", "rounds": 1})])

    assert merged == Research(log=["a", "b"], rounds=1)
    assert state == Research(log=["a"])
    assert state.model_fields_set == {"log"}


@pytest.mark.parametrize("writes", [[], [("a", {})], [("a", {}), ("b", {})]])
def test_nothing_to_write_gives_the_same_state(
    writes: Sequence[tuple[str, Mapping[str, object]]],
) -> None:
    state = Research()

    assert StateSchema(Research).apply_updates(state, writes) is state


def test_updates_of_several_nodes_merge_by_the_rule_of_each_field() -> None:
    state = Research(rounds=10, hits=[Hit(source_id="a", text="old")])

    merged = StateSchema(Research).apply_updates(
        state,
        [
            ("a", {"rounds": 1, "question": "why", "hits": {"source_id": "b"}}),
            ("b", {"rounds": 2, "question": "why", "hits": [{"source_id": "a", "text": "new"}]}),
            ("c", MappingProxyType({"notes": "seen", "log": ["x", "y"]})),
        ],
    )

    assert merged == Research(
        question="why",
        rounds=13,
        log=["x", "y"],
        hits=[Hit(source_id="a", text="new"), Hit(source_id="b")],
        notes=["seen"],
    )


def test_a_default_counts() -> None:
    class Model(BaseModel):
        count: Count = 10

    assert StateSchema(Model).apply_updates(Model(), [("n", {"count": 5})]) == Model(count=15)


def test_the_fields_set_are_the_old_and_the_touched_ones() -> None:
    state = Research(question="why")

    merged = StateSchema(Research).apply_updates(state, [("n", {"rounds": 1})])

    assert merged.model_fields_set == {"question", "rounds"}


def test_the_fields_set_are_the_old_and_the_touched_ones_after_whole_validation() -> None:
    state = Ordered(low=1)

    merged = StateSchema(Ordered).apply_updates(state, [("n", {"high": 5})])

    assert merged.model_fields_set == {"low", "high"}


def test_untouched_values_keep_their_identity() -> None:
    state = Research(log=["a"], hits=[Hit(source_id="a")])

    merged = StateSchema(Research).apply_updates(state, [("n", {"rounds": 1})])

    assert isinstance(merged, Research)
    assert merged.log is state.log
    assert merged.hits is state.hits


def test_untouched_values_keep_their_identity_after_whole_validation() -> None:
    class Model(Ordered):
        lists: list[list[int]] = [[1], [2]]
        texts: dict[str, list[str]] = {"a": ["b"]}
        kinds: set[str] = {"a", "b"}
        pair: tuple[int, str] = (1, "a")
        hit: Hit = Hit(source_id="a")

    state = Model()
    merged = StateSchema(Model).apply_updates(state, [("n", {"low": 1})])

    untouched = ["high", "words", "lists", "texts", "kinds", "pair", "hit"]
    assert [name for name in untouched if getattr(merged, name) is not getattr(state, name)] == []


def test_an_untouched_value_that_a_validator_changes_is_changed() -> None:
    class Model(BaseModel):
        count: int = 0
        flags: list[object] = [1]
        history: list[int] = [0]
        kinds: set[object] = {1}
        table: dict[str, int] = {"count": 0}

        @model_validator(mode="after")
        def derive(self) -> Model:
            if self.count:
                self.flags, self.kinds = [True], {True}
                self.history = [*self.history, self.count]
                self.table = {"count": self.count}
            return self

    merged = StateSchema(Model).apply_updates(Model(), [("n", {"count": 4})])

    assert repr(merged) == (
        "Model(count=4, flags=[True], history=[0, 4], kinds={True}, table={'count': 4})"
    )


def test_appended_items_are_validated_once() -> None:
    class Model(BaseModel):
        parsed: Annotated[list[Json[int]], Merge.append] = Field(default_factory=list)

    schema = StateSchema(Model)
    state = schema.apply_updates(Model(), [("n", {"parsed": "1"})])

    assert schema.apply_updates(state, [("n", {"parsed": "2"})]) == Model.model_construct(
        {"parsed"}, parsed=[1, 2]
    )


def test_an_instance_that_a_validator_shares_is_not_changed() -> None:
    class Model(BaseModel):
        count: int = 0

        @model_validator(mode="wrap")
        @classmethod
        def shared(cls, value: Any, handler: Any) -> Any:
            return constant

    constant = Model.model_construct(set(), count=7)
    merged = StateSchema(Model).apply_updates(Model.model_construct(), [("n", {"count": 1})])

    assert merged == constant
    assert merged is not constant
    assert constant.model_fields_set == set()


@pytest.mark.parametrize("model", [Frozen, Ordered, Research])
def test_a_state_that_lacks_a_field_is_merged_without_it(model: type[BaseModel]) -> None:
    name = {Frozen: "count", Ordered: "low", Research: "rounds"}[model]
    state = model()
    object.__delattr__(state, name)

    merged = StateSchema(model).apply_updates(state, [("n", {name: 2})])

    assert getattr(merged, name) == 2
