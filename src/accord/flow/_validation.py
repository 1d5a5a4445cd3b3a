"""What pydantic decides about a state: one field alone, the whole model, and in which words.

A state model without custom validation gives the same verdict field by field as it does whole, so
only the touched fields are validated. Custom code may look at several fields at once, so one
validator of any kind makes the whole merged state go through the model again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator
from pydantic_core.core_schema import no_info_after_validator_function

from accord.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import CoreConfig

    Schema = Mapping[str, Any]
    _Assigned = tuple[dict[str, object], dict[str, object] | None, set[str]]

_FUNCTIONS = frozenset({"function-before", "function-after", "function-wrap", "function-plain"})
_NOT_VALIDATING = frozenset({"serialization", "metadata", "computed_fields", "default", "config"})
_NAMED_SCHEMAS = frozenset({"fields", "choices"})
# These hold the validators of pydantic's own types (SecretStr, HttpUrl, Path), which see one value
# and nothing else. A name that pydantic moves makes a model count as custom: slower, never wrong.
_LIBRARY_MODULES = frozenset(
    {
        "ipaddress",
        "pydantic.networks",
        "pydantic.types",
        "pydantic._internal._generate_schema",
        "pydantic._internal._validators",
    }
)
_SCALARS = frozenset({bool, int, str, bytes})
_REASONS = 5
_REASON_LENGTH = 200


def has_custom_validation(model: type[BaseModel]) -> bool:
    """Whether anything beyond plain types and constraints decides what `model` accepts.

    Implements: "State and merge rules".

    Custom are a validator of any kind (also in a nested model or an annotation), `model_post_init`,
    an own `__init__`, `__post_init__` of a dataclass, `validate_assignment`, and frozen models or
    fields. The validators of pydantic's own types are not.
    """
    if model.model_config.get("frozen") or model.model_config.get("validate_assignment"):
        return True
    if any(info.frozen for info in model.model_fields.values()):
        return True
    return any(_is_custom(schema) for schema in _walk(model.__pydantic_core_schema__))


def _walk(node: object) -> Iterator[Schema]:
    if isinstance(node, (list, tuple)):
        for element in node:
            yield from _walk(element)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in _NAMED_SCHEMAS and isinstance(value, dict):
                yield from _walk(list(value.values()))
            elif key not in _NOT_VALIDATING:
                yield from _walk(value)


def _is_custom(schema: Schema) -> bool:
    kind = schema.get("type")
    if kind in _FUNCTIONS:
        function = schema["function"]["function"]
        function = function.func if isinstance(function, partial) else function
        return getattr(function, "__module__", None) not in _LIBRARY_MODULES
    if kind == "model":
        return bool(schema["custom_init"]) or _has_own_post_init(schema)
    return kind == "dataclass" and bool(schema.get("post_init"))


def _has_own_post_init(schema: Schema) -> bool:
    if not schema.get("post_init"):
        return False
    # Private attributes alone make pydantic add this function of its own.
    return bool(schema["cls"].model_post_init.__qualname__ != "init_private_attributes")


class FieldValidator:
    """Validates single fields of a model, without the model's own validators.

    Implements: "State and merge rules".

    Args:
        model: The state model.

    Raises:
        ConfigError: If the model has no fields of its own, as a `RootModel` has none.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        fields, config, definitions = _fields_schema(model)
        # A frozen field is frozen for assignments by the author, not for the merge.
        thawed: dict[str, Schema] = {
            name: {key: value for key, value in field.items() if key != "frozen"}
            for name, field in fields["fields"].items()
        }
        schema: Schema = {**fields, "fields": thawed}
        if definitions:
            schema = {"type": "definitions", "schema": schema, "definitions": definitions}
        validator = SchemaValidator(schema, cast("CoreConfig", config))
        self._assign = validator.validate_assignment
        self.open_lists = frozenset(
            name for name, field in thawed.items() if _is_open_list(field["schema"])
        )
        """The fields whose items are validated one by one, whatever the list's length."""

    def assign(self, values: dict[str, object], field: str, value: object) -> dict[str, object]:
        """Return `values` with `value` in `field`, as the field accepts it.

        `values` may be changed, but not when the value is refused.

        Raises:
            ValidationError: If the field does not accept the value.
        """
        # Without a model around them, the fields come back as (values, extras, fields set).
        return cast("_Assigned", self._assign(values, field, value))[0]


def _fields_schema(model: type[BaseModel]) -> tuple[Schema, object, list[Schema]]:
    schema: Any = model.__pydantic_core_schema__
    definitions: list[Schema] = []
    config: object = None
    while schema["type"] != "model-fields":
        if schema["type"] == "definitions":
            definitions = schema["definitions"]
            schema = schema["schema"]
        elif schema["type"] == "definition-ref":
            wanted = schema["schema_ref"]
            schema = next(known for known in definitions if known["ref"] == wanted)
        elif "schema" not in schema or schema.get("root_model"):
            raise ConfigError(
                f"{model.__name__} cannot be a flow's state: it has no fields; use a BaseModel "
                "with one field for each value that nodes write"
            )
        else:
            config = schema.get("config", config)
            schema = schema["schema"]
    return schema, config, definitions


