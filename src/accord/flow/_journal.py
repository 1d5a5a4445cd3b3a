"""What a paused visit had already done: finished calls, finished items, answers kept."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from accord.approval import ApprovalDecision, ApprovalPending, ApprovalRequest
from accord.approval.ask import ask
from accord.errors import ErrorInfo, FlowError
from accord.flow._snapshot import snapshot
from accord.seal import canonical_text
from accord.tools import ToolResult

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.approval import ApprovalPort


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A tool call that finished.

    Attributes:
        tool: The tool's name.
        arguments: The arguments as passed, without those left unset.
        result: What came of it.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: ToolResult

    @property
    def key(self) -> str | None:
        """What an equal call has in common with this one; None where equality is unknown."""
        return _call_key(self.tool, self.arguments)


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """A Map item that finished.

    Attributes:
        value: What it gave.
        skipped: Whether it failed and was dropped.
    """

    value: Any
    skipped: bool = False


@dataclass(slots=True)
class Journal:
    """The memory of one visit, from its first leg to its last.

    Implements: "Journal and replay".

    Attributes:
        next_call: The number of the next call id.
        calls: The finished calls, oldest first.
        items: The finished Map items by index.
        unfinished: What Map items that wait had done, by index.
    """

    next_call: int = 0
    calls: list[FinishedCall] = field(default_factory=list)
    items: dict[int, FinishedItem] = field(default_factory=dict)
    unfinished: dict[int, Journal] = field(default_factory=dict)

    def copy(self) -> Journal:
        """Return a journal that can go its own way."""
        return Journal(
            self.next_call,
            list(self.calls),
            dict(self.items),
            {index: journal.copy() for index, journal in self.unfinished.items()},
        )

    def detached(self) -> Journal:
        """Return a copy that shares no value of an item; those of calls are snapshots already."""
        return Journal(
            self.next_call,
            list(self.calls),
            {i: replace(item, value=snapshot(item.value)) for i, item in self.items.items()},
            {index: journal.detached() for index, journal in self.unfinished.items()},
        )

    def to_data(self) -> dict[str, Any]:
        """Return the journal as plain data for the seal."""
        return {
            "next_call": self.next_call,
            "calls": [
                {
                    "tool": call.tool,
                    "arguments": dict(call.arguments),
                    "value": call.result.value,
                    "error": _error_data(call.result.error),
                }
                for call in self.calls
            ],
            "items": [[i, item.value, item.skipped] for i, item in sorted(self.items.items())],
            "unfinished": [[i, each.to_data()] for i, each in sorted(self.unfinished.items())],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Journal:
        """Make the journal that `to_data` described."""
        return cls(
            next_call=data["next_call"],
            calls=[
                FinishedCall(
                    call["tool"],
                    call["arguments"],
                    ToolResult(
                        value=call["value"],
                        error=None if call["error"] is None else ErrorInfo(**call["error"]),
                    ),
                )
                for call in data["calls"]
            ],
            items={i: FinishedItem(value, skipped) for i, value, skipped in data["items"]},
            unfinished={i: cls.from_data(each) for i, each in data["unfinished"]},
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision that a person gave to a request of this visit.

    Attributes:
        request: The question.
        decision: The answer.
    """

    request: ApprovalRequest
    decision: ApprovalDecision


class Answers(Protocol):
    """Where the requests of a visit find their decisions."""

    async def decide(self, request: ApprovalRequest, port: ApprovalPort | None) -> ApprovalDecision:
        """Answer `request`.

        Raises:
            ApprovalPending: If nobody has decided yet.
        """
        ...

    @property
    def unused(self) -> Sequence[Answer]:
        """The kept answers that no request has used up."""
        ...


