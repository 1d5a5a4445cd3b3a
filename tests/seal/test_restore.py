"""Restoring: a value comes back as it was sealed, model by model."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from accord.errors import FlowError
from accord.seal import JsonValue, class_name, decode, encode


class Note(BaseModel):
    text: str = ""
    tags: list[str] = Field(default_factory=list)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    note: Any = None


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    count: int = 0


# --- models as they were sealed --------------------------------------------------------------


def test_a_model_comes_back_as_its_class_with_its_fields() -> None:
    value = [Note(text="a", tags=["b"]), {"n": Note()}]

    restored = decode(encode(value), {class_name(Note): Note})

    assert restored == value


def test_which_fields_were_set_is_kept() -> None:
    restored = decode(encode(Note(text="")), {class_name(Note): Note})

    assert isinstance(restored, Note)
    assert restored.model_fields_set == {"text"}
    assert restored.model_dump(exclude_unset=True) == {"text": ""}


def test_the_fields_come_back_in_their_order() -> None:
    note = Note(text="a")

    restored = decode(encode(note), {class_name(Note): Note})

    assert isinstance(restored, Note)
    assert restored.model_dump_json() == note.model_dump_json() == '{"text":"a","tags":[]}'


def test_extras_are_kept() -> None:
    value = Open.model_validate({"colour": "red", "other": Note(text="a")})

    restored = decode(encode(value), {class_name(Open): Open, class_name(Note): Note})

    assert restored == value
    assert isinstance(restored, Open)
    assert restored.model_extra == {"colour": "red", "other": Note(text="a")}


def test_a_restored_model_takes_new_extras_as_the_sealed_one_did() -> None:
    restored: Any = decode(encode(Open()), {class_name(Open): Open})

    restored.added = 1

    assert restored.model_extra == {"added": 1}


def test_a_model_without_extras_has_none() -> None:
    restored = decode(encode(Note()), {class_name(Note): Note})

    assert isinstance(restored, Note)
    assert restored.model_extra is None


def test_a_field_that_the_model_lacked_is_not_filled() -> None:
    bare = Note(text="a")
    del bare.__dict__["tags"]

    restored = decode(encode(bare), {class_name(Note): Note})

    assert isinstance(restored, Note)
    assert restored.__dict__ == {"text": "a"}


def test_a_restored_model_can_be_used_as_any_other() -> None:
    restored = decode(encode(Note(text="a")), {class_name(Note): Note})

    assert isinstance(restored, Note)
    restored.text = "b"
    assert restored.model_copy(deep=True) == Note(text="b")
    assert Note.model_validate(restored.model_dump()) == Note(text="b")


def test_a_frozen_model_comes_back_frozen() -> None:
    restored = decode(encode(Frozen(count=3)), {class_name(Frozen): Frozen})

    assert restored == Frozen(count=3)
    assert hash(restored) == hash(Frozen(count=3))


# --- values that look like forms -------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"$model": class_name(Note), "fields": {"text": "a"}, "set": []},
        {"$model": "os:system", "fields": {}, "set": []},
        {"$str": ["a"]},
        {"$dict": [["a", 1]]},
        {"$": 1},
        {"a": [{"$model": {"$model": 1}}]},
        encode({"$dict": [["$str", 1]]}),
        encode("\ud83d\ude00"),
        encode(Note()),
    ],
    ids=repr,
)
def test_a_dict_that_looks_like_a_form_comes_back_as_a_dict(value: JsonValue) -> None:
    restored = decode(encode(value), {class_name(Note): Note})

    assert restored == value
    assert json.dumps(restored, sort_keys=True) == json.dumps(value, sort_keys=True)


# --- depth -----------------------------------------------------------------------------------


def test_the_deepest_models_that_can_be_sealed_can_be_restored() -> None:
    value: Any = None
    for _ in range(150):
        value = Open.model_construct(note=value)

    restored = decode(encode(value), {class_name(Open): Open})

    depth = 0
    while isinstance(restored, Open):
        restored, depth = restored.note, depth + 1
    assert depth == 150


def test_a_stack_that_is_almost_full_is_a_flow_error() -> None:
    tree: JsonValue = 1
    for _ in range(140):
        tree = [tree]

    def from_below(frames: int) -> object:
        return decode(tree, {}) if frames == 0 else from_below(frames - 1)

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    with pytest.raises(FlowError, match=r"^state is malformed .* nesting exceeds the stack") as got:
        from_below(free - 100)

    assert got.value.code == "checkpoint-malformed"
