"""The canonical form of plain values: what stands for itself, what is tagged, what is refused."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import inspect
import sys
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord.errors import FlowError
from accord.seal import canonical_text, encode, tree_text


class Text(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


# --- values that stand for themselves --------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(10**600) + 1,
        10**600 - 1,
        1.5,
        -0.0,
        1e308,
        5e-324,
        "",
        "text",
        "é \U0001f600",
        "\ud800",
        "\ude00\ud83d",
        [],
        [1, [2.0, "three"], None],
        {},
        {"": 1, "a$": {"b": []}, "é": None},
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_json_value_is_its_own_form(value: Any) -> None:
    assert encode(value) == value
    assert type(encode(value)) is type(value)


def test_the_form_shares_no_container_with_the_value() -> None:
    value: dict[str, Any] = {"list": [1], "dict": {"a": [2]}}

    tree = encode(value)
    value["list"].append(9)
    value["dict"]["a"].append(9)

    assert tree == {"list": [1], "dict": {"a": [2]}}


def test_values_of_different_types_have_different_texts() -> None:
    values: list[object] = [1, 1.0, True, "1", "true", None, "null", [], {}, "", [[]], 0, 0.0, -0.0]

    assert len({canonical_text(value) for value in values}) == len(values)


def test_equal_values_have_equal_texts_whatever_the_order_of_their_keys() -> None:
    one = {"b": 1, "a": {"$y": 1, "$x": 2}}
    other = {"a": {"$x": 2, "$y": 1}, "b": 1}

    assert (
        canonical_text(one)
        == canonical_text(other)
        == ('{"a":{"$dict":[["$x",2],["$y",1]]},"b":1}')
    )


def test_a_text_is_ascii_without_spaces() -> None:
    assert canonical_text({"b": ["é", "\ud800"], "a": 1}) == r'{"a":1,"b":["\u00e9","\ud800"]}'


def test_a_tree_that_is_no_json_has_no_text() -> None:
    tree: Any = [object()]

    with pytest.raises(FlowError, match=r"a JSON tree cannot be sealed: .*object") as refused:
        tree_text(tree)

    assert refused.value.code == "state-not-sealable"


# --- tags ------------------------------------------------------------------------------------


def test_a_dict_with_a_key_that_looks_like_a_tag_is_tagged_itself() -> None:
    assert encode({"b": 1, "$model": "x"}) == {"$dict": [["$model", "x"], ["b", 1]]}


def test_what_looks_like_a_form_is_not_confused_with_it() -> None:
    value = {"$a": 1}

    form = encode(value)

    assert encode(form) != form
    assert canonical_text(form) != canonical_text(value)


def test_surrogates_that_json_would_join_are_kept_apart() -> None:
    apart, joined = "a\ud83d\ude00b\ud83d\ude00", "a\U0001f600b\U0001f600"

    assert encode(apart) == {"$str": ["a\ud83d", "\ude00b\ud83d", "\ude00"]}
    assert encode(joined) == joined


def test_a_key_of_surrogates_that_json_would_join_tags_its_dict() -> None:
    assert encode({"z": 1, "\ud83d\ude00": 2}) == {
        "$dict": [["z", 1], [{"$str": ["\ud83d", "\ude00"]}, 2]]
    }


# --- values that are refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (collections.OrderedDict(a=1), "collections.OrderedDict is a subclass of dict"),
        (collections.defaultdict(list), "collections.defaultdict is a subclass of dict"),
        (collections.Counter("a"), "collections.Counter is a subclass of dict"),
        (Text("a"), rf"{__name__}.Text is a subclass of str"),
        (Level.LOW, rf"{__name__}.Level is a subclass of int"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_is_refused_rather_than_degraded(value: object, reason: str) -> None:
    with pytest.raises(FlowError, match=rf"^state\['a'\]\[1\] cannot be sealed: {reason}") as got:
        encode({"a": [0, value]})

    assert got.value.code == "state-not-sealable"


def test_a_subclass_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        FlowError,
        match=r"would come back as a plain dict; convert it with dict\(\.\.\.\)",
    ):
        encode(collections.OrderedDict())


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        {1},
        frozenset({1}),
        b"bytes",
        bytearray(b"bytes"),
        1j,
        datetime.date(2020, 1, 1),
        datetime.timedelta(1),
        decimal.Decimal(1),
        uuid.UUID(int=1),
        Colour.RED,
        Point(1, 2),
        Path(),
        object(),
        int,
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_other_type_is_refused_by_its_name(value: object) -> None:
    name = f"{type(value).__module__}.{type(value).__qualname__}"

    with pytest.raises(FlowError, match=rf"^state\[0\].*: {name} is no sealable type; convert it"):
        encode([value])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=repr)
def test_a_float_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(FlowError, match=f"^state cannot be sealed: it is the float {value}"):
        encode(value)


@pytest.mark.parametrize("value", [10**600, -(10**600)], ids=["positive", "negative"])
def test_an_int_of_more_than_600_digits_is_refused(value: int) -> None:
    with pytest.raises(FlowError, match="an int of more than 600 digits; keep it as text"):
        encode(value)


@pytest.mark.parametrize(
    ("key", "kind"),
    [(1, "int"), (None, "NoneType"), (True, "bool"), ((), "tuple"), (Text("a"), "Text")],
    ids=repr,
)
def test_a_key_that_is_no_plain_text_is_refused(key: object, kind: str) -> None:
    with pytest.raises(FlowError, match=rf"its key is of type \w.*\.{kind}; use a plain str"):
        encode({key: 1})


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(FlowError, match=r"^updates of plan\['found'\]\[2\]\['when'\] cannot be"):
        encode({"found": [0, 1, {"a": 1, "when": {1}}]}, "updates of plan")


def test_a_long_key_is_cut_in_a_refusal() -> None:
    with pytest.raises(FlowError) as refused:
        encode({"k" * 10_000: {1}})

    assert len(str(refused.value)) < 300


def test_a_text_of_what_cannot_be_sealed_names_the_place() -> None:
    with pytest.raises(FlowError, match=r"^arguments of search\['a'\] cannot be sealed"):
        canonical_text({"a": {1}}, "arguments of search")


# --- cycles and depth ------------------------------------------------------------------------


def test_a_list_that_holds_itself_is_refused_as_a_cycle() -> None:
    value: list[object] = [1]
    value.append(value)

    with pytest.raises(
        FlowError, match=r"^state\[1\] cannot be sealed: it is state again; a cycle cannot"
    ) as refused:
        encode(value)

    assert refused.value.code == "state-not-sealable"


def test_a_cycle_is_named_where_it_closes() -> None:
    inner: dict[str, object] = {}
    inner["up"] = [inner]

    with pytest.raises(FlowError, match=r"^state\['a'\]\['up'\]\[0\] cannot .* state\['a'\] again"):
        encode({"a": inner})


def test_a_container_that_comes_twice_is_no_cycle() -> None:
    shared = [1]

    assert encode({"a": shared, "b": [shared]}) == {"a": [1], "b": [[1]]}


def test_nesting_of_150_levels_is_sealable_and_of_151_is_not() -> None:
    value: object = 1
    for _ in range(150):
        value = [value]

    assert canonical_text(value) == "[" * 150 + "1" + "]" * 150
    with pytest.raises(
        FlowError, match=r"^state\[0\]\[0\]\[0\]\.\.\. cannot be sealed: it is nested more than 150"
    ):
        encode([value])


def test_nesting_that_no_stack_would_hold_is_refused_too() -> None:
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"a": value}

    with pytest.raises(FlowError, match="it is nested more than 150 levels deep; store it flatter"):
        encode(value)


def test_a_stack_that_is_almost_full_is_a_flow_error() -> None:
    value: object = 1
    for _ in range(140):
        value = [value]

    def from_below(frames: int) -> object:
        return encode(value) if frames == 0 else from_below(frames - 1)

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    with pytest.raises(FlowError, match=r"^state cannot be sealed: its nesting exceeds the stack"):
        from_below(free - 100)


def test_a_tree_that_no_stack_would_hold_has_no_text() -> None:
    tree: Any = []
    for _ in range(100_000):
        tree = [tree]

    with pytest.raises(FlowError, match=r"a JSON tree cannot be sealed: .*recursion"):
        tree_text(tree)
