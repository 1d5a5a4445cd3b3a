"""The interrupt of a compiled flow as plain data, and the answers that a task was resumed with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt, interrupt

from accord import ApprovalDecision, ApprovalRequest
from accord_langgraph._task import saved_writes, task_id


@dataclass(frozen=True, slots=True)
class Question:
    """What an interrupt asks.

    Attributes:
        node: The node that waits.
        request: The approval it waits for.
        answered: What the node's earlier questions were answered with, by approval id; a node
            that runs again is given these answers again.
        seen: How many values the task had been resumed with when it asked.
        error: Why the last value was refused; None the first time.
    """

    node: str
    request: ApprovalRequest
    answered: dict[str, ApprovalDecision] = field(default_factory=dict)
    seen: int = 0
    error: str | None = None

    def to_value(self, flow: str) -> dict[str, Any]:
        """Return the interrupt's value: what a person needs to know, and what a re-run needs."""
        request = self.request
        value: dict[str, Any] = {
            "kind": request.kind,
            "tool": request.tool,
            "arguments": request.arguments,
            "approval_id": request.id,
            "run_id": request.run_id,
            "call_id": request.call_id,
            "flow": flow,
            "node": self.node,
        }
        if self.seen:
            value["seen"] = self.seen
        if self.answered:
            value["answered"] = {
                approval_id: decision.model_dump()
                for approval_id, decision in self.answered.items()
            }
        if self.error is not None:
            value["error"] = self.error
        return value

    @classmethod
    def from_interrupt(cls, asked: object) -> Self | None:
        """Read an interrupt; None if it is not one of a compiled flow."""
        value = asked.value if isinstance(asked, Interrupt) else None
        if not isinstance(value, dict) or "approval_id" not in value:
            return None
        answered = value.get("answered", {})
        return cls(
            node=value["node"],
            request=ApprovalRequest(
                kind=value["kind"],
                tool=value["tool"],
                arguments=value["arguments"],
                run_id=value["run_id"],
                call_id=value["call_id"],
                id=value["approval_id"],
            ),
            answered={
                approval_id: ApprovalDecision.model_validate(decision)
                for approval_id, decision in answered.items()
            },
            seen=value.get("seen", 0),
            error=value.get("error"),
        )


class Inbox:
    """What the running task was resumed with.

    LangGraph replays all values of a task by position each time it runs again. Here the last
    question, which the checkpointer holds, says which values are new and what they answer.

    Attributes:
        seen: How many values came in all.
    """

    def __init__(self) -> None:
        self._values = _all_values()
        self._last: Question | None = None
        self._has_read = False
        self.seen = len(self._values)

    async def last(self) -> Question | None:
        """Return the question that the task asked last, if it has asked before."""
        if not self._has_read:
            self._last = await _last_question()
            self._has_read = True
        return self._last

    async def new(self) -> list[object]:
        """Return the values that came since that question."""
        if not self._values:
            return []
        last = await self.last()
        return self._values if last is None else self._values[last.seen :]


def ask_by_interrupt(question: Question, flow: str) -> NoReturn:
    """Stop the running task with `question`; all values that came for it have been read."""
    while True:
        interrupt(question.to_value(flow))


def _all_values() -> list[object]:
    values: list[object] = []
    while True:
        try:
            values.append(interrupt(None))
        except GraphInterrupt:
            return values


async def _last_question() -> Question | None:
    mine = task_id()
    for writer, _, value in await saved_writes():
        if writer == mine and isinstance(value, list | tuple):
            for asked in value:
                question = Question.from_interrupt(asked)
                if question is not None:
                    return question
    return None