class WholeValidator:
    """Validates a whole state, whose private attributes survive.

    Implements: "State and merge rules".

    pydantic sets private attributes up anew for each instance that it validates. Here those of the
    old state stay, and `model_post_init` and the validators of the model run on top of them.

    Args:
        model: The state model.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self._private: ContextVar[dict[str, Any] | None] = ContextVar("private")
        self._own_init = model.__pydantic_custom_init__
        self._validate = model.__pydantic_validator__.validate_python
        fields, config, _ = _fields_schema(model)
        has_alias = any("validation_alias" in field for field in fields["fields"].values())
        if (model.__private_attributes__ or has_alias) and not self._own_init:
            schema = self._for_the_state(model.__pydantic_core_schema__, {})
            validator = SchemaValidator(schema, cast("CoreConfig", config))
            self._validate = validator.validate_python

    def validate(self, values: dict[str, object], private: dict[str, Any] | None) -> object:
        """Return the instance that the model makes of `values`, by field name.

        Nested models go by their own aliases, as they do where one field is validated alone.
        A validator may return anything, also an instance that it keeps.

        Raises:
            Exception: What a validator raises; `ValidationError` when the model refuses.
        """
        token = self._private.set(private)
        try:
            result: object = (
                self._validate(values, by_name=True, by_alias=False)
                if self._own_init
                else self._validate(values)
            )
        finally:
            self._private.reset(token)
        if self._own_init and private and isinstance(result, self._model):
            object.__setattr__(result, "__pydantic_private__", private.copy())
        return result

    def _for_the_state(self, schema: Any, known: dict[str, Any]) -> Any:
        kind = schema["type"]
        if kind == "model-fields":
            fields = {
                name: {key: value for key, value in field.items() if key != "validation_alias"}
                for name, field in schema["fields"].items()
            }
            return {**schema, "fields": fields}
        if kind == "model":  # pydantic would take the validator that the class has already
            inner = self._for_the_state(schema["schema"], known)
            return no_info_after_validator_function(self._instance, inner)
        if kind == "definition-ref":
            return self._for_the_state(known[schema["schema_ref"]], known)
        if kind == "definitions":
            known = {definition["ref"]: definition for definition in schema["definitions"]}
        # The definitions keep the name for nested instances of the model.
        outer = {key: value for key, value in schema.items() if key != "ref"}
        return {**outer, "schema": self._for_the_state(schema["schema"], known)}

    def _instance(self, fields: _Assigned) -> BaseModel:
        old = self._private.get()
        private = None if old is None else old.copy()
        instance = self._model.__new__(self._model)
        object.__setattr__(instance, "__dict__", fields[0])
        object.__setattr__(instance, "__pydantic_extra__", fields[1])
        object.__setattr__(instance, "__pydantic_fields_set__", fields[2])
        object.__setattr__(instance, "__pydantic_private__", private)
        instance.model_post_init(None)
        return instance


def _is_open_list(schema: Schema) -> bool:
    while schema["type"] in {"default", "nullable"}:
        schema = schema["schema"]
    return schema["type"] == "list" and not schema.keys() & {"min_length", "max_length"}


def reasons(error: Exception, prefix: str = "") -> str:
    """Say in a bounded text why a value was refused, without the value itself.

    Args:
        error: What the validation raised, pydantic's `ValidationError` or a validator's own error.
        prefix: The place that the caller names itself and that is left out of each reason.
    """
    if not isinstance(error, ValidationError):
        return short(f"{type(error).__name__}: {error}")
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = []
    for reason in found[:_REASONS]:
        place = ".".join(short(str(part), 60) for part in reason["loc"])
        place = place.removeprefix(prefix).removeprefix(".")
        lines.append(f"{short(place)}: {short(reason['msg'])}" if place else short(reason["msg"]))
    more = len(found) - _REASONS
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def first_field(error: Exception) -> str | None:
    """Return the first field that `error` is about, or None when it is about the model."""
    if not isinstance(error, ValidationError):
        return None
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return next((str(reason["loc"][0]) for reason in found if reason["loc"][:1]), None)


def short(text: str, limit: int = _REASON_LENGTH) -> str:
    """Return `text`, cut to `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def same_content(new: object, old: object) -> bool:
    """Whether `new` is `old`, or built-in containers and plain scalars that hold the same.

    Types are compared as well, so that True never passes for 1; anything else but the very same
    object counts as different.
    """
    if new is old:
        return True
    if type(new) is not type(old):
        return False
    if isinstance(new, (list, tuple)) and isinstance(old, (list, tuple)):
        return len(new) == len(old) and all(map(same_content, new, old))
    if isinstance(new, dict) and isinstance(old, dict):
        return same_content(list(new.items()), list(old.items()))
    if isinstance(new, AbstractSet) and isinstance(old, AbstractSet):
        return {(type(item), item) for item in new} == {(type(item), item) for item in old}
    return type(new) in _SCALARS and new == old
