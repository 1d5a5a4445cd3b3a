"""Restoring runs no code of a class but private defaults, and none before every class is known."""

from __future__ import annotations

from typing import Any, Self

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    computed_field,
    field_validator,
    model_validator,
)

from accord.errors import FlowError
from accord.seal import class_name, decode, encode

ran: list[str] = []


def noted(what: str) -> str:
    ran.append(what)
    return what


class Guarded(BaseModel):
    model_config = ConfigDict(validate_assignment=True)

    count: int = Field(0, ge=0)
    made: str = Field(default_factory=lambda: noted("default"))

    @field_validator("count")
    @classmethod
    def _check_count(cls, value: int) -> int:
        noted("field validator")
        return value

    @model_validator(mode="after")
    def _check_all(self) -> Self:
        noted("model validator")
        return self

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def double(self) -> int:
        noted("computed field")
        return self.count * 2

    def model_post_init(self, _context: object) -> None:
        noted("post init")


class Overridden(BaseModel):
    count: int = 0

    def __new__(cls, *_args: object, **_kwargs: object) -> Self:
        noted("__new__")
        return super().__new__(cls)

    def __init__(self, **data: Any) -> None:
        noted("__init__")
        super().__init__(**data)

    def __setattr__(self, name: str, value: object) -> None:
        noted("__setattr__")
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        noted("__setstate__")
        super().__setstate__(state)


class Secretive(BaseModel):
    name: str = ""
    _plain: list[int] = PrivateAttr([1])
    _made: list[int] = PrivateAttr(default_factory=lambda: [2])
    _unset: int


class Derived(BaseModel):
    name: str = ""
    _first: str = PrivateAttr("first")
    _label: str = PrivateAttr(default_factory=lambda data: data["name"] + data["_first"])


class Numbers(RootModel[list[int]]):
    _total: int = PrivateAttr(7)


class Witness(BaseModel):
    _built: str = PrivateAttr(default_factory=lambda: noted("built"))


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    note: Any = None


class Note(BaseModel):
    text: str = ""


# --- no code of the class runs ---------------------------------------------------------------


def test_no_validator_default_or_post_init_runs() -> None:
    tree = encode(Guarded.model_construct(_fields_set={"count"}, count=-1, made="then"))
    ran.clear()

    restored = decode(tree, {class_name(Guarded): Guarded})

    assert ran == []
    assert isinstance(restored, Guarded)
    assert (restored.count, restored.made) == (-1, "then")


def test_no_method_that_makes_or_fills_an_instance_is_called() -> None:
    tree = encode(Overridden(count=3))
    ran.clear()

    restored = decode(tree, {class_name(Overridden): Overridden})

    assert ran == []
    assert isinstance(restored, Overridden)
    assert restored.count == 3


# --- private attributes ----------------------------------------------------------------------


def test_private_attributes_come_back_with_their_defaults() -> None:
    value = Secretive(name="a")
    value._plain, value._made, value._unset = [9], [9], 9

    restored = decode(encode(value), {class_name(Secretive): Secretive})

    assert isinstance(restored, Secretive)
    assert restored.name == "a"
    assert (restored._plain, restored._made) == ([1], [2])


def test_a_private_attribute_without_a_default_is_not_set_but_can_be() -> None:
    restored = decode(encode(Secretive()), {class_name(Secretive): Secretive})

    assert isinstance(restored, Secretive)
    with pytest.raises(AttributeError, match="_unset"):
        _ = restored._unset
    restored._unset = 3
    assert restored._unset == 3


def test_each_restored_model_has_its_own_private_defaults() -> None:
    tree = encode([Secretive(), Secretive()])

    restored: Any = decode(tree, {class_name(Secretive): Secretive})
    restored[0]._plain.append(9)

    assert restored[1]._plain == Secretive()._plain == [1]


def test_a_private_factory_may_take_the_fields_and_the_private_attributes_before_it() -> None:
    restored = decode(encode(Derived(name="the ")), {class_name(Derived): Derived})

    assert isinstance(restored, Derived)
    assert restored._label == "the first"


def test_a_root_model_comes_back_with_its_private_defaults() -> None:
    restored = decode(encode(Numbers([1, 2])), {class_name(Numbers): Numbers})

    assert restored == Numbers([1, 2])
    assert isinstance(restored, Numbers)
    assert restored._total == 7


# --- classes that may not be built -----------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [Witness(), Note()],
        {"a": Witness(), "b": Note()},
        {"$a": Witness(), "$b": Note()},
        Open(note=[Witness(), Note()]),
        Open.model_validate({"a": Witness(), "b": Note()}),
    ],
    ids=["list", "dict", "tagged dict", "field", "extra"],
)
def test_an_unknown_class_is_refused_before_any_object_is_built(value: object) -> None:
    tree = encode(value)
    ran.clear()

    with pytest.raises(FlowError, match=f"^state holds the class '{__name__}:Note' in the") as got:
        decode(tree, {class_name(Witness): Witness, class_name(Open): Open})

    assert ran == []
    assert got.value.code == "checkpoint-unknown-class"
    assert "nothing was run. Annotate the field of the state model" in str(got.value)
    decode(tree, {class_name(cls): cls for cls in (Witness, Open, Note)})
    assert ran == ["built"]


def test_a_class_is_refused_by_its_whole_name() -> None:
    with pytest.raises(FlowError, match=r"^checkpoint holds the class") as refused:
        decode(encode(Note()), {"other:Note": Note, "Note": Note}, "checkpoint")

    assert refused.value.code == "checkpoint-unknown-class"
