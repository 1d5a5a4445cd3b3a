"""Aliases of nested models: input, a touched field and the whole model read them alike."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from accord import FlowError
from accord.flow.state import StateSchema


class Person(BaseModel):
    full_name: str = Field(alias="fullName")


class Both(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    full_name: str = Field(alias="fullName")


class Plain(BaseModel):
    person: Person | None = None
    both: Both | None = None


class Aliased(Plain):
    count: int = Field(0, alias="person_count")


class Checked(Plain):
    @model_validator(mode="after")
    def accept(self) -> Checked:
        return self


class CheckedAndAliased(Checked):
    count: int = Field(0, alias="person_count")
    _seen: list[str] = PrivateAttr(default_factory=list)


MODELS = [Plain, Aliased, Checked, CheckedAndAliased]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "values",
    [
        {"person": {"fullName": "Ann"}},
        {"both": {"fullName": "Ann"}},
        {"both": {"full_name": "Ann"}},
        {"person": Person(fullName="Ann")},
    ],
    ids=repr,
)
def test_a_nested_model_goes_by_its_own_aliases(
    model: type[BaseModel], values: dict[str, Any]
) -> None:
    schema = StateSchema(model)

    given = schema.initial(values)
    written = schema.apply_updates(schema.initial({}), [("node", values)])

    assert given == written
    (value,) = (getattr(given, field) for field in values)
    assert value.full_name == "Ann"


@pytest.mark.parametrize("model", MODELS)
def test_a_nested_model_that_takes_its_alias_only_refuses_its_name(model: type[BaseModel]) -> None:
    schema, values = StateSchema(model), {"person": {"full_name": "Ann"}}

    with pytest.raises(FlowError, match="fullName: Field required"):
        schema.initial(values)
    with pytest.raises(FlowError, match="fullName: Field required"):
        schema.apply_updates(schema.initial({}), [("node", values)])


def test_the_state_itself_still_goes_by_name() -> None:
    schema = StateSchema(CheckedAndAliased)

    state = schema.apply_updates(schema.initial({"count": 1}), [("node", {"count": 2})])

    assert state == CheckedAndAliased(person_count=2)
