"""Extras, private attributes and cached properties over a merge."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)

from accord.flow.state import Merge, StateSchema


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    count: Annotated[int, Merge.sum] = 0
    words: list[str] = Field(default_factory=list)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    count: int = 0
    log: Annotated[list[int], Merge.append] = Field(default_factory=list)


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
