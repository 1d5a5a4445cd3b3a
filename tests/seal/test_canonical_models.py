"""The canonical form of models: class, fields, which were set, extras; and where a refusal is."""

from __future__ import annotations

import functools
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, create_model

from accord.errors import FlowError
from accord.seal import canonical_text, class_name, encode

T = TypeVar("T")


class Note(BaseModel):
    text: str = ""
    tags: list[str] = Field(default_factory=list)


class Pinned(Note):
    pass


class Other(BaseModel):
    text: str = ""
    tags: list[str] = Field(default_factory=list)


class Board(BaseModel):
    model_config = ConfigDict(extra="allow")

    note: Any = None
    notes: list[Note] = Field(default_factory=list)


class Box(BaseModel, Generic[T]):
    item: T


class Words(RootModel[list[str]]):
    pass


class Anything(RootModel[Any]):
    pass


class Counted(BaseModel):
    words: list[str] = Field(default_factory=list)
    _reads: int = PrivateAttr(0)

    @functools.cached_property
    def count(self) -> int:
        return len(self.words)


def test_a_class_is_named_by_module_and_qualified_name() -> None:
    assert class_name(Note) == f"{__name__}:Note"
    assert class_name(Box[int]) == f"{__name__}:Box[int]"


def test_a_model_is_its_class_its_fields_and_which_of_them_were_set() -> None:
    assert encode(Note(text="a")) == {
        "$model": f"{__name__}:Note",
        "fields": {"text": "a", "tags": []},
        "set": ["text"],
    }


def test_the_fields_that_were_set_are_sorted() -> None:
    one, other = Note(), Note()
    one.text, one.tags = "a", []
    other.tags, other.text = [], "a"

    assert canonical_text(one) == canonical_text(other)
    assert '"set":["tags","text"]' in canonical_text(one)


def test_a_field_that_was_set_to_its_default_differs_from_one_that_was_not() -> None:
    assert canonical_text(Note(text="")) != canonical_text(Note())


def test_equal_fields_of_another_class_have_another_text() -> None:
    assert canonical_text(Other(text="a")) != canonical_text(Note(text="a"))


def test_a_model_differs_from_the_dict_of_its_fields() -> None:
    note = Note(text="a")

    assert canonical_text(note) != canonical_text(note.model_dump())


def test_a_model_differs_from_a_dict_that_looks_like_its_form() -> None:
    form = encode(Note(text="a"))

    assert canonical_text(form) != canonical_text(Note(text="a"))


def test_a_model_is_sealed_as_its_own_class_wherever_it_stands() -> None:
    board = Board(note={"of": [Pinned(text="a")]}, notes=[Pinned()])

    text = canonical_text(board)

    assert text.count(f'"$model":"{__name__}:Pinned"') == 2


def test_a_root_model_is_sealed_by_its_root() -> None:
    assert encode(Words(["a"])) == {
        "$model": f"{__name__}:Words",
        "fields": {"root": ["a"]},
        "set": ["root"],
    }


def test_a_field_that_the_model_lacks_is_left_out() -> None:
    bare = Note.model_construct(_fields_set=set())
    del bare.__dict__["tags"]

    assert encode(bare) == {"$model": f"{__name__}:Note", "fields": {"text": ""}, "set": []}


def test_extras_are_sealed_apart_from_the_fields() -> None:
    board = Board.model_validate({"colour": "red", "pinned": Note(text="a")})

    assert encode(board) == {
        "$model": f"{__name__}:Board",
        "fields": {"note": None, "notes": []},
        "set": ["colour", "pinned"],
        "extra": {"colour": "red", "pinned": encode(Note(text="a"))},
    }


def test_a_model_that_allows_extras_and_has_none_says_so() -> None:
    assert encode(Board())["extra"] == {}  # type: ignore[index,call-overload]  # a dict, as above


def test_the_names_of_extras_may_look_like_tags_or_hold_surrogates() -> None:
    extras: dict[str, Any] = {"$model": 1, "\ud83d\ude00": 2}
    board = Board.model_construct(_fields_set=set(), **extras)

    assert encode(board) == {
        "$model": f"{__name__}:Board",
        "fields": {"note": None, "notes": []},
        "set": [],
        "extra": {"$dict": [["$model", 1], [{"$str": ["\ud83d", "\ude00"]}, 2]]},
    }


def test_the_name_of_a_field_may_look_like_a_tag() -> None:
    model = create_model("Odd", __module__=__name__, **{"$str": (int, 1)})  # type: ignore[call-overload]  # any name is allowed at run time

    assert encode(model()) == {
        "$model": f"{__name__}:Odd",
        "fields": {"$dict": [["$str", 1]]},
        "set": [],
    }


def test_private_attributes_and_cached_properties_are_not_sealed() -> None:
    counted = Counted(words=["a"])
    before = canonical_text(counted)

    counted._reads = counted.count

    assert "count" in counted.__dict__
    assert canonical_text(counted) == before


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Board(note={1}), "state.note"),
        (Board(note=Board(note=[(1,)])), r"state.note.note\[0\]"),
        (Board(note=[{"a": Board.model_validate({"z": {1}})}]), r"state.note\[0\]\['a'\].z"),
        (Anything(b""), "state.root"),
    ],
    ids=["field", "nested field", "extra", "root"],
)
def test_a_value_in_a_model_is_refused_with_its_place(value: BaseModel, place: str) -> None:
    with pytest.raises(FlowError, match=f"^{place} cannot be sealed: builtins") as refused:
        encode(value)

    assert refused.value.code == "state-not-sealable"


def test_a_model_that_holds_itself_is_refused_as_a_cycle() -> None:
    board = Board()
    board.note = [board]

    with pytest.raises(FlowError, match=r"^state\.note\[0\] cannot be sealed: it is state again"):
        encode(board)


def test_an_extra_that_holds_its_model_is_refused_as_a_cycle() -> None:
    board = Board.model_validate({"up": None})
    assert board.__pydantic_extra__ is not None
    board.__pydantic_extra__["up"] = board

    with pytest.raises(FlowError, match=r"^state\.up cannot be sealed: it is state again"):
        encode(board)


def test_models_nested_without_end_are_refused() -> None:
    value: Any = None
    for _ in range(151):
        value = Board.model_construct(note=value)

    with pytest.raises(FlowError, match=r"^state\.note\.note\.note\.\.\. .* more than 150 levels"):
        encode(value)
