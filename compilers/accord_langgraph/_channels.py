"""The channels of a compiled flow: each sees all writes of a superstep and asks the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from langgraph.channels.base import BaseChannel
from langgraph.errors import EmptyChannelError
from langgraph.types import Overwrite

from accord import FlowError
from accord.kernel import StateSchema
from accord_langgraph._position import KeptPosition, PositionEvent, moved_on
from accord_langgraph._undocumented import NO_VALUE


def loaded_value(schema: StateSchema, field: str, value: object) -> object:
    """Return a value from a checkpointer as the field's own type; msgpack made a tuple a list.

    Raises:
        FlowError: If the field does not accept the value.
    """
    return value if schema.revalidates_whole else schema.validate_field(None, field, value)


class FieldChannel(BaseChannel[object, object, object]):
    """One field of the state; merges a superstep's writes by the field's merge rule.

    Before a run begins it holds the input as it came, which the start node then validates.
    """

    __slots__ = ("_problem", "_schema", "_value")

    def __init__(
        self, schema: StateSchema, field: str, annotation: object, value: object = NO_VALUE
    ) -> None:
        super().__init__(annotation, field)
        self._schema = schema
        self._value = value
        self._problem: FlowError | None = None

    @property
    def ValueType(self) -> object:  # noqa: N802 - LangGraph's name
        """The field's annotation."""
        return self.typ

    @property
    def UpdateType(self) -> object:  # noqa: N802 - LangGraph's name
        """The field's annotation; a list field also takes single items."""
        return self.typ

    def copy(self) -> Self:
        """Return a channel with the same value."""
        return self.__class__(self._schema, self.key, self.typ, self._value)

    def from_checkpoint(self, checkpoint: object) -> Self:
        """Return a channel with the value that a checkpoint holds."""
        if checkpoint is not NO_VALUE:
            checkpoint = loaded_value(self._schema, self.key, checkpoint)
        return self.__class__(self._schema, self.key, self.typ, checkpoint)

    def checkpoint(self) -> object:
        """Return the value for the checkpointer.

        Raises:
            FlowError: If the last writes did not merge; nothing is saved then.
        """
        if self._problem is not None:
            raise self._problem
        return self._value

    def get(self) -> object:
        """Return the value."""
        if self._value is NO_VALUE:
            raise EmptyChannelError
        return self._value

    def is_available(self) -> bool:
        """Tell whether the field has a value."""
        return self._value is not NO_VALUE

    def update(self, values: Sequence[object]) -> bool:
        """Merge the writes of one superstep, in update order.

        Writes that do not merge leave the value and fail the superstep only when it is saved,
        because LangGraph also merges what is there while a sibling still waits, to show it.
        """
        if not values:
            return False
        last = values[-1]
        if isinstance(last, Overwrite):  # the start node has validated it
            self._value = last.value
        elif self._value is NO_VALUE:
            self._value = last
        else:
            try:
                self._value = self._schema.merge_value(self.key, self._value, values)
            except FlowError as error:
                self._problem = error
        return True


class PositionChannel(BaseChannel[KeptPosition, PositionEvent, KeptPosition]):
    """Where the run stands; moved on by the events of a superstep."""

    __slots__ = ("_kept", "_problem")

    def __init__(self, key: str = "", kept: KeptPosition | None = None) -> None:
        super().__init__(dict, key)
        self._kept = kept
        self._problem: FlowError | None = None

    @property
    def ValueType(self) -> type[dict[str, object]]:  # noqa: N802 - LangGraph's name
        """Plain data."""
        return dict

    @property
    def UpdateType(self) -> type[dict[str, object]]:  # noqa: N802 - LangGraph's name
        """Plain data."""
        return dict

    def copy(self) -> Self:
        """Return a channel with the same position."""
        return self.__class__(self.key, self._kept)

    def from_checkpoint(self, checkpoint: KeptPosition) -> Self:
        """Return a channel with the position that a checkpoint holds."""
        return self.__class__(self.key, None if checkpoint is NO_VALUE else checkpoint)

    def checkpoint(self) -> object:
        """Return the position for the checkpointer.

        Raises:
            FlowError: If a node of the last superstep noted a problem; nothing is saved then.
        """
        if self._problem is not None:
            raise self._problem
        return super().checkpoint()

    def get(self) -> KeptPosition:
        """Return the position."""
        if self._kept is None:
            raise EmptyChannelError
        return self._kept

    def is_available(self) -> bool:
        """Tell whether a run has begun."""
        return self._kept is not None

    def update(self, values: Sequence[PositionEvent]) -> bool:
        """Move on by the events of one superstep."""
        if not values:
            return False
        try:
            self._kept = moved_on(self._kept, values)
        except FlowError as error:
            self._problem = error
        return True
