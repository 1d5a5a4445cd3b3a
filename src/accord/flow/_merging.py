"""The merge rules: how they are declared, and one pure function for what each of them does."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import (
    TYPE_CHECKING,
    Annotated,
    ClassVar,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from accord.errors import ConfigError, FlowError

if TYPE_CHECKING:
    from pydantic import BaseModel

Merger: TypeAlias = Callable[[str, object, Sequence[object]], object]


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the updates of one superstep to one field combine; written as `Annotated` metadata.

    Implements: "State and merge rules".

    Attributes:
        kind: The rule.
        by: With `keyed`, the key or attribute that identifies an item.

    Raises:
        ConfigError: If `by` is missing with `keyed`, or given with another kind.
    """

    kind: Literal["replace", "append", "sum", "keyed"]
    by: str | None = None

    def __post_init__(self) -> None:
        if (self.kind == "keyed") != bool(self.by):
            raise ConfigError(
                f"the merge rule {self.kind!r} with by={self.by!r} does not exist; write "
                "Merge.keyed(by=...) for items with a key, and no by for the other rules"
            )

    def __str__(self) -> str:
        return f"Merge.{self.kind}" + (f"(by={self.by!r})" if self.by else "")


class Merge:
    """The merge rules by name, as in `rounds: Annotated[int, Merge.sum] = 0`.

    Implements: "State and merge rules".
    """

    replace: ClassVar[MergeRule] = MergeRule("replace")
    """Equal values give that value, different ones a conflict. The rule of an unannotated field."""
    append: ClassVar[MergeRule] = MergeRule("append")
    """The current list, then the updates in update order."""
    sum: ClassVar[MergeRule] = MergeRule("sum")
    """The updates added onto the current value."""

    @staticmethod
    def keyed(by: str) -> MergeRule:
        """Return the rule by which a later item replaces the earlier one with the same key.

        Args:
            by: The key (of a mapping) or attribute (of a model) that identifies an item.

        Raises:
            ConfigError: If `by` is empty.
        """
        return MergeRule("keyed", by)


def merge_rules(model: type[BaseModel]) -> dict[str, MergeRule]:
    """Return the merge rule of each field of `model`, in field order.

    Implements: "State and merge rules".

    A rule counts wherever it annotates the whole field: directly, in a nested `Annotated`, in a
    type alias or in a member of a union such as `Annotated[...] | None`. The outermost wins.
    """
    model.model_rebuild()
    rules = {}
    for name, info in model.model_fields.items():
        outer = [extra for extra in info.metadata if isinstance(extra, MergeRule)]
        found = [*_rules_in(info.annotation), *outer]
        rules[name] = found[-1] if found else Merge.replace
    return rules


def _rules_in(annotation: object) -> Iterator[MergeRule]:
    alias = getattr(annotation, "__value__", None)
    if alias is not None:
        yield from _rules_in(alias)
    elif get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _rules_in(inner)
        yield from (extra for extra in metadata if isinstance(extra, MergeRule))
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _rules_in(member)


def merger(rule: MergeRule) -> Merger:
    """Return the function that merges by `rule`.

    Implements: "State and merge rules".

    Its parameters are the field's name, the current value and the updates in update order. It
    changes none of them and raises `FlowError` with the field's name when they do not merge.
    """
    if rule.by is not None:
        return partial(_keyed, rule.by)
    return _MERGERS[rule.kind]


def elements(updates: Sequence[object]) -> list[object]:
    """Return what the updates add: the elements of each list, any other value itself."""
    added: list[object] = []
    for value in updates:
        if isinstance(value, list):
            added.extend(value)
        else:
            added.append(value)
    return added


def _replaced(field: str, current: object, updates: Sequence[object]) -> object:
    first = updates[0]
    for other in updates[1:]:
        try:
            equal: object = first == other
        except Exception as error:
            raise FlowError(
                f"several nodes write {field} and comparing their values raised "
                f"{type(error).__name__}; let one node write it, or give it another merge rule",
                field=field,
            ) from error
        if not isinstance(equal, bool):
            raise FlowError(
                f"several nodes write {field} and comparing their values gave a "
                f"{type(equal).__name__}, not a bool; let one node write it, or give it another "
                "merge rule",
                field=field,
            )
        if not equal:
            raise FlowError(f"conflicting writes to {field}", field=field)
    return first


def _appended(field: str, current: object, updates: Sequence[object]) -> object:
    merged = [*_items(field, current), *elements(updates)]
    return tuple(merged) if type(current) is tuple else merged


def _keyed(by: str, field: str, current: object, updates: Sequence[object]) -> object:
    merged: dict[object, object] = {}
    for item in (*_items(field, current), *elements(updates)):
        merged[_key(by, field, item)] = item
    return tuple(merged.values()) if type(current) is tuple else list(merged.values())


def _key(by: str, field: str, item: object) -> object:
    try:
        key: object = item[by] if isinstance(item, Mapping) else getattr(item, by)
    except Exception as error:
        raise FlowError(
            f"an item for {field} is a {type(item).__name__} without the key {by!r}; give each "
            "item its key",
            field=field,
        ) from error
    try:
        hash(key)
    except TypeError as error:
        raise FlowError(
            f"an item for {field} has the key {by!r} of type {type(key).__name__}, which is not "
            "hashable; use text or a number",
            field=field,
        ) from error
    return key


def _items(field: str, current: object) -> Collection[object]:
    if current is None:
        return ()
    if isinstance(current, Collection) and not isinstance(current, (str, bytes, Mapping)):
        return current
    raise FlowError(
        f"{field} holds a {type(current).__name__}, to which nothing can be appended; make the "
        "field a list, or give it another merge rule",
        field=field,
    )


def _summed(field: str, current: object, updates: Sequence[object]) -> object:
    terms = updates if current is None else (current, *updates)
    try:
        return reduce(operator.add, terms)
    except Exception as error:
        kinds = ", ".join(dict.fromkeys(type(term).__name__ for term in terms))
        raise FlowError(
            f"the values of {field} cannot be added ({kinds}); return a value that adds onto the "
            "current one, or give the field another merge rule",
            field=field,
        ) from error


_MERGERS: dict[str, Merger] = {"replace": _replaced, "append": _appended, "sum": _summed}
