"""Which model classes loading may build: those that the annotations reach, and nothing else."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, List, Literal, NewType, Optional, TypeVar, Union  # noqa: UP035

import pytest
from pydantic import BaseModel, Field, RootModel, create_model
from typing_extensions import TypeAliasType

from accord.seal import class_name, reachable_models

T = TypeVar("T")


class Hit(BaseModel):
    source: str = ""


class Note(BaseModel):
    text: str = ""


class Animal(BaseModel):
    name: str = ""


class Dog(Animal):
    toy: Toy | None = None


class Puppy(Dog):
    pass


class Toy(BaseModel):
    pass


class Tree(BaseModel):
    children: list[Tree] = Field(default_factory=list)
    hit: Hit | None = None


class Ping(BaseModel):
    pong: Pong | None = None


class Pong(BaseModel):
    ping: Ping | None = None


class Early(BaseModel):
    late: Late | None = None


class Late(BaseModel):
    pass


class Dangling(BaseModel):
    note: Note
    other: Missing  # type: ignore[name-defined]  # noqa: F821 - the point of the test


class Box(BaseModel, Generic[T]):
    item: T


class Notes(RootModel[list[Note]]):
    pass


class Bare(BaseModel):
    model: BaseModel | None = None
    root: RootModel | None = None  # type: ignore[type-arg]  # the point of the test
    anything: Any = None
    something: object = None


class Colour(enum.Enum):
    RED = "red"


BoundT = TypeVar("BoundT", bound=Hit)
EitherT = TypeVar("EitherT", Hit, Note)
Alias = TypeAliasType("Alias", list[Hit])
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Renamed = NewType("Renamed", Hit)
Twice = NewType("Twice", Renamed)


# --- what an annotation reaches --------------------------------------------------------------


@pytest.mark.parametrize(
    "annotation",
    [
        Hit,
        Hit | None,
        Optional[Hit],  # noqa: UP045 - the older spelling is the point
        Union[int, Hit],  # noqa: UP007 - the older spelling is the point
        List[Hit],  # noqa: UP006 - the older spelling is the point
        list[Hit],
        dict[str, Hit],
        tuple[int, Hit],
        tuple[Hit, ...],
        set[Hit],
        Sequence[Hit],
        Mapping[str, list[Hit | None]],
        Annotated[Hit, "about"],
        list[Annotated[Hit | None, Field(description="about")]],
        Alias,
        Pair[Hit],
        Renamed,
        Twice,
        BoundT,
        type[Hit],
    ],
    ids=str,
)
def test_a_model_is_reached_through(annotation: object) -> None:
    assert reachable_models(annotation) == {class_name(Hit): Hit}


def test_every_constraint_of_a_type_variable_is_reached() -> None:
    assert reachable_models(EitherT).keys() == {class_name(Note), class_name(Hit)}


def test_the_models_of_several_annotations_come_together() -> None:
    assert reachable_models(list[Hit], None, Note | None).keys() == {
        class_name(Note),
        class_name(Hit),
    }


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        int,
        str | None,
        list[dict[str, Any]],
        Any,
        object,
        T,
        Colour,
        Literal["Hit", Colour.RED],
        Annotated[int, Hit],
        Annotated[list[int], Hit()],
        Callable[[int], str],
        "Hit",
        [Hit],
    ],
    ids=str,
)
def test_no_model_is_reached_through(annotation: object) -> None:
    assert reachable_models(annotation) == {}


@pytest.mark.parametrize(
    "annotation",
    [BaseModel, RootModel, list[BaseModel], RootModel | None],
    ids=str,
)
def test_a_bare_base_opens_nothing(annotation: object) -> None:
    assert reachable_models(annotation) == {}


def test_fields_of_a_bare_base_or_of_any_type_open_nothing() -> None:
    assert set(reachable_models(Bare).values()) == {Bare}


# --- through fields --------------------------------------------------------------------------


def test_the_fields_of_a_model_are_followed() -> None:
    assert set(reachable_models(Tree).values()) == {Tree, Hit}


def test_models_that_hold_each_other_are_followed_once() -> None:
    assert set(reachable_models(Ping).values()) == {Ping, Pong}


def test_the_root_of_a_root_model_is_followed() -> None:
    assert {Notes, Note} <= set(reachable_models(Notes).values())


def test_a_generic_model_is_followed_with_its_argument() -> None:
    assert set(reachable_models(Box[Hit]).values()) == {Box[Hit], Hit}


def test_a_generic_model_opens_its_known_variants() -> None:
    variant = Box[Note]

    assert {Box, variant, Note} <= set(reachable_models(Box).values())


def test_a_forward_reference_that_was_open_when_the_class_was_made_is_followed() -> None:
    assert set(reachable_models(Early).values()) == {Early, Late}


def test_a_forward_reference_that_stays_open_reaches_nothing_and_hides_nothing() -> None:
    assert set(reachable_models(Dangling).values()) == {Dangling, Note}


# --- subclasses ------------------------------------------------------------------------------


def test_subclasses_of_every_depth_belong_to_a_model_with_what_they_hold() -> None:
    assert set(reachable_models(list[Animal]).values()) == {Animal, Dog, Puppy, Toy}


def test_the_bases_and_siblings_of_a_model_do_not_belong_to_it() -> None:
    assert set(reachable_models(Puppy).values()) == {Puppy, Toy}


def test_a_class_that_was_loaded_later_belongs_to_it_from_then_on() -> None:
    base = create_model("Base", __module__=__name__)
    before = reachable_models(base)

    later = create_model("Later", __base__=base, __module__=__name__)

    assert set(before.values()) == {base}
    assert set(reachable_models(base).values()) == {base, later}


# --- names -----------------------------------------------------------------------------------


def test_the_classes_come_by_their_names() -> None:
    assert reachable_models(Tree) == {f"{__name__}:Tree": Tree, f"{__name__}:Hit": Hit}


def test_a_name_that_two_annotated_classes_share_is_left_out() -> None:
    one = create_model("Same", __module__=__name__, hit=(Hit | None, None))
    other = create_model("Same", __module__=__name__, note=(Note | None, None))

    assert reachable_models(one, other).keys() == {class_name(Note), class_name(Hit)}
    assert set(reachable_models(one).values()) == {one, Hit}


def test_a_class_that_is_annotated_twice_is_no_shared_name() -> None:
    assert set(reachable_models(Hit, list[Hit], Tree).values()) == {Hit, Tree}


def test_an_annotated_class_goes_before_a_subclass_of_the_same_name() -> None:
    annotated = create_model("Kind", __module__=__name__)
    subclass = create_model("Kind", __base__=annotated, __module__=__name__)

    assert reachable_models(annotated) == {class_name(subclass): annotated}


def test_of_two_subclasses_of_the_same_name_the_newer_one_counts() -> None:
    base = create_model("Parent", __module__=__name__)
    older = create_model("Child", __base__=base, __module__=__name__)
    newer = create_model("Child", __base__=base, __module__=__name__)

    assert reachable_models(base)[class_name(older)] is newer
