"""The names under which model classes are sealed, and the classes that loading may build."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NewType, TypeVar, get_args, get_origin

from pydantic import BaseModel, RootModel


def class_name(cls: type[BaseModel]) -> str:
    """Return the name that a sealed model carries: `module:qualname`.

    Implements: "Sealable state".
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def reachable_models(*annotations: object) -> dict[str, type[BaseModel]]:
    """Collect the model classes that values of these annotations may hold.

    They are reached through Annotated, unions, containers, type aliases, new types, type
    variables, generic models and the fields of models; their subclasses loaded so far belong to
    them. A bare `BaseModel` or `RootModel` opens nothing. A name that two annotated classes share
    is left out, because loading could not tell which one was sealed.

    Implements: "Storing checkpoints".

    Args:
        annotations: Resolved annotations, such as a state model or what a tool returns.

    Returns:
        The classes by their `class_name`.
    """
    found: dict[str, type[BaseModel]] = {}
    shared: set[str] = set()
    # Held by identity, because annotations need not be hashable, and held alive, because the
    # identity of a collected object may return.
    seen: dict[int, object] = {}
    annotated = list(annotations)
    derived: list[type[BaseModel]] = []
    while annotated or derived:
        # Subclasses come last, the newest first: a class that was defined again under its old
        # name does not shadow the one that an annotation or a later definition means.
        is_annotated = bool(annotated)
        annotation: object = annotated.pop() if is_annotated else derived.pop()
        if id(annotation) in seen:
            continue
        seen[id(annotation)] = annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            annotated.extend(_parts(annotation))
        elif annotation is not BaseModel and annotation is not RootModel:
            name = class_name(annotation)
            if found.setdefault(name, annotation) is not annotation and is_annotated:
                shared.add(name)
            annotated.extend(_field_annotations(annotation))
            derived.extend(annotation.__subclasses__())
    return {name: cls for name, cls in found.items() if name not in shared}


def _field_annotations(cls: type[BaseModel]) -> Iterable[object]:
    if not cls.__pydantic_complete__:
        # A forward reference that could not be resolved when the class was made may be by now.
        cls.model_rebuild(raise_errors=False)
    return [field.annotation for field in cls.model_fields.values()]


def _parts(annotation: object) -> Iterable[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return get_args(annotation)[:1]
    if origin is not None:
        return (origin, *get_args(annotation))
    if isinstance(annotation, TypeVar):
        return (annotation.__bound__, *annotation.__constraints__)
    if isinstance(annotation, NewType):
        return (annotation.__supertype__,)
    # By attribute, because TypeAliasType is in typing_extensions only before Python 3.12.
    return (getattr(annotation, "__value__", None),)