class KeptAnswers:
    """Answers that came with a resume, each used once; anything else asks the port.

    Implements: "Answers".

    Args:
        answers: The answers.
        repeats_in: The id of a visit whose own calls repeat their call ids; an answer is for the
            same call then. Any other call gets a new id, and its answer is for the same item (or
            node, or tool) that asked.
    """

    def __init__(self, answers: Iterable[Answer] = (), *, repeats_in: str | None = None) -> None:
        self._unused = list(answers)
        self._repeats_in = repeats_in

    async def decide(self, request: ApprovalRequest, port: ApprovalPort | None) -> ApprovalDecision:
        """Use up a kept answer to the same run, tool and arguments, or ask `port`."""
        for index, answer in enumerate(self._unused):
            asked = answer.request
            if not self._is_same_asker(asked.call_id, request.call_id):
                continue
            # The canonical form tells 1 from True, which `==` does not.
            key = _call_key(asked.tool, asked.arguments)
            if (
                asked.run_id == request.run_id
                and key is not None
                and key == _call_key(request.tool, request.arguments)
            ):
                del self._unused[index]
                return answer.decision
        return await ask(port, request)

    def _is_same_asker(self, asked: str, now: str) -> bool:
        asker = now.rpartition(":")[0]
        if asker == self._repeats_in:
            return asked == now
        return asked.rpartition(":")[0] == asker

    @property
    def unused(self) -> Sequence[Answer]:
        """The answers that are left, for the next leg."""
        return tuple(self._unused)


class VisitScope:
    """The `CallScope` of one visit or Map item: replays from its journal, then records into it.

    A task that outlives its node gets no answer and no journal: its calls only run or ask.

    Args:
        call_id: What its calls' ids begin with.
        journal: What earlier legs have done; grows.
        answers: Where its requests find their decisions.
        asked: The visit's list of what nobody has decided yet; grows.

    Attributes:
        pending: What of that is this scope's own.
    """

    def __init__(
        self, call_id: str, journal: Journal, answers: Answers, asked: list[ApprovalRequest]
    ) -> None:
        self._call_id = call_id
        self._journal = journal
        self._answers = answers
        self._replays: defaultdict[str | None, deque[ToolResult]] = defaultdict(deque)
        for call in journal.calls:
            self._replays[call.key].append(call.result)
        self._asked = asked
        self.pending: list[ApprovalRequest] = []
        self._running = 0
        self._quiet: asyncio.Event | None = None
        self._ended = False

    def next_call_id(self) -> str:
        """Return the next call id; the numbers go on over resumes."""
        number = self._journal.next_call
        self._journal.next_call += 1
        return f"{self._call_id}:{number}"

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Count a call as running."""
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if self._quiet is not None and not self._running:
                self._quiet.set()

    async def finish_calls(self) -> None:
        """Wait until no call runs.

        Otherwise a call beside the one that pauses would finish after the pause, in no journal,
        and run again on resume.
        """
        while self._running:
            self._quiet = asyncio.Event()
            await self._quiet.wait()

    def end(self) -> None:
        """Give no more answers and keep no more calls, because the code has ended."""
        self._ended = True

    def replay(self, tool: str, arguments: BaseModel) -> ToolResult | None:
        """Return the result of the next equal call that an earlier leg finished."""
        if self._ended or not self._replays:  # the usual case: spare the canonical form
            return None
        key = _call_key(tool, _as_passed(arguments))
        recorded = None if key is None else self._replays.get(key)
        if not recorded:
            return None
        return _own_value(recorded.popleft())

    def record(self, tool: str, arguments: BaseModel, result: ToolResult) -> None:
        """Journal a finished call."""
        if not self._ended:
            call = FinishedCall(tool, _as_passed(arguments), _own_value(result))
            self._journal.calls.append(call)

    async def decide(self, request: ApprovalRequest, port: ApprovalPort | None) -> ApprovalDecision:
        """Answer `request`, and remember it if nobody can yet."""
        if self._ended:
            return await ask(port, request)
        try:
            return await self._answers.decide(request, port)
        except ApprovalPending as pause:
            self.pending.append(pause.request)
            self._asked.append(pause.request)
            raise


def _own_value(result: ToolResult) -> ToolResult:
    return ToolResult(snapshot(result.value), result.error, result.cause)


def _as_passed(arguments: BaseModel) -> dict[str, Any]:
    return arguments.model_dump(exclude_unset=True)


def _call_key(tool: str, arguments: Mapping[str, Any]) -> str | None:
    try:
        return canonical_text([tool, dict(arguments)], f"arguments of {tool}")
    except FlowError:
        # What cannot be sealed was never journaled or asked over a pause, so it equals nothing.
        return None


def _error_data(error: ErrorInfo | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "kind": error.kind,
        "message": error.message,
        "attributes": dict(error.attributes),
    }
