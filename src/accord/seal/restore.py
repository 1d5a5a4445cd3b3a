"""From the canonical form back to the value; no validator of its classes runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, TypeAlias, cast

from pydantic import BaseModel, JsonValue, RootModel
from pydantic.fields import ModelPrivateAttr
from pydantic_core import PydanticUndefined

from accord.errors import FlowError
from accord.seal._refusal import Refused

_Classes: TypeAlias = Mapping[str, type[BaseModel]]
_Tagged: TypeAlias = dict[str, JsonValue]

_SCALARS = frozenset({NoneType, bool, int, float, str})


def decode(tree: JsonValue, classes: _Classes, path: str = "state") -> object:
    """Return the value that a canonical form stands for.

    Models come back as they were sealed: no validator, field default or `model_post_init` runs.
    Private attributes, which are not sealed, get their declared defaults.

    Implements: "Storing checkpoints".

    Args:
        tree: What `encode` returned, or JSON values around it.
        classes: The classes that may be built, by `class_name`.
        path: Where the value stands, for error messages.

    Raises:
        FlowError: With code `checkpoint-unknown-class`, before any object is built, or
            `checkpoint-malformed`.
    """
    _refuse_unknown_classes(tree, classes, path)
    try:
        return _decode(tree, classes)
    except Refused as refused:
        raise _malformed(refused.place(path), refused.reason) from None
    except RecursionError:
        raise _malformed(path, "its nesting exceeds the stack") from None


def _malformed(place: str, reason: str) -> FlowError:
    return FlowError(
        f"{place} is malformed in the checkpoint: {reason}; nothing was run. Load it with the "
        "classes that sealed it and the same or a later release of Accord",
        code="checkpoint-malformed",
    )


def _refuse_unknown_classes(tree: JsonValue, classes: _Classes, path: str) -> None:
    # No plain key begins with $, so wherever this key stands, it names a class.
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            name = node.get("$model")
            if isinstance(name, str) and name not in classes:
                raise FlowError(
                    f"{path} holds the class {name!r} in the checkpoint, which may not be built "
                    "here; nothing was run. Annotate the field of the state model, or the return "
                    "of the tool, with this class or a base of it, give no other class its name, "
                    "and import its module before loading",
                    code="checkpoint-unknown-class",
                )
            pending.extend(node.values())


def _decode(tree: JsonValue, classes: _Classes) -> object:
    if isinstance(tree, list):
        return _decode_list(tree, classes)
    if isinstance(tree, dict):
        tag = next((key for key in tree if key.startswith("$")), None)
        if tag is None:
            return _decode_plain_dict(tree, classes)
        if tag not in _TAGS:
            raise Refused(f"the tag {tag!r} is unknown")
        return _TAGS[tag](tree, classes)
    if type(tree) not in _SCALARS:
        raise Refused(f"{type(tree).__qualname__} is no JSON type")
    if isinstance(tree, float) and not math.isfinite(tree):
        raise Refused(f"the float {tree} is not finite")
    return tree


def _decode_list(tree: list[JsonValue], classes: _Classes) -> list[object]:
    items: list[object] = []
    try:
        for item in tree:
            items.append(_decode(item, classes))  # noqa: PERF401 - its length is the index
    except Refused as refused:
        refused.steps.append(f"[{len(items)}]")
        raise
    return items


def _decode_plain_dict(tree: _Tagged, classes: _Classes) -> dict[str, object]:
    items: dict[str, object] = {}
    key = ""
    try:
        for key, item in tree.items():
            items[key] = _decode(item, classes)
    except Refused as refused:
        refused.steps.append(f"[{key!r}]")
        raise
    return items


def _decode_str(tree: _Tagged, _classes: _Classes) -> str:
    parts = tree["$str"]
    if len(tree) != 1 or not isinstance(parts, list):
        raise Refused("a $str is a list of texts and nothing else")
    return "".join(_text(part) for part in parts)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Refused(f"{type(value).__qualname__} stands where a text belongs")
    return value


def _decode_dict(tree: _Tagged, classes: _Classes) -> dict[str, object]:
    pairs = tree["$dict"]
    if len(tree) != 1 or not isinstance(pairs, list):
        raise Refused("a $dict is a list of pairs and nothing else")
    items: dict[str, object] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise Refused("a $dict holds pairs of key and value")
        key = _text(_decode(pair[0], classes))
        if key in items:
            raise Refused(f"the key {key!r} comes twice")
        try:
            items[key] = _decode(pair[1], classes)
        except Refused as refused:
            refused.steps.append(f"[{key!r}]")
            raise
    return items


def _decode_model(tree: _Tagged, classes: _Classes) -> BaseModel:
    name = _text(tree["$model"])
    if not {"$model", "fields", "set"} <= tree.keys() <= {"$model", "fields", "set", "extra"}:
        raise Refused("a $model has fields, set and at most extra")
    cls = classes[name]
    fields = _attributes(_decode(tree["fields"], classes))
    unknown = fields.keys() - cls.model_fields.keys()
    if unknown:
        raise Refused(f"the class {name!r} has no field {min(unknown)!r}")
    names = _decode(tree["set"], classes)
    if not isinstance(names, list):
        raise Refused("the set of a $model is a list of names")
    extra = _attributes(_decode(tree["extra"], classes)) if "extra" in tree else None
    private = _private_defaults(cls, fields)
    state = {
        "__dict__": fields,
        "__pydantic_fields_set__": {_text(item) for item in names},
        "__pydantic_extra__": extra,
        "__pydantic_private__": private,
    }
    # As unpickling does, and past an override in the class, which would be its own code.
    base: type[BaseModel] = RootModel if issubclass(cls, RootModel) else BaseModel
    model = base.__new__(cls)
    base.__setstate__(model, state)
    if private is not None:
        # The method of RootModel leaves them out.
        object.__setattr__(model, "__pydantic_private__", private)
    return model


def _attributes(attributes: object) -> dict[str, object]:
    if not isinstance(attributes, dict):
        raise Refused("the fields and the extra of a $model are dicts")
    return attributes


def _private_defaults(
    cls: type[BaseModel], fields: Mapping[str, object]
) -> dict[str, object] | None:
    private: dict[str, object] = {}
    for name, attribute in cls.__private_attributes__.items():
        default = _private_default(attribute, {**fields, **private})
        if default is not PydanticUndefined:
            private[name] = default
    return private if cls.__private_attributes__ else None


def _private_default(attribute: ModelPrivateAttr, known: dict[str, object]) -> object:
    factory = attribute.default_factory
    if factory is None:
        return attribute.get_default()
    # By attribute, because pydantic 2.12 has no private factories that take the fields.
    if getattr(attribute, "default_factory_takes_validated_data", False):
        return cast("Callable[[dict[str, Any]], object]", factory)(known)
    return cast("Callable[[], object]", factory)()


_TAGS: dict[str, Callable[[_Tagged, _Classes], object]] = {
    "$str": _decode_str,
    "$dict": _decode_dict,
    "$model": _decode_model,
}
