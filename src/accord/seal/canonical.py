"""The canonical form of a value: a type-tagged JSON tree.

A JSON value stands for itself. Everything else is an object with a tag, a key that begins with
`$`, so that no two values of different types or contents share a form.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable
from itertools import pairwise
from types import NoneType
from typing import Any, TypeAlias

from pydantic import BaseModel, JsonValue

from accord.errors import FlowError
from accord.seal._refusal import Refused, TooDeep
from accord.seal.classes import class_name

# Any, because each form takes the type that it stands for.
_Form: TypeAlias = Callable[[Any, int], JsonValue]

_MAX_DEPTH = 150
_MAX_DIGITS = 600
_INT_BOUND = 10**_MAX_DIGITS
# JSON text would join two surrogates that are two characters of the value into one.
_JOINABLE = re.compile(r"[\ud800-\udbff](?=[\udc00-\udfff])")
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_SORTED_JSON = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def encode(value: object, path: str = "state") -> JsonValue:
    """Return the canonical form of a value; it shares no container with the value.

    None, bool, int of up to 600 digits, finite float, str, list, dict with str keys and pydantic
    models of these are sealable, each by its exact type.

    Implements: "Sealable state".

    Args:
        value: What to seal.
        path: Where the value stands, for error messages.

    Raises:
        FlowError: With code `state-not-sealable`; the message names the place and the type.
    """
    try:
        return _encode(value, 0)
    except Refused as refused:
        raise _not_sealable(refused.place(path), refused.reason) from None
    except TooDeep as deep:
        raise _not_sealable(*deep.describe(path)) from None
    except RecursionError:
        raise _not_sealable(path, "its nesting exceeds the stack; store it flatter") from None


def canonical_text(value: object, path: str = "state") -> str:
    """Return the canonical form of a value as ASCII text; equal texts are equal values.

    Implements: "Sealable state".

    Args:
        value: What to seal.
        path: Where the value stands, for error messages.

    Raises:
        FlowError: With code `state-not-sealable`; the message names the place and the type.
    """
    return tree_text(encode(value, path))


def tree_text(tree: JsonValue, *, keeps_order: bool = False) -> str:
    """Return a JSON tree as ASCII text without spaces.

    Implements: "Sealable state".

    Args:
        tree: What `encode` returned, or JSON values around it.
        keeps_order: Whether the keys keep their order, for a dict that comes back from the text;
            otherwise they are sorted, so that equal trees give equal texts.

    Raises:
        FlowError: With code `state-not-sealable` if it is no JSON or nested too deep.
    """
    try:
        return (_JSON if keeps_order else _SORTED_JSON).encode(tree)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_sealable("a JSON tree", f"{error}; encode its values first") from error


def _not_sealable(place: str, reason: str) -> FlowError:
    return FlowError(f"{place} cannot be sealed: {reason}", code="state-not-sealable")


def _encode(value: object, depth: int) -> JsonValue:
    kind = type(value)
    form = _FORMS.get(kind) or _model_form(kind)
    if depth > _MAX_DEPTH:
        raise TooDeep(_MAX_DEPTH)
    return form(value, depth)


def _model_form(kind: type) -> _Form:
    if issubclass(kind, BaseModel):
        return _encode_model
    raise Refused(_unsealable(kind))


def _unsealable(kind: type) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}"
    for base in kind.__mro__:
        if base in _FORMS:
            return (
                f"{name} is a subclass of {base.__name__}, and would come back as a plain "
                f"{base.__name__}; convert it with {base.__name__}(...)"
            )
    return (
        f"{name} is no sealable type; convert it to None, bool, int, finite float, str, list, "
        "dict with str keys, or a pydantic model of these"
    )


def _encode_plain(value: bool | None, _depth: int) -> JsonValue:
    return value


def _encode_int(value: int, _depth: int) -> JsonValue:
    if not -_INT_BOUND < value < _INT_BOUND:
        raise Refused(f"it is an int of more than {_MAX_DIGITS} digits; keep it as text")
    return value


def _encode_float(value: float, _depth: int) -> JsonValue:
    if not math.isfinite(value):
        raise Refused(f"it is the float {value}, which is not finite; use None or text for it")
    return value


def _encode_str(value: str, _depth: int = 0) -> JsonValue:
    if _is_plain(value):
        return value
    cuts = [0, *(match.end() for match in _JOINABLE.finditer(value)), len(value)]
    return {"$str": [value[start:end] for start, end in pairwise(cuts)]}


def _is_plain(text: str) -> bool:
    return text.isascii() or _JOINABLE.search(text) is None


def _encode_list(value: list[object], depth: int) -> JsonValue:
    tree: list[JsonValue] = []
    try:
        for item in value:
            tree.append(_encode(item, depth + 1))  # noqa: PERF401 - its length is the index
    except Refused as refused:
        refused.steps.append(f"[{len(tree)}]")
        raise
    except TooDeep as deep:
        deep.steps.append((f"[{len(tree)}]", value))
        raise
    return tree


def _encode_dict(value: dict[object, object], depth: int) -> JsonValue:
    tree: dict[str, JsonValue] = {}
    key: object = None
    try:
        for key, item in value.items():
            if type(key) is not str:
                kind = f"{type(key).__module__}.{type(key).__qualname__}"
                raise Refused(f"its key is of type {kind}; use a plain str as the key")
            tree[key] = _encode(item, depth + 1)
    except Refused as refused:
        refused.steps.append(f"[{reprlib.repr(key)}]")
        raise
    except TooDeep as deep:
        deep.steps.append((f"[{reprlib.repr(key)}]", value))
        raise
    return _keyed(tree)


def _encode_model(value: BaseModel, depth: int) -> JsonValue:
    cls = type(value)
    attributes, extra = value.__dict__, value.__pydantic_extra__
    fields: dict[str, JsonValue] = {}
    extras: dict[str, JsonValue] = {}
    name = ""
    try:
        # Only fields: a cached property is in __dict__ too, and is computed again when asked for.
        for name in cls.model_fields:
            if name in attributes:
                fields[name] = _encode(attributes[name], depth + 1)
        for name, item in (extra or {}).items():
            extras[name] = _encode(item, depth + 1)
    except Refused as refused:
        refused.steps.append(f".{name}")
        raise
    except TooDeep as deep:
        deep.steps.append((f".{name}", value))
        raise
    tree: dict[str, JsonValue] = {
        "$model": class_name(cls),
        "fields": _keyed(fields),
        "set": [_encode_str(name) for name in sorted(value.__pydantic_fields_set__)],
    }
    if extra is not None:
        tree["extra"] = _keyed(extras)
    return tree


def _keyed(tree: dict[str, JsonValue]) -> JsonValue:
    for key in tree:
        if key.startswith("$") or not _is_plain(key):
            pairs = [(_encode_str(key), item) for key, item in tree.items()]
            pairs.sort(key=lambda pair: tree_text(pair[0]))
            return {"$dict": [[key, item] for key, item in pairs]}
    return tree


_FORMS: dict[type, _Form] = {
    NoneType: _encode_plain,
    bool: _encode_plain,
    int: _encode_int,
    float: _encode_float,
    str: _encode_str,
    list: _encode_list,
    dict: _encode_dict,
}
