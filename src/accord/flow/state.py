"""The state of a flow: how the updates of one superstep merge, and what the model says to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic import BaseModel, ValidationError

from accord.errors import FlowError
from accord.flow._merging import Merge, MergeRule, elements, merge_rules, merger
from accord.flow._validation import (
    FieldValidator,
    WholeValidator,
    first_field,
    has_custom_validation,
    reasons,
    same_content,
    short,
)

__all__ = ["Merge", "MergeRule", "StateSchema", "merge_rules"]

_CONTAINERS = frozenset({dict, list, set})
_set = object.__setattr__


class StateSchema:
    """The fields of a state model, their merge rules, and the model's verdict on a merge.

    Implements: "State and merge rules".

    No method changes a state: each returns a new one, or the same where there is nothing to do.

    Attributes:
        model: The pydantic model of the state.
        rules: The merge rule of each field.
        fields: The names of the fields.
        revalidates_whole: Whether a merge is validated with the whole model, because it holds
            custom validation; otherwise the touched fields alone give the same verdict. A
            validator of such a model meets values that it has returned before.

    Raises:
        ConfigError: If the model has no fields to write, as a `RootModel` has none.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        self.rules: Mapping[str, MergeRule] = merge_rules(model)
        self.fields = frozenset(self.rules)
        self.revalidates_whole = has_custom_validation(model)
        self._validator = FieldValidator(model)
        self._whole = WholeValidator(model)
        self._mergers = {name: merger(rule) for name, rule in self.rules.items()}
        self._grows = frozenset(
            name for name in self._validator.open_lists if self.rules[name] == Merge.append
        )

    def initial(
        self, values: Mapping[str, object] | BaseModel, flow: str | None = None
    ) -> BaseModel:
        """Return the state with which a run begins.

        Implements: "State and merge rules".

        Args:
            values: The fields by name (never by alias), or an instance of the model, which is
                copied and not validated again.
            flow: The flow's name, for the error.

        Raises:
            FlowError: If a key is unknown, the model refuses a value, or `values` is neither.
        """
        if type(values) is self.model:
            return self.view(values)
        if not isinstance(values, Mapping):
            raise FlowError(
                f"the input is a {type(values).__name__}; pass a mapping, or an instance of "
                f"{self.model.__name__} itself",
                flow=flow,
            )
        unknown = [key for key in values if key not in self.fields]
        if unknown:
            raise FlowError(
                self._unknown("the input", *unknown), flow=flow, field=short(str(unknown[0]))
            )
        try:
            state = self._whole.validate(dict(values), None)
        except Exception as error:
            raise FlowError(
                f"{self.model.__name__} refuses the input: {reasons(error)}",
                flow=flow,
                field=first_field(error),
            ) from error
        return self._own(state, flow=flow)

    def merge_field(self, field: str, current: object, values: Sequence[object]) -> object:
        """Combine all updates of one superstep to one field; nothing is validated yet.

        Implements: "State and merge rules".

        Args:
            field: The field's name.
            current: The field's value before the superstep; it is not changed.
            values: The updates in update order, at least one; they are not changed.

        Raises:
            FlowError: If the field is unknown or the updates do not combine by its rule.
        """
        merger = self._mergers.get(field)
        if merger is None:
            raise FlowError(self._unknown("the update", field), field=field)
        return merger(field, current, values)

    def validate_field(self, state: BaseModel | None, field: str, value: object) -> object:
        """Return `value` as `field` accepts it; the model's own validators do not run.

        Implements: "State and merge rules".

        Args:
            state: The state, of which a validator of the field may read the other fields; None
                where there is none yet.
            field: The field's name.
            value: The value to validate.

        Raises:
            FlowError: If the field is unknown or does not accept the value.
        """
        if field not in self.fields:
            raise FlowError(self._unknown("the update", field), field=field)
        try:
            values = {} if state is None else self._values(state)
            return self._validator.assign(values, field, value)[field]
        except Exception as error:
            raise self._refusal(error, field) from error

    def apply_updates(
        self, state: BaseModel, writes: Sequence[tuple[str, Mapping[str, object]]]
    ) -> BaseModel:
        """Return the state after the updates of one superstep.

        Implements: "State and merge rules".

        Args:
            state: The state that the nodes of the superstep read; it is not changed.
            writes: The node and its update, in update order.

        Returns:
            A new state that shares the values nobody wrote, or `state` itself when there is
            nothing to write.

        Raises:
            FlowError: If an update is no mapping or has an unknown key, if updates do not merge,
                or if the model refuses the result. It names the last writer of the field.
        """
        updates: dict[str, Sequence[object]]
        writers: dict[str, str]
        if len(writes) == 1:
            node, update = writes[0]
            self._check(node, update)
            updates = {field: (value,) for field, value in update.items()}
            writers = dict.fromkeys(updates, node)
        else:
            updates, writers = self._collect(writes)
        if not updates:
            return state
        values = self._values(state)
        if self.revalidates_whole:
            last = next(node for node, update in reversed(writes) if update)
            return self._merge_whole(state, values, updates, writers, last)
        for field, written in updates.items():
            try:
                values = self._merge_touched(values, field, written)
            except FlowError as error:
                raise _by(error, writers[field]) from error.__cause__
            except Exception as error:
                raise self._refusal(error, field, writers[field]) from error
        return self._build(state, values, state.__pydantic_fields_set__.union(updates))

    def merge_value(self, field: str, current: object, values: Sequence[object]) -> object:
        """Return one field after a superstep, for an engine that keeps one value per field.

        Implements: "State and merge rules".

        Only `apply_updates` sees the whole state. The values of a model with custom validation
        are therefore merged here and validated by `restore`.

        Args:
            field: The field's name.
            current: The field's value before the superstep; it is not changed.
            values: The updates in update order, at least one; they are not changed.

        Raises:
            FlowError: If the field is unknown, the updates do not combine by its rule, or the
                field does not accept the result.
        """
        if self.revalidates_whole or field not in self.fields:
            return self.merge_field(field, current, values)
        try:
            return self._merge_touched({field: current}, field, values)[field]
        except FlowError:
            raise
        except Exception as error:
            raise self._refusal(error, field) from error

    def check_updates(
        self, state: BaseModel, node: str, updates: Sequence[Mapping[str, object]]
    ) -> None:
        """Refuse updates of one node that no merge with others could accept.

        Implements: "State and merge rules".

        Args:
            state: The superstep's input.
            node: The node that wrote them.
            updates: What it wrote.

        Raises:
            FlowError: If a field is unknown, or an update does not combine with its value.
        """
        for update in updates:
            for field, value in update.items():
                try:
                    self.merge_value(field, getattr(state, field, None), [value])
                except FlowError as error:
                    raise _by(error, node) from error.__cause__

    def restore(self, values: Mapping[str, object], fields_set: Iterable[str]) -> BaseModel:
        """Return the state that an engine kept as one value per field.

        Implements: "State and merge rules".

        Private attributes are not among the values, so they start anew.

        Args:
            values: All fields, as `initial` or `merge_value` returned them.
            fields_set: The fields that the input or a node has set.

        Raises:
            FlowError: If a model with custom validation refuses the values.
        """
        if self.revalidates_whole:
            try:
                result = self._whole.validate(dict(values), None)
            except Exception as error:
                raise FlowError(
                    f"{self.model.__name__} refuses the merged state: {reasons(error)}",
                    field=first_field(error),
                ) from error
            state = self.view(self._own(result))
        else:
            state = self.model.__new__(self.model)
            _set(state, "__dict__", {name: values[name] for name in self.rules})
            extra: dict[str, object] | None = (
                {} if self.model.model_config.get("extra") == "allow" else None
            )
            _set(state, "__pydantic_extra__", extra)
            _set(state, "__pydantic_private__", None)
            if self.model.__private_attributes__:
                state.model_post_init(None)
        _set(state, "__pydantic_fields_set__", set(fields_set))
        return state

    def view(self, state: BaseModel) -> BaseModel:
        """Return a copy for one visit, with its own lists, dicts and sets one level deep.

        Implements: "State and merge rules".

        A careless `state.items.append(...)` in one node then reaches neither a sibling nor the
        state itself. Subclasses of the built-in containers and deeper levels are shared.
        """
        view = self._build(state, self._values(state), state.__pydantic_fields_set__.copy())
        for values in (view.__dict__, view.__pydantic_extra__ or {}):
            for name, value in values.items():
                if type(value) in _CONTAINERS:
                    values[name] = value.copy()
        return view

    def _values(self, state: BaseModel) -> dict[str, object]:
        values = state.__dict__
        if len(values) == len(self.fields):
            return values.copy()
        # A cached property lives beside the fields and would outlive the values it came from.
        return {name: value for name, value in values.items() if name in self.fields}

    def _build(
        self, state: BaseModel, values: dict[str, object], fields_set: set[str]
    ) -> BaseModel:
        extra, private = state.__pydantic_extra__, state.__pydantic_private__
        built = self.model.__new__(self.model)
        _set(built, "__dict__", values)
        _set(built, "__pydantic_fields_set__", fields_set)
        _set(built, "__pydantic_extra__", None if extra is None else extra.copy())
        _set(built, "__pydantic_private__", None if private is None else private.copy())
        return built

    def _check(self, node: str, update: Mapping[str, object]) -> None:
        if type(update) is not dict and not isinstance(update, Mapping):
            raise FlowError(
                f"the update is a {type(update).__name__}; return a mapping of fields to values, "
                "or None",
                node=node,
            )
        for key in update:
            if key not in self.fields:
                raise FlowError(self._unknown("the update", key), node=node, field=short(str(key)))

    def _collect(
        self, writes: Sequence[tuple[str, Mapping[str, object]]]
    ) -> tuple[dict[str, Sequence[object]], dict[str, str]]:
        updates: dict[str, list[object]] = {}
        writers: dict[str, str] = {}
        for node, update in writes:
            self._check(node, update)
            for field, value in update.items():
                updates.setdefault(field, []).append(value)
                writers[field] = node
        return dict(updates), writers

    def _merge_touched(
        self, values: dict[str, object], field: str, written: Sequence[object]
    ) -> dict[str, object]:
        current = values.get(field)
        if field in self._grows and type(current) is list:
            try:
                grown = self._validator.assign(values, field, elements(written))
            except ValidationError:
                pass  # The whole list, below, gives the reason with the item's place in it.
            else:
                grown[field] = current + cast("list[object]", grown[field])
                return grown
        return self._validator.assign(values, field, self._mergers[field](field, current, written))

    def _merge_whole(
        self,
        state: BaseModel,
        values: dict[str, object],
        updates: Mapping[str, Sequence[object]],
        writers: Mapping[str, str],
        last: str,
    ) -> BaseModel:
        merged = dict(values)
        for field, written in updates.items():
            try:
                merged[field] = self._mergers[field](field, values.get(field), written)
            except FlowError as error:
                raise _by(error, writers[field]) from error.__cause__
        try:
            result = self._whole.validate(
                {**merged, **(state.__pydantic_extra__ or {})}, state.__pydantic_private__
            )
        except Exception as error:
            bad = first_field(error)
            raise FlowError(
                f"{self.model.__name__} refuses the merged state: {reasons(error)}",
                node=last if bad is None else writers.get(bad, last),
                field=bad,
            ) from error
        # A validator may return an instance that it shares with others.
        validated = self.view(self._own(result, node=last))
        for field, value in values.items():
            if field not in updates and same_content(validated.__dict__.get(field), value):
                validated.__dict__[field] = value
        _set(validated, "__pydantic_fields_set__", state.__pydantic_fields_set__.union(updates))
        return validated

    def _own(
        self, result: object, *, flow: str | None = None, node: str | None = None
    ) -> BaseModel:
        if isinstance(result, BaseModel) and type(result) is self.model:
            return result
        raise FlowError(
            f"a validator of {self.model.__name__} returned a {type(result).__name__}; let it "
            f"return a {self.model.__name__}",
            flow=flow,
            node=node,
        )

    def _unknown(self, what: str, *keys: object) -> str:
        return (
            f"{what} has the unknown key {short(', '.join(map(repr, keys)))}; the fields of "
            f"{self.model.__name__} are {', '.join(self.rules)}"
        )

    def _refusal(self, error: Exception, field: str, node: str | None = None) -> FlowError:
        return FlowError(
            f"{field!r} of {self.model.__name__} refuses the value: {reasons(error, field)}",
            node=node,
            field=field,
        )


def _by(error: FlowError, node: str) -> FlowError:
    return FlowError(error.message, node=node, field=error.field)
