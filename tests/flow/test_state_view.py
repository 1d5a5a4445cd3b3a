"""The view of the state that one visit gets."""

from __future__ import annotations

import collections
from typing import Any

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    PrivateAttr,
)

from accord.flow.state import StateSchema


class Hit(BaseModel):
    source_id: str
    text: str = ""


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
