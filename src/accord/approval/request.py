"""An approval as data: what is asked, and how it was decided."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class ApprovalRequest(BaseModel):
    """A question for a person: may this node or this tool call go on?

    Implements: "Gates" and "Tool approvals".

    Attributes:
        kind: `node` for a pause gate, `tool` for a tool call.
        tool: The tool's name, or `node:<flow>.<node>` for a gate.
        arguments: What the tool would get, or what the gate shows.
        run_id: The run that waits.
        call_id: The call within the run.
        id: The approval's own id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["node", "tool"]
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict, repr=False)
    run_id: str
    call_id: str
    id: str = Field(default_factory=lambda: uuid.uuid4().hex)

    def asks_the_same(self, other: ApprovalRequest) -> bool:
        """Tell whether `other` is the same question: same run, call, tool and arguments."""
        return (
            self.run_id == other.run_id
            and self.call_id == other.call_id
            and self.tool == other.tool
            and self.arguments == other.arguments
        )


class ApprovalDecision(BaseModel):
    """The answer to an `ApprovalRequest`.

    Attributes:
        approved: Whether it may go on.
        edited_args: Changes by name: for a gate an update of the state, for a tool call
            arguments that replace the named ones.
        reason: Why, for people.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    approved: bool
    edited_args: dict[str, Any] = Field(default_factory=dict)
    reason: str | None = None


# No `Exception`, so that `except Exception` in a node cannot turn a pause into a result.
class ApprovalPending(BaseException):
    """An approval is not decided yet, so the run has to pause.

    Attributes:
        request: The open question.
    """

    def __init__(self, request: ApprovalRequest) -> None:
        super().__init__(f"approval {request.id} of {request.tool} is not decided yet")
        self.request = request

    # The arguments stay in the process, as they do in the repr.
    def __reduce__(self) -> tuple[type[ApprovalPending], tuple[ApprovalRequest]]:
        return type(self), (self.request.model_copy(update={"arguments": {}}),)
