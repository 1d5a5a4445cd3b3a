"""Which models are validated whole, and under which configuration."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    WrapValidator,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from accord.errors import FlowError
from accord.flow.state import Merge, StateSchema


class Hit(BaseModel):
    source_id: str
    text: str = ""


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


class Ordered(BaseModel):
    low: int = 0
    high: int = 10
    words: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def low_is_below_high(self) -> Ordered:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


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
