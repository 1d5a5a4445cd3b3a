"""State: merge rules, the model's verdict, and what a merge leaves alone."""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    Json,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    RootModel,
    SecretStr,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

from accord.errors import ConfigError, FlowError
from accord.flow.state import Merge, MergeRule, StateSchema, merge_rules

Count = Annotated[int, Merge.sum]
Log = TypeAliasType("Log", Annotated[list[str], Merge.append])


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


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    count: Annotated[int, Merge.sum] = 0
    words: list[str] = Field(default_factory=list)


class Aliased(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = Field(alias="theCount")
    first: str = Field("", validation_alias="one")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    count: int = 0
    log: Annotated[list[int], Merge.append] = Field(default_factory=list)


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


# Declaring rules


def test_an_unannotated_field_is_replaced() -> None:
    assert merge_rules(Research)["question"] is Merge.replace


def test_each_rule_is_read_from_its_annotation() -> None:
    rules = merge_rules(Research)

    assert list(rules) == ["question", "rounds", "log", "hits", "notes"]
    assert rules["rounds"] is Merge.sum
    assert rules["log"] is Merge.append
    assert rules["hits"] == Merge.keyed("source_id") == MergeRule("keyed", by="source_id")
    assert rules["notes"] is Merge.append


def test_rules_are_found_in_nested_annotations_unions_and_aliases() -> None:
    class Model(BaseModel):
        nested: Annotated[Count, Field(ge=0)] = 0
        optional: Count | None = None
        old_optional: Optional[Count] = None  # noqa: UP045 - the older spelling is in use
        alias: Log = Field(default_factory=list)
        beside_field: Annotated[int, Field(gt=1), Merge.sum, "text"] = 3

    rules = merge_rules(Model)

    assert rules["alias"] is Merge.append
    assert {name for name, rule in rules.items() if rule is Merge.sum} == {
        "nested",
        "optional",
        "old_optional",
        "beside_field",
    }


def test_a_rule_on_the_items_is_not_a_rule_of_the_field() -> None:
    class Model(BaseModel):
        counts: list[Count] = Field(default_factory=list)

    assert merge_rules(Model) == {"counts": Merge.replace}


def test_the_outermost_rule_wins() -> None:
    class Model(BaseModel):
        count: Annotated[Count, Merge.replace] = 0

    assert merge_rules(Model) == {"count": Merge.replace}


def test_rules_are_inherited_and_a_redeclared_field_starts_anew() -> None:
    class Child(Research):
        rounds: int = 0
        extra: Count = 0

    rules = merge_rules(Child)

    assert rules["log"] is Merge.append
    assert rules["rounds"] is Merge.replace
    assert rules["extra"] is Merge.sum


@pytest.mark.parametrize(
    ("kind", "by"), [("keyed", None), ("keyed", ""), ("append", "id"), ("sum", "id")]
)
def test_a_rule_has_a_key_exactly_when_it_is_keyed(
    kind: Literal["append", "sum", "keyed"], by: str | None
) -> None:
    with pytest.raises(ConfigError, match=re.escape("Merge.keyed(by=...)")):
        MergeRule(kind, by)


def test_a_schema_knows_its_model_fields_and_rules() -> None:
    schema = StateSchema(Research)

    assert schema.model is Research
    assert schema.fields == {"question", "rounds", "log", "hits", "notes"}
    assert schema.rules == merge_rules(Research)


def test_a_model_with_a_forward_reference_is_completed() -> None:
    class Deferred(BaseModel):
        model_config = ConfigDict(defer_build=True)

        count: Count = 0

    schema = StateSchema(Deferred)

    assert schema.rules == {"count": Merge.sum}
    assert schema.initial({"count": 2}) == Deferred(count=2)


def test_a_root_model_is_no_state() -> None:
    class Items(RootModel[list[int]]):
        pass

    with pytest.raises(ConfigError, match="Items cannot be a flow's state"):
        StateSchema(Items)


# The first state


def test_a_run_begins_with_the_input_by_field_name() -> None:
    state = StateSchema(Aliased).initial({"count": "3", "first": "a"})

    assert isinstance(state, Aliased)
    assert (state.count, state.first) == (3, "a")
    assert state.model_fields_set == {"count", "first"}


def test_any_mapping_is_an_input() -> None:
    state = StateSchema(Research).initial(MappingProxyType({"question": "why"}))

    assert state == Research(question="why")


def test_an_alias_is_an_unknown_key_of_the_input() -> None:
    with pytest.raises(FlowError, match="unknown key 'theCount'") as caught:
        StateSchema(Aliased).initial({"theCount": 3})

    assert caught.value.field == "theCount"


def test_unknown_keys_are_refused_by_name_also_where_the_model_allows_extras() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Open).initial({"count": 1, "colour": 1, "size": 2}, flow="paint")

    assert caught.value.message == (
        "the input has the unknown key 'colour', 'size'; the fields of Open are count, log"
    )
    assert (caught.value.flow, caught.value.field) == ("paint", "colour")


