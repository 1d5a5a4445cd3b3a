"""Which classes a checkpointer may build when it reads a state: those that the model reaches."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from accord import FlowGraph
from accord.kernel import reachable_models


def with_state_classes(
    saver: BaseCheckpointSaver[Any], graph: FlowGraph
) -> BaseCheckpointSaver[Any]:
    """Return a checkpointer over the same storage that reads the state's classes back.

    LangGraph's default reads every class and warns that it will not do so for ever. Here that
    becomes a list of the classes of the state; a list that the user has made is added to.
    """
    clone = copy.copy(saver)
    clone.serde = _with_classes(saver.serde, state_classes(graph))
    return clone


def state_classes(graph: FlowGraph) -> set[tuple[str, str]]:
    """Return the classes that the state may hold, as LangGraph's serializer names them."""
    models = reachable_models(graph.state).values()
    annotations = [field.annotation for model in models for field in model.model_fields.values()]
    enums = {found for annotation in annotations for found in _enums(annotation)}
    return {(cls.__module__, cls.__name__) for cls in (*models, *enums)}


def _with_classes(
    serializer: SerializerProtocol, classes: set[tuple[str, str]]
) -> SerializerProtocol:
    if isinstance(serializer, EncryptedSerializer):
        return EncryptedSerializer(serializer.cipher, _with_classes(serializer.serde, classes))
    if not isinstance(serializer, JsonPlusSerializer):
        return serializer
    # A serializer without a list of its own has nothing that could be added to.
    if serializer.with_msgpack_allowlist({("accord_langgraph", "any")}) is not serializer:
        return serializer.with_msgpack_allowlist(classes)
    return JsonPlusSerializer(
        allowed_msgpack_modules=classes, pickle_fallback=serializer.pickle_fallback
    )


def _enums(annotation: object) -> Iterator[type[Enum]]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield annotation
    for part in get_args(annotation):
        yield from _enums(part)
