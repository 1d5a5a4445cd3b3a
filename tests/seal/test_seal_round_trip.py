"""Whatever can be sealed comes back from sealed text: same values, types and models."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, RootModel

from accord.seal import SealKeys, canonical_text, decode, encode, pack, reachable_models, unpack

KEYS = SealKeys([b"new key, 16 byte"])


class Leaf(BaseModel):
    name: str
    weight: float | int | None = None


class Branch(BaseModel):
    model_config = ConfigDict(extra="allow")

    child: Any = None
    leaves: list[Leaf] = []


class Values(RootModel[Any]):
    pass


CLASSES = reachable_models(Branch, Leaf, Values)

# Tags and lone halves of surrogate pairs come often, because they are what may be confused.
texts = st.text(
    st.one_of(st.characters(exclude_categories=()), st.sampled_from("$\ud83d\ude00")), max_size=6
) | st.sampled_from(["$model", "$dict", "$str", "fields", "set", "extra"])
plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**599), max_value=10**599),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
leaves = st.builds(
    Leaf.model_construct,
    _fields_set=st.sets(st.sampled_from(["name", "weight"])),
    name=texts,
    weight=plain_values,
)


def nested(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(values, max_size=4),
        st.dictionaries(texts, values, max_size=4),
        st.builds(Values, values),
        st.builds(Branch, child=values, leaves=st.lists(leaves, max_size=2)),
        st.dictionaries(texts, values, max_size=3).map(
            lambda extras: Branch.model_validate({**extras, "child": 1, "leaves": []})
        ),
    )


values = st.recursive(plain_values | leaves, nested, max_leaves=20)


def described(value: Any) -> Any:
    """Return what tells two values apart: types, contents, and the parts of a model."""
    if isinstance(value, list):
        return [described(item) for item in value]
    if isinstance(value, dict):
        return {key: described(item) for key, item in value.items()}
    if isinstance(value, BaseModel):
        parts = (value.__dict__, value.model_extra, sorted(value.model_fields_set))
        return (type(value), *(described(part) for part in parts))
    return (type(value), repr(value))


@given(values)
def test_a_value_comes_back_from_sealed_text(value: Any) -> None:
    text = pack("checkpoint", encode(value), KEYS)

    restored = decode(unpack("checkpoint", text, KEYS), CLASSES)

    assert described(restored) == described(value)


@given(values)
def test_a_restored_value_has_the_same_canonical_text(value: Any) -> None:
    restored = decode(encode(value), CLASSES)

    assert canonical_text(restored) == canonical_text(value)


@given(values, values)
def test_two_values_have_one_canonical_text_exactly_when_they_are_the_same(
    one: Any, other: Any
) -> None:
    same = described(one) == described(other)

    assert (canonical_text(one) == canonical_text(other)) is same