def test_a_refused_input_names_the_first_field_and_the_reasons() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).initial({"rounds": "x", "log": [1]}, flow="research")

    assert (caught.value.flow, caught.value.field) == ("research", "rounds")
    assert caught.value.message == (
        "Research refuses the input: rounds: Input should be a valid integer, unable to parse "
        "string as an integer; log.0: Input should be a valid string"
    )
    assert isinstance(caught.value.__cause__, ValidationError)


def test_a_missing_field_is_named_by_its_name_and_not_by_its_alias() -> None:
    with pytest.raises(FlowError, match="count: Field required") as caught:
        StateSchema(Aliased).initial({})

    assert caught.value.field == "count"


def test_a_refusal_never_repeats_a_huge_value() -> None:
    def refuse(value: str) -> str:
        raise ValueError(f"cannot use {value}")

    class Model(BaseModel):
        texts: dict[str, Annotated[str, AfterValidator(refuse)]]

    huge = "x" * 100_000
    with pytest.raises(FlowError) as caught:
        StateSchema(Model).initial({"texts": {f"{huge}{n}": huge for n in range(20)}})

    assert len(caught.value.message) < 2_000
    assert caught.value.message.endswith("; and 15 more")


def test_a_huge_unknown_key_is_cut() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).initial({"k" * 100_000: 1})

    assert len(str(caught.value.message)) < 500
    assert len(str(caught.value.field)) <= 200


def test_a_refusal_by_the_model_as_a_whole_names_no_field() -> None:
    with pytest.raises(FlowError, match="low is above high") as caught:
        StateSchema(Ordered).initial({"low": 11})

    assert caught.value.field is None


def test_a_validator_that_breaks_is_a_refusal() -> None:
    class Model(BaseModel):
        count: int

        @field_validator("count")
        @classmethod
        def broken(cls, value: int) -> int:
            raise KeyError("gone")

    with pytest.raises(FlowError, match="KeyError: 'gone'") as caught:
        StateSchema(Model).initial({"count": 1})

    assert isinstance(caught.value.__cause__, KeyError)


def test_an_instance_of_the_model_is_copied() -> None:
    given_state = Research(question="why", log=["a"])

    state = StateSchema(Research).initial(given_state)

    assert state == given_state
    assert state is not given_state
    assert state.model_fields_set == {"question", "log"}
    assert isinstance(state, Research)
    assert state.log is not given_state.log


@pytest.mark.parametrize("value", [Hit(source_id="a"), Tree(name="a"), 3, None, [("rounds", 1)]])
def test_anything_else_is_no_input(value: object) -> None:
    schema = StateSchema(Research)

    with pytest.raises(FlowError, match="or an instance of Research itself"):
        schema.initial(value)  # type: ignore[arg-type]  # what a caller may do all the same


def test_an_instance_of_a_subclass_is_no_input() -> None:
    class Child(Research):
        pass

    with pytest.raises(FlowError, match="the input is a Child"):
        StateSchema(Research).initial(Child())


