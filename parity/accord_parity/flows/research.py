"""The research flow: plan, search side by side, reason, loop once, and wait for an approval."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from accord import (
    ConfigError,
    Flow,
    Join,
    LLMRequest,
    Map,
    Merge,
    Message,
    Route,
    ToolContext,
    ToolRegistry,
    node_model,
    node_prompt,
)


class Hit(BaseModel):
    """A source that a search found."""

    source_id: str
    text: str


class ResearchState(BaseModel):
    """What the flow knows."""

    question: str
    plan_steps: list[dict[str, Any]] = Field(default_factory=list)
    evidence: Annotated[list[Hit], Merge.keyed(by="source_id")] = Field(default_factory=list)
    rounds: Annotated[int, Merge.sum] = 0
    needs_more: bool = False
    answer: str = ""


async def classify(state: ResearchState) -> dict[str, Any]:
    """Plan one search in each source."""
    steps = [
        {"tool": name, "args": {"query": "returns"}}
        for name in ("search_articles", "search_tickets")
    ]
    return {"plan_steps": steps}


async def reason(state: ResearchState, ctx: ToolContext) -> dict[str, Any]:
    """Answer from the evidence; in the first round, ask for one more source."""
    model = node_model(ctx)
    if model is None:
        raise ConfigError("the reason node needs FlowRunner(model=...)")
    request = LLMRequest(
        messages=(
            Message(role="system", content=node_prompt(ctx) or ""),
            Message(role="user", content=f"{len(state.evidence)} sources"),
        ),
        stage="reason",
    )
    reply = await model.generate(request)
    first_round = state.rounds == 0
    update: dict[str, Any] = {"rounds": 1, "needs_more": first_round, "answer": reply.text}
    if first_round:
        update["plan_steps"] = [
            *state.plan_steps,
            {"tool": "search_articles", "args": {"query": "shipping"}},
        ]
    return update


def approve_step(state: ResearchState) -> dict[str, str]:
    """Mark the answer as approved."""
    return {"answer": f"{state.answer} (approved)"}


flow = (
    Flow("research", state=ResearchState)
    .node("classify", classify)
    .node("retrieve", Map("plan_steps", tool_from="tool", into="evidence"), concurrency=8)
    .node("merge", Join(["retrieve"]))
    .node("reason", reason, prompt="Answer from the evidence only.")
    .node("approve", approve_step, pause=lambda s: {"answer": s.answer})
    .edge("classify", "retrieve")
    .edge("retrieve", "merge")
    .edge("merge", "reason")
    .route(
        "reason",
        Route(lambda s: "retrieve" if s.needs_more else "approve", targets=["retrieve", "approve"]),
        max_loops=3,
        on_exhausted="approve",
    )
    .end("approve")
)

QUESTION = {"question": "What does the returns policy allow?"}


def answer(request: LLMRequest) -> str:
    """Stand in for a language model: say what the evidence would support."""
    return f"Returns are free for 30 days, from {request.messages[-1].content}."


def research_tools() -> ToolRegistry:
    """Return the two searches that the flow plans with."""
    registry = ToolRegistry()

    @registry.tool
    async def search_articles(query: str) -> list[Hit]:
        """Search the help articles."""
        return [Hit(source_id=f"article:{query}", text=f"An article about {query}.")]

    @registry.tool
    def search_tickets(query: str) -> list[Hit]:
        """Search the support tickets."""
        return [Hit(source_id=f"ticket:{query}", text=f"A ticket about {query}.")]

    return registry
