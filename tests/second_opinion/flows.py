"""A plan as a flow of the product, and a run of it on an engine."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import accord
from accord import (
    ApprovalDecision,
    Call,
    DeferredApproval,
    Executor,
    Flow,
    FlowError,
    FlowResult,
    Join,
    Map,
    MemoryApprovalStore,
    Merge,
    Route,
    ToolRegistry,
)
from tests.second_opinion.plan import JOB_FAILS, Ending, Plan, PlannedNode, PlannedRoute


class Planned(BaseModel):
    """A field for each merge rule, and the jobs of the Maps."""

    log: Annotated[list[str], Merge.append] = Field(default_factory=list)
    total: Annotated[int, Merge.sum] = 10
    value: str = ""
    hits: Annotated[list[dict[str, int]], Merge.keyed(by="id")] = Field(default_factory=list)
    jobs: list[dict[str, int]] = Field(default_factory=list)


def flow_of(plan: Plan) -> Flow[Planned]:
    """Return the product's flow of a plan."""
    flow = Flow("planned", state=Planned)
    for node in plan.nodes:
        gate = _show_total if node.is_gate else None
        flow.node(node.name, _action(plan, node), pause=gate)
        if node.route is not None:
            route = node.route
            flow.route(
                node.name,
                Route(_picker(route), route.labels),
                max_loops=route.max_loops,
                on_exhausted=route.on_exhausted,
            )
        elif node.targets:
            flow.edge(node.name, node.targets)
        else:
            flow.end(node.name)
    return flow


async def run_plan(plan: Plan, engine_name: str) -> Ending:
    """Run the plan on an engine, resuming it with the planned decisions, and say how it ended."""
    registry = ToolRegistry()

    @registry.tool
    async def hit(n: int) -> dict[str, int]:
        if n == JOB_FAILS:
            raise ValueError("this job fails")
        return {"id": n % 3, "n": n}

    engine = accord.engine(
        engine_name,
        Executor(registry),
        approval=DeferredApproval(MemoryApprovalStore()),
        max_steps=plan.max_steps,
    )
    graph = flow_of(plan).validate()
    asked: list[tuple[str, int]] = []
    try:
        result: FlowResult[Planned] = await engine.run(
            graph, {"jobs": [{"n": n} for n in plan.jobs]}
        )
        while result.checkpoint is not None and result.pending is not None:
            decision = plan.decisions[len(asked) % len(plan.decisions)]
            asked.append((result.pending.tool, result.pending.arguments["total"]))
            answer = ApprovalDecision(
                approved=decision.approved, edited_args=dict(decision.edits or {})
            )
            result = await engine.resume(graph, result.checkpoint, answer)
    except FlowError as error:
        return Ending(type(error).__name__, asked=tuple(asked), node=error.node)
    return Ending(
        result.status,
        result.state.model_dump(),
        result.steps,
        dict(result.visits),
        result.denied_at,
        tuple(asked),
    )


def _action(plan: Plan, node: PlannedNode) -> Any:
    if node.kind == "call":
        return Call("hit", args=lambda state: {"n": state.total}, into="hits")
    on_error: Literal["fail", "skip"] = "skip" if node.skips else "fail"
    if node.kind == "map":
        return Map("jobs", tool="hit", into="hits", on_error=on_error)
    if node.kind == "each":
        return Map("jobs", fn=_each(node), into="log", on_error=on_error)
    act = _async_function(node) if node.is_async else _function(node)
    return Join(plan.sources(node.name), act) if node.kind == "join" else act


def _function(node: PlannedNode) -> Any:
    def act(state: Planned) -> Any:
        if node.does == "raises":
            raise ValueError("planned")
        if node.does == "misbehaves":
            return 7
        return {"log": f"{node.name} {state.total}", **(node.writes or {})}

    return act


def _each(node: PlannedNode) -> Any:
    def line(job: dict[str, int], state: Planned) -> str:
        if job["n"] == JOB_FAILS:
            raise ValueError("this job fails")
        return f"{node.name} {job['n']} {state.total}"

    async def line_async(job: dict[str, int], state: Planned) -> str:
        return line(job, state)

    return line_async if node.is_async else line


def _async_function(node: PlannedNode) -> Any:
    act = _function(node)

    async def act_async(state: Planned) -> Any:
        return act(state)

    return act_async


def _picker(route: PlannedRoute) -> Any:
    return lambda state: list(route.picks[state.total % len(route.picks)])


def _show_total(state: Planned) -> dict[str, int]:
    return {"total": state.total}