def test_a_validator_that_returns_another_type_is_reported() -> None:
    class Model(BaseModel):
        count: int = 0

        @model_validator(mode="wrap")
        @classmethod
        def lost(cls, value: Any, handler: Any) -> Any:
            return handler(value).count

    with pytest.raises(FlowError, match="a validator of Model returned a int") as caught:
        StateSchema(Model).initial({}, flow="f")

    assert caught.value.flow == "f"


# Merging one field


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


# Validating one field


def test_a_value_is_returned_as_its_field_accepts_it() -> None:
    schema, state = StateSchema(Research), Research()

    assert schema.validate_field(state, "rounds", "3") == 3
    assert schema.validate_field(state, "hits", [{"source_id": "a"}]) == [Hit(source_id="a")]
    assert state == Research()


def test_a_value_that_the_field_refuses_is_reported() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).validate_field(Research(), "hits", [{"source_id": "a"}, {}])

    assert caught.value.field == "hits"
    assert caught.value.message == (
        "'hits' of Research refuses the value: 1.source_id: Field required"
    )


def test_an_unknown_field_is_not_validated() -> None:
    with pytest.raises(FlowError, match="unknown key 'colour'"):
        StateSchema(Research).validate_field(Research(), "colour", 1)


def test_a_field_is_validated_without_the_validators_of_the_model() -> None:
    assert StateSchema(Ordered).validate_field(Ordered(), "low", "99") == 99


def test_a_field_is_validated_with_its_own_validators() -> None:
    class Model(BaseModel):
        limit: int = 3
        count: int = 0

        @field_validator("count")
        @classmethod
        def capped(cls, value: int, info: ValidationInfo) -> int:
            return min(value, int(info.data["limit"]))

    assert StateSchema(Model).validate_field(Model(limit=5), "count", 9) == 5


def test_a_field_of_a_frozen_model_is_validated() -> None:
    assert StateSchema(Frozen).validate_field(Frozen(), "count", "4") == 4


def test_a_field_of_a_recursive_model_is_validated() -> None:
    value = [{"name": "b", "children": [{"name": "c"}]}]

    valid = StateSchema(Tree).validate_field(Tree(name="a"), "children", value)

    assert valid == [Tree(name="b", children=[Tree(name="c")])]


# Applying the updates of one superstep


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


def test_an_update_that_is_no_mapping_is_reported() -> None:
    bad: Any = [("rounds", 1)]

    with pytest.raises(FlowError, match="the update is a list") as caught:
        StateSchema(Research).apply_updates(Research(), [("a", {"rounds": 1}), ("b", bad)])

    assert (caught.value.node, caught.value.field) == ("b", None)


def test_an_unknown_key_names_its_writer_and_lists_the_fields() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).apply_updates(
            Research(), [("a", {"rounds": "bad"}), ("b", {"colour": 1}), ("c", {"size": 1})]
        )

    assert (caught.value.node, caught.value.field) == ("b", "colour")
    assert caught.value.message == (
        "the update has the unknown key 'colour'; the fields of Research are question, rounds, "
        "log, hits, notes"
    )


@pytest.mark.parametrize("model", [Open, Aliased])
def test_extras_and_aliases_are_unknown_keys(model: type[BaseModel]) -> None:
    schema = StateSchema(model)

    with pytest.raises(FlowError, match="unknown key 'theCount'"):
        schema.apply_updates(schema.initial({"count": 1}), [("n", {"theCount": 1})])


def test_a_key_that_is_no_text_is_an_unknown_key() -> None:
    update: Any = {3: 1}

    with pytest.raises(FlowError, match="unknown key 3") as caught:
        StateSchema(Research).apply_updates(Research(), [("n", update)])

    assert caught.value.field == "3"


def test_a_conflict_names_the_last_writer_of_the_field() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).apply_updates(
            Research(),
            [("a", {"question": "x"}), ("b", {"question": "y"}), ("c", {"rounds": 1})],
        )

    assert caught.value.message == "conflicting writes to question"
    assert (caught.value.node, caught.value.field) == ("b", "question")


