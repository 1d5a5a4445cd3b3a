"""Validating one field, and the property that touched fields give the verdict of the model."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
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


# --- one field -------------------------------------------------------------------------------


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


# --- touched fields alone give the verdict of the whole model --------------------------------


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
