"""A model that answers from a script."""

from __future__ import annotations

from collections.abc import Sequence

from accord import LLMReply, LLMRequest
from accord_parity.scenario import ScenarioError


class ScriptedModel:
    """Answers each request with the next scripted reply.

    Args:
        replies: The texts, in the order of the requests.
    """

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = tuple(replies)
        self._asked = 0

    async def generate(self, request: LLMRequest) -> LLMReply:
        """Return the next reply.

        Raises:
            ScenarioError: If the script is used up.
        """
        self._asked += 1
        if self._asked > len(self._replies):
            raise ScenarioError(
                f"request {self._asked} (stage {request.stage!r}) finds no reply: "
                f"{len(self._replies)} are scripted; add one to Scenario(replies=...)"
            )
        return LLMReply(text=self._replies[self._asked - 1])

    @property
    def problem(self) -> str | None:
        """What does not fit between the script and the requests so far, or None."""
        scripted = len(self._replies)
        if self._asked == scripted:
            return None
        return (
            f"the run made {self._asked} model requests and {scripted} replies are scripted; "
            "give Scenario(replies=...) one reply per request"
        )