def test_a_conflict_names_the_last_writer_also_before_whole_validation() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Ordered).apply_updates(
            Ordered(), [("a", {"low": 1}), ("b", {"low": 2}), ("c", {"high": 3})]
        )

    assert caught.value.message == "conflicting writes to low"
    assert (caught.value.node, caught.value.field) == ("b", "low")


def test_a_failed_merge_keeps_its_cause() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).apply_updates(Research(), [("n", {"rounds": "a"})])

    assert (caught.value.node, caught.value.field) == ("n", "rounds")
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_value_of_the_wrong_type_names_the_last_writer_and_the_reason() -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Research).apply_updates(
            Research(), [("a", {"log": [1]}), ("b", {"log": ["x"]}), ("c", {"rounds": 1})]
        )

    assert (caught.value.node, caught.value.field) == ("b", "log")
    assert caught.value.message == (
        "'log' of Research refuses the value: 0: Input should be a valid string"
    )
    assert isinstance(caught.value.__cause__, ValidationError)


def test_a_bad_appended_item_is_named_by_its_place_in_the_whole_list() -> None:
    state = Research(log=["a", "b"])

    with pytest.raises(FlowError, match="refuses the value: 3: Input should be") as caught:
        StateSchema(Research).apply_updates(state, [("n", {"log": ["c", 1]})])

    assert caught.value.field == "log"
    assert state.log == ["a", "b"]


def test_the_length_of_an_appended_list_is_checked_as_a_whole() -> None:
    class Model(BaseModel):
        log: Annotated[list[int], Merge.append, Field(max_length=2)] = Field(default_factory=list)

    with pytest.raises(FlowError, match="at most 2 items") as caught:
        StateSchema(Model).apply_updates(Model(log=[1, 2]), [("n", {"log": 3})])

    assert (caught.value.node, caught.value.field) == ("n", "log")


def test_appended_items_are_validated_once() -> None:
    class Model(BaseModel):
        parsed: Annotated[list[Json[int]], Merge.append] = Field(default_factory=list)

    schema = StateSchema(Model)
    state = schema.apply_updates(Model(), [("n", {"parsed": "1"})])

    assert schema.apply_updates(state, [("n", {"parsed": "2"})]) == Model.model_construct(
        {"parsed"}, parsed=[1, 2]
    )


def test_a_refusal_by_the_whole_model_names_the_last_writer_of_all() -> None:
    state = Ordered()

    with pytest.raises(FlowError) as caught:
        StateSchema(Ordered).apply_updates(
            state, [("a", {"low": 20}), ("b", {"words": ["x"]}), ("c", {})]
        )

    assert (caught.value.node, caught.value.field) == ("b", None)
    assert caught.value.message == (
        "Ordered refuses the merged state: Value error, low is above high"
    )
    assert state == Ordered()


def test_a_refusal_by_whole_validation_names_the_last_writer_of_the_field() -> None:
    with pytest.raises(FlowError, match="low: Input should be a valid integer") as caught:
        StateSchema(Ordered).apply_updates(Ordered(), [("a", {"low": "x"}), ("b", {"high": 1})])

    assert (caught.value.node, caught.value.field) == ("a", "low")


def test_a_refused_untouched_field_names_the_last_writer_of_all() -> None:
    state = Ordered()
    state.__dict__["high"] = "bad"

    with pytest.raises(FlowError, match="high: Input should be a valid integer") as caught:
        StateSchema(Ordered).apply_updates(state, [("a", {"low": 1})])

    assert (caught.value.node, caught.value.field) == ("a", "high")


def test_a_validator_that_breaks_on_a_merge_is_a_refusal() -> None:
    class Model(BaseModel):
        count: int = 0

        @model_validator(mode="after")
        def broken(self) -> Model:
            if self.count:
                raise RuntimeError("broken")
            return self

    with pytest.raises(FlowError, match="RuntimeError: broken") as caught:
        StateSchema(Model).apply_updates(Model(), [("n", {"count": 1})])

    assert caught.value.node == "n"


