"""Updates that cannot be merged: which writer, which field, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
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
