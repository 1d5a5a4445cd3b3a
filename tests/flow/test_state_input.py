"""The first state of a run: what is an input, and how a bad one is refused."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
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