def test_a_value_that_breaks_while_it_is_validated_is_a_refusal() -> None:
    class Bad(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            raise RuntimeError("broken")

        def __iter__(self) -> Any:
            raise RuntimeError("broken")

        def __len__(self) -> int:
            raise RuntimeError("broken")

    class Model(BaseModel):
        table: dict[str, int] = {}

    with pytest.raises(FlowError) as caught:
        StateSchema(Model).apply_updates(Model(), [("n", {"table": Bad()})])

    assert (caught.value.node, caught.value.field) == ("n", "table")


def test_a_validator_that_returns_another_type_on_a_merge_is_reported() -> None:
    class Model(BaseModel):
        count: int = 0

        @model_validator(mode="wrap")
        @classmethod
        def lost(cls, value: Any, handler: Any) -> Any:
            return None if value.get("count") else handler(value)

    schema = StateSchema(Model)
    state = schema.initial({})

    with pytest.raises(FlowError, match="a validator of Model returned a NoneType") as caught:
        schema.apply_updates(state, [("n", {"count": 1})])

    assert caught.value.node == "n"


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


# Which models are validated whole


def test_plain_types_and_constraints_are_validated_field_by_field() -> None:
    class Stop(TypedDict):
        type: str
        default: int

    @pydantic_dataclass
    class Point:
        x: int

    class Model(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", str_strip_whitespace=True)

        count: Annotated[int, Field(ge=0)] = 0
        type: Annotated[str, Field(pattern="^a")] = "a"
        default: list[Hit] = Field(default_factory=list, alias="theDefault")
        choice: Literal["a", "b"] | int | None = None
        stop: Stop | None = None
        point: Point | None = None
        tree: Tree | None = None
        secret: SecretStr | None = None
        url: HttpUrl | None = None
        path: Path | None = None
        values: Sequence[int] = ()
        counter: collections.defaultdict[str, int] = Field(
            default_factory=lambda: collections.defaultdict(int)
        )
        shown: Annotated[int, PlainSerializer(str)] = 0
        _private: int = PrivateAttr(1)

        @computed_field  # type: ignore[prop-decorator]  # pydantic documents this order
        @property
        def doubled(self) -> Annotated[int, AfterValidator(abs)]:
            return self.count * 2

    assert not StateSchema(Model).revalidates_whole


def test_a_default_that_looks_like_a_schema_is_no_validator() -> None:
    class Model(BaseModel):
        data: dict[str, str] = {"type": "function-plain"}

    assert not StateSchema(Model).revalidates_whole


def _double(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, AfterValidator(_double)],
        Annotated[int, BeforeValidator(_double)],
        Annotated[int, PlainValidator(_double)],
        Annotated[int, WrapValidator(lambda value, handler: handler(value))],
        Annotated[int, AfterValidator(functools.partial(_double))],
        Annotated[str, BeforeValidator(str.strip)],
        list[Annotated[int, AfterValidator(_double)]],
        dict[str, Annotated[int, AfterValidator(_double)] | None],
        Ordered,
        Ordered | None,
        list[Ordered],
    ],
)
def test_an_annotated_or_nested_validator_makes_the_model_whole(annotation: Any) -> None:
    model = type("Model", (BaseModel,), {"__annotations__": {"default": annotation}})

    assert StateSchema(model).revalidates_whole


def test_a_field_validator_makes_the_model_whole() -> None:
    class Model(BaseModel):
        count: int = 0

        @field_validator("count")
        @classmethod
        def check(cls, value: int) -> int:
            return value

    assert StateSchema(Model).revalidates_whole


def test_a_model_post_init_makes_the_model_whole() -> None:
    class Model(BaseModel):
        count: int = 0

        def model_post_init(self, context: object, /) -> None:
            pass

    class Outer(BaseModel):
        inner: Model | None = None

    assert StateSchema(Model).revalidates_whole
    assert StateSchema(Outer).revalidates_whole


