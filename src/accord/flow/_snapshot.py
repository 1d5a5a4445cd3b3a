"""A copy of a value that nobody changes from outside."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def snapshot(value: Any) -> Any:
    """Return `value` with lists, dicts, tuples and pydantic models of its own, at every depth.

    What is sealed or replayed has to stay as it was, though a node goes on changing what a call
    returned and a caller what it passed. Values of other types are shared: nobody knows how to
    copy them, and none of them can be sealed.

    Implements: "Journal and replay" and "Checkpoints".
    """
    try:
        return _copy(value, {})
    except RecursionError:  # nested too deep to be sealed either
        return value


def _copy(value: Any, known: dict[int, Any]) -> Any:
    kind = type(value)
    if kind is tuple:
        return tuple(_copy(item, known) for item in value)
    if kind is not list and kind is not dict and not isinstance(value, BaseModel):
        return value
    if id(value) in known:
        return known[id(value)]
    if kind is list:
        items: list[Any] = []
        known[id(value)] = items
        items.extend(_copy(item, known) for item in value)
        return items
    if kind is dict:
        entries: dict[Any, Any] = {}
        known[id(value)] = entries
        entries.update((key, _copy(item, known)) for key, item in value.items())
        return entries
    # Past an override in the class, which would be its own code.
    model = BaseModel.__copy__(value)
    known[id(value)] = model
    for attributes in (model.__dict__, model.__pydantic_extra__ or {}):
        for name, item in attributes.items():
            attributes[name] = _copy(item, known)
    return model
