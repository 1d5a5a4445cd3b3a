"""Where the tool calls of a compiled node find their decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from accord import AdapterError, ApprovalDecision, ApprovalPending, ApprovalPort, ApprovalRequest
from accord.kernel import Answer, AnswerRefused, Run, ask, parse_answer, store_of
from accord_langgraph._questions import Inbox, Question, ask_by_interrupt
from accord_langgraph._settle import answer_from, with_lasting_id


class InterruptAnswers:
    """The `Answers` of one visit: what the interrupts of its task were resumed with.

    A node that runs again makes its approved calls again, as LangGraph has it, and gets the same
    decisions for them: those that its last question lists as answered. Any other approval that
    is used up, for instance by a process that then died, is asked anew.
    """

    def __init__(self, run: Run, node: str) -> None:
        self._run = run
        self._node = node
        self._inbox: Inbox | None = None
        self._answered: dict[str, ApprovalDecision] = {}
        self._error: AdapterError | None = None

    @property
    def unused(self) -> Sequence[Answer]:
        """None: LangGraph keeps the answers."""
        return ()

    async def decide(self, request: ApprovalRequest, port: ApprovalPort | None) -> ApprovalDecision:
        """Give the decision on `request` that the task was resumed with, or ask `port`.

        Raises:
            ApprovalPending: If nobody has decided yet; `ask` then interrupts the task.
        """
        if port is None:
            return await ask(None, request)
        inbox = self._inbox = self._inbox or Inbox()
        store = store_of(port)
        if store is None:
            earlier = await self._earlier() if inbox.seen else {}
            request = with_lasting_id(request, earlier)
            if request.id in earlier:
                return self._keep(request, earlier[request.id])
        else:
            record = await store.find(
                request.run_id, request.call_id, request.tool, request.arguments
            )
            if record is not None and record.status != "consumed":
                request = request.model_copy(update={"id": record.request.id})
            elif record is not None:
                again = (await self._earlier()).get(record.request.id)
                if again is not None and again == record.decision:
                    return self._keep(record.request, again)
        decision, error = await answer_from(inbox, request, self._run)
        if decision is not None:
            return self._keep(request, decision)
        if error is not None:
            self._error = error
            raise ApprovalPending(request)
        decision = await ask(port, request)
        return decision if store is None else self._keep(request, decision)

    async def interrupt(self, requests: Sequence[ApprovalRequest]) -> NoReturn:
        """Stop the task with the first of the requests that wait.

        Raises:
            GraphInterrupt: Always; LangGraph keeps it and runs the node again with the answer.
        """
        inbox = self._inbox = self._inbox or Inbox()
        error = self._error or _refusal(await inbox.new(), requests)
        question = Question(
            node=self._node,
            request=requests[0],
            answered={**await self._earlier(), **self._answered},
            seen=inbox.seen,
            error=None if error is None else str(error),
        )
        ask_by_interrupt(question, self._run.graph.name)

    async def _earlier(self) -> dict[str, ApprovalDecision]:
        last = None if self._inbox is None else await self._inbox.last()
        return {} if last is None else last.answered

    def _keep(self, request: ApprovalRequest, decision: ApprovalDecision) -> ApprovalDecision:
        self._answered[request.id] = decision
        return decision


def _refusal(values: Sequence[object], requests: Sequence[ApprovalRequest]) -> AnswerRefused | None:
    """Say why the last value answered nothing that waits."""
    try:
        if values:
            parse_answer(values[-1], requests)
    except AnswerRefused as refused:
        return refused
    return None