def test_a_post_init_of_a_dataclass_makes_the_model_whole() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

        def __post_init__(self) -> None:
            self.x += 1

    class Model(BaseModel):
        point: Point | None = None

    assert StateSchema(Model).revalidates_whole


def test_a_frozen_field_makes_the_model_whole_and_can_be_written() -> None:
    class Model(BaseModel):
        count: int = Field(default=0, frozen=True)

    schema = StateSchema(Model)

    assert schema.revalidates_whole
    assert schema.apply_updates(Model(), [("n", {"count": 2})]) == Model(count=2)
    assert schema.validate_field(Model(), "count", "2") == 2


def test_a_frozen_model_is_validated_whole_and_can_be_written() -> None:
    schema, state = StateSchema(Frozen), Frozen(words=["a"])

    merged = schema.apply_updates(state, [("n", {"count": 2, "words": ["b"]})])

    assert schema.revalidates_whole
    assert merged == Frozen(count=2, words=["b"])
    assert state == Frozen(words=["a"])


def test_validate_assignment_makes_the_model_whole() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(validate_assignment=True)

        count: int = 0

    assert StateSchema(Model).revalidates_whole
    assert StateSchema(Model).apply_updates(Model(), [("n", {"count": 2})]) == Model(count=2)


def test_an_own_init_makes_the_model_whole_and_runs() -> None:
    class Model(BaseModel):
        count: int = 0
        doubled: int = 0
        _seen: int = PrivateAttr(0)

        def __init__(self, **values: Any) -> None:
            super().__init__(**{**values, "doubled": values.get("count", 0) * 2})

    schema = StateSchema(Model)
    state = Model(count=1)
    state._seen = 5
    merged = schema.apply_updates(state, [("n", {"count": 2})])

    assert schema.revalidates_whole
    assert isinstance(merged, Model)
    assert (merged.count, merged.doubled, merged._seen) == (2, 4, 5)


def test_whole_validation_goes_by_field_name() -> None:
    class Model(Aliased):
        @model_validator(mode="after")
        def check(self) -> Model:
            return self

    schema = StateSchema(Model)
    state = schema.initial({"count": 1, "first": "a"})

    assert schema.apply_updates(state, [("n", {"count": 2})]) == schema.initial(
        {"count": 2, "first": "a"}
    )


def test_an_alias_that_is_the_name_of_another_field_is_never_read() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(frozen=True)

        width: int = Field(default=0, alias="height")
        height: int = Field(default=0, alias="width")

    schema = StateSchema(Model)
    state = schema.initial({"width": 1, "height": 2})
    merged = schema.apply_updates(state, [("n", {"width": 3})])

    assert (dict(state), dict(merged)) == (
        {"width": 1, "height": 2},
        {"width": 3, "height": 2},
    )


def test_touched_validation_goes_by_field_name() -> None:
    schema = StateSchema(Aliased)
    state = schema.initial({"count": 1, "first": "a"})

    assert schema.apply_updates(state, [("n", {"count": 2, "first": "b"})]) == schema.initial(
        {"count": 2, "first": "b"}
    )


def test_a_strict_model_stays_strict() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(strict=True)

        count: int = 0

    with pytest.raises(FlowError, match="should be a valid integer"):
        StateSchema(Model).apply_updates(Model(), [("n", {"count": "1"})])


def test_the_configuration_of_the_model_holds_for_a_touched_field() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(str_strip_whitespace=True, str_max_length=3)

        text: str = ""

    assert StateSchema(Model).apply_updates(Model(), [("n", {"text": " abc "})]) == Model(
        text="abc"
    )


def test_an_untouched_value_is_not_decoded_again() -> None:
    class Model(BaseModel):
        data: Base64Bytes
        count: int = 0

    schema = StateSchema(Model)
    state = schema.initial({"data": b"YWJj"})

    merged = schema.apply_updates(state, [("n", {"count": 1})])

    assert isinstance(merged, Model)
    assert merged.data == b"abc"


