"""Merge rules as a state model declares them."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Optional

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
)
from typing_extensions import TypeAliasType

from accord.errors import ConfigError
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
