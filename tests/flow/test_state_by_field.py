"""A state that an engine keeps as one value per field merges and comes back as the state does."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from accord import FlowError, Merge
from accord.flow.state import StateSchema


class Ledger(BaseModel):
    total: Annotated[int, Merge.sum] = 10
    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    pair: tuple[int, int] = (1, 2)
    _seen: int = PrivateAttr(default=7)


class Span(BaseModel):
    low: int = 1
    high: int = 2

    @model_validator(mode="after")
    def ordered(self) -> Span:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


@pytest.mark.parametrize(
    ("field", "current", "values", "merged"),
    [("total", 10, [1, 2], 13), ("log", ["a"], [["b"], "c"], ["a", "b", "c"])],
)
def test_a_field_merges_and_is_validated_alone(
    field: str, current: object, values: list[object], merged: object
) -> None:
    assert StateSchema(Ledger).merge_value(field, current, values) == merged


@pytest.mark.parametrize(
    ("field", "values"),
    [("pair", [(1, 2), (2, 1)]), ("log", [1]), ("nope", [1])],
    ids=["conflict", "wrong type", "unknown"],
)
def test_a_bad_write_to_a_field_is_refused_with_its_name(field: str, values: list[object]) -> None:
    with pytest.raises(FlowError) as caught:
        StateSchema(Ledger).merge_value(field, None, values)

    assert caught.value.field == field


def test_a_model_with_custom_validation_judges_the_restored_state_and_no_single_field() -> None:
    schema = StateSchema(Span)

    assert schema.merge_value("low", 1, [5]) == 5
    assert schema.restore({"low": 5, "high": 9}, {"low"}) == Span(low=5, high=9)
    with pytest.raises(FlowError, match="low is above high"):
        schema.restore({"low": 5, "high": 2}, {"low"})


def test_a_restored_state_is_what_it_was_but_for_private_attributes() -> None:
    state = Ledger(total=1)

    restored = StateSchema(Ledger).restore(dict(state), state.model_fields_set)

    assert restored == state
    assert restored.model_fields_set == {"total"}
    assert isinstance(restored, Ledger)
    assert restored._seen == 7


def test_a_restored_state_of_an_open_model_has_room_for_extras() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int = 0

    assert StateSchema(Open).restore({"x": 1}, ()).model_extra == {}


def test_a_value_from_a_checkpointer_becomes_the_fields_own_type_again() -> None:
    assert StateSchema(Ledger).validate_field(None, "pair", [1, 2]) == (1, 2)