# Extras, private attributes, cached properties


@pytest.mark.parametrize("frozen", [False, True])
def test_extras_survive_a_merge(frozen: bool) -> None:
    class Hard(Open):
        model_config = ConfigDict(frozen=True)

    model = Hard if frozen else Open
    state = model.model_validate({"count": 1, "colour": "red", "parts": [1]})

    merged = StateSchema(model).apply_updates(state, [("n", {"count": 2, "log": 3})])

    assert merged == model.model_validate({"count": 2, "log": [3], "colour": "red", "parts": [1]})
    assert merged.model_extra is not state.model_extra


@pytest.mark.parametrize("frozen", [False, True])
def test_private_attributes_survive_a_merge(frozen: bool) -> None:
    class Model(BaseModel):
        count: int = 0
        _seen: int = PrivateAttr(0)

    class Hard(Model):
        model_config = ConfigDict(frozen=True)

    model = Hard if frozen else Model
    state = model()
    state._seen = 5

    merged = StateSchema(model).apply_updates(state, [("n", {"count": 2})])

    assert isinstance(merged, Model)
    assert merged._seen == 5
    merged._seen = 6
    assert state._seen == 5


def test_model_post_init_runs_on_top_of_the_private_attributes() -> None:
    class Model(BaseModel):
        count: int = 0
        _seen: int = PrivateAttr(0)
        _doubled: int = PrivateAttr(0)

        def model_post_init(self, context: object, /) -> None:
            self._doubled = self.count * 2

    state = Model(count=1)
    state._seen = 5

    merged = StateSchema(Model).apply_updates(state, [("n", {"count": 2})])

    assert isinstance(merged, Model)
    assert (merged._seen, merged._doubled) == (5, 4)
    assert (state._seen, state._doubled) == (5, 2)


def test_a_validator_of_the_model_runs_on_top_of_the_private_attributes() -> None:
    class Model(BaseModel):
        count: int = 0
        children: list[Model] = []
        _seen: int = PrivateAttr(0)
        _last: int = PrivateAttr(-1)

        @model_validator(mode="before")
        @classmethod
        def whole_number(cls, values: Any) -> Any:
            return {**values, "count": int(values.get("count", 0))}

        @model_validator(mode="after")
        def note(self) -> Model:
            self._last = self.count
            return self

    state = Model(count=1)
    state._seen = 5

    merged = StateSchema(Model).apply_updates(
        state, [("n", {"count": 0, "children": [{"count": 7}]})]
    )

    assert isinstance(merged, Model)
    assert (merged._seen, merged._last) == (5, 0)
    assert (merged.children[0]._seen, merged.children[0]._last) == (0, 7)
    assert (state._seen, state._last) == (5, 1)


def test_private_attributes_that_a_state_lacks_are_set_up() -> None:
    class Model(Frozen):
        _seen: int = PrivateAttr(3)

    state = Model()
    object.__setattr__(state, "__pydantic_private__", None)

    merged = StateSchema(Model).apply_updates(state, [("n", {"count": 2})])

    assert isinstance(merged, Model)
    assert merged._seen == 3


def test_a_cached_property_is_computed_anew() -> None:
    class Model(BaseModel):
        count: int = 0

        @functools.cached_property
        def doubled(self) -> int:
            return self.count * 2

    schema, state = StateSchema(Model), Model(count=1)
    assert state.doubled == 2

    merged = schema.apply_updates(state, [("n", {"count": 2})])

    assert isinstance(merged, Model)
    assert merged.doubled == 4


# The view of one visit


@pytest.mark.parametrize("frozen", [False, True])
def test_a_view_has_its_own_containers(frozen: bool) -> None:
    class Model(BaseModel):
        model_config = ConfigDict(extra="allow")

        items: list[int] = [1]
        table: dict[str, int] = {"a": 1}
        kinds: set[str] = {"a"}
        hits: list[Hit] = [Hit(source_id="a")]
        count: int = 1
        _seen: int = PrivateAttr(0)

    class Hard(Model):
        model_config = ConfigDict(frozen=True)

    model = Hard if frozen else Model
    state = model.model_validate({"count": 2, "parts": [1]})
    state._seen = 5
    view = StateSchema(model).view(state)

    assert isinstance(view, Model)
    view.items.append(2)
    view.table["b"] = 2
    view.kinds.add("b")
    (view.model_extra or {})["parts"].append(2)
    view._seen = 6
    assert state.model_dump() == {
        "items": [1],
        "table": {"a": 1},
        "kinds": {"a"},
        "hits": [{"source_id": "a", "text": ""}],
        "count": 2,
        "parts": [1],
    }
    assert state._seen == 5
    assert view.hits[0] is state.hits[0]
    assert view.model_fields_set == state.model_fields_set == {"count", "parts"}
    assert view.model_fields_set is not state.model_fields_set


def test_a_view_shares_subclasses_of_the_built_in_containers() -> None:
    class Model(BaseModel):
        table: Any = None

    table = collections.OrderedDict(a=1)
    view = StateSchema(Model).view(Model(table=table))

    assert isinstance(view, Model)
    assert view.table is table


# Touched fields alone give the verdict of the whole model


class Plain(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: Annotated[int, Field(ge=-2, le=2)] = Field(default=0, alias="theNumber")
    ratio: float | None = None
    text: Annotated[str, Field(max_length=3)] = ""
    flag: bool = False
    log: Annotated[list[int | str], Merge.append] = Field(default_factory=list)
    short: Annotated[list[str], Merge.append, Field(max_length=3)] = Field(default_factory=list)
    hits: Annotated[list[Hit], Merge.keyed(by="source_id")] = Field(default_factory=list)
    total: Annotated[float, Merge.sum] = 0.0
    table: dict[str, int] = Field(default_factory=dict)


_updates = {
    "number": st.integers(-3, 3) | st.sampled_from(["1", 1.0, True, "x", None]),
    "ratio": st.floats(allow_nan=False) | st.sampled_from([None, "1.5", 3, "x"]),
    "text": st.sampled_from(["", "abc", "abcd", 1]),
    "flag": st.sampled_from([True, "yes", 0, "maybe"]),
    "log": st.lists(st.integers() | st.text(max_size=2), max_size=2) | st.sampled_from([1, None]),
    "short": st.lists(st.just("a"), max_size=2) | st.sampled_from(["b", 1]),
    "hits": st.sampled_from(
        [[], Hit(source_id="a"), {"source_id": "a", "text": "t"}, [{"source_id": "b"}], {}]
    ),
    "total": st.integers(-3, 3) | st.sampled_from([0.5, True, "x"]),
    "table": st.sampled_from([{}, {"a": 1}, {"a": "1"}, {"a": "x"}, []]),
}


@settings(deadline=None)
@given(
    supersteps=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                st.fixed_dictionaries({}, optional=_updates),
            ),
            max_size=3,
        ),
        max_size=3,
    )
)
def test_touched_fields_give_the_verdict_of_the_whole_model(
    supersteps: list[list[tuple[str, dict[str, object]]]],
) -> None:
    schema = StateSchema(Plain)
    state: BaseModel = Plain()
    for writes in supersteps:
        expected: BaseModel | None = None
        updates: dict[str, list[object]] = {}
        for _, update in writes:
            for field, value in update.items():
                updates.setdefault(field, []).append(value)
        try:
            merged = {
                field: schema.merge_field(field, getattr(state, field), values)
                for field, values in updates.items()
            }
            expected = Plain.model_validate({**dict(state), **merged}, by_name=True, by_alias=False)
        except (FlowError, ValidationError):
            pass

        if expected is None:
            with pytest.raises(FlowError):
                schema.apply_updates(state, writes)
        else:
            before, state = state, schema.apply_updates(state, writes)
            assert repr(state) == repr(expected)
            assert state.model_fields_set == before.model_fields_set | updates.keys()
