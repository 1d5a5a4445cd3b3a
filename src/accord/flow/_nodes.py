"""One visit of one node, the same on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accord._invoke import inline, is_failure
from accord.approval import ApprovalDecision, ApprovalPending, ApprovalRequest
from accord.context import ToolContext, enter_context, leave_context
from accord.errors import FlowError
from accord.flow._journal import Answers, Journal, KeptAnswers, VisitScope
from accord.flow._map import run_map
from accord.flow._pauses import until_pause
from accord.flow.actions import Call, Map
from accord.tools import CallSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.flow._position import Updates
    from accord.flow._run import Run
    from accord.flow.graph import NodeSpec


@dataclass(slots=True)
class Visit:
    """One run of one node, ready to be made.

    Implements: "Visits".

    Attributes:
        run: The run.
        node: The node.
        number: The number of the visit, counted from 1; a resumed visit keeps it.
        state: What the node reads.
        approval: The decision of the node's gate, if it has one.
        journal: What earlier legs of this visit finished.
        answers: Where tool requests find their decisions.
        asked: What the visit asks in this leg and nobody has decided yet.
    """

    run: Run
    node: NodeSpec
    number: int
    state: BaseModel
    approval: ApprovalDecision | None = None
    journal: Journal = field(default_factory=Journal)
    answers: Answers = field(default_factory=KeptAnswers)
    asked: list[ApprovalRequest] = field(default_factory=list)

    @property
    def call_id(self) -> str:
        """The visit's id within the run."""
        return f"{self.run.graph.name}:{self.node.name}:{self.number}"


@dataclass(frozen=True, slots=True)
class Finished:
    """The visit ended with updates."""

    updates: Updates


@dataclass(frozen=True, slots=True)
class Paused:
    """The visit waits for approvals.

    Attributes:
        requests: The open questions, in request order.
        journal: What it has finished so far.
    """

    requests: tuple[ApprovalRequest, ...]
    journal: Journal


@dataclass(frozen=True, slots=True)
class Failed:
    """The visit failed.

    Attributes:
        error: Why.
        requests: Questions that it had asked and that nobody needs any more.
    """

    error: FlowError
    requests: tuple[ApprovalRequest, ...] = ()


Outcome = Finished | Paused | Failed


async def run_visit(visit: Visit) -> Outcome:
    """Run a node once, with its journal, its answers and its events.

    Implements: "Visits".

    Args:
        visit: What to run.

    Returns:
        What came of it; only cancellation is raised.
    """
    run, node = visit.run, visit.node
    scope = VisitScope(visit.call_id, visit.journal, visit.answers, visit.asked)
    ctx = ToolContext(
        run_id=run.run_id,
        flow=run.graph.name,
        node=node.name,
        visit=visit.number,
        call_id=visit.call_id,
        executor=run.executor,
        scope=scope,
        prompt=node.prompt,
        approval=visit.approval,
        sink=run.sink,
    )
    if run.model is not None:
        ctx.model = run.model.bind(ctx)
    run.report("node.started", node=node.name, visit=visit.number)
    token = enter_context(ctx)
    try:
        updates = await until_pause(_act(visit, ctx), scope, node.name)
    except ApprovalPending as pause:
        outcome: Outcome = Paused(tuple(visit.asked) or (pause.request,), visit.journal)
    except BaseException as error:
        if not is_failure(error):
            raise
        outcome = Failed(_node_error(visit, error), tuple(visit.asked))
    else:
        outcome = Finished(updates)
    finally:
        leave_context(token)
    _report_outcome(visit, outcome)
    return outcome


def _report_outcome(visit: Visit, outcome: Outcome) -> None:
    run, name, number = visit.run, visit.node.name, visit.number
    if run.sink is None:
        return
    match outcome:
        case Finished(updates):
            changed = tuple(sorted({key for update in updates for key in update}))
            run.report("node.finished", node=name, visit=number, data={"changed": changed})
        case Paused(requests):
            for request in requests:
                data = {"approval_id": request.id}
                run.report("node.paused", node=name, visit=number, data=data)
        case Failed(error):
            kind = type(error.__cause__ or error).__name__
            run.report("node.failed", node=name, visit=number, data={"error_kind": kind})


def _node_error(visit: Visit, error: BaseException) -> FlowError:
    name = visit.node.name
    if isinstance(error, FlowError) and error.node == name:
        error.within(visit.run.graph.name)
        return error
    failure = FlowError(
        f"node {name!r} failed: {type(error).__name__}: {error}",
        flow=visit.run.graph.name,
        node=name,
    )
    failure.__cause__ = error
    return failure


async def _act(visit: Visit, ctx: ToolContext) -> Updates:
    node = visit.node
    if isinstance(node.action, Call):
        return await _call_tool(visit, node.action, ctx)
    if isinstance(node.action, Map):
        return await run_map(visit, node.action, ctx)
    if node.call is None:  # a join that only waits
        return ()
    update = await node.call(*(visit.state, ctx)[: node.arity])
    if update is None:
        return ()
    if isinstance(update, Mapping):
        _check_keys(visit, update)
    else:
        raise FlowError(
            f"node {node.name!r} returned {type(update).__name__}; return a mapping of "
            "state fields to new values, or None",
            flow=visit.run.graph.name,
            node=node.name,
        )
    return (update,)


def _check_keys(visit: Visit, update: Mapping[object, object]) -> None:
    for key in update:
        if not isinstance(key, str):
            raise FlowError(
                f"node {visit.node.name!r} returned the key {key!r}, which is no text; return a "
                "mapping of state fields to new values, or None",
                flow=visit.run.graph.name,
                node=visit.node.name,
            )


async def _call_tool(visit: Visit, action: Call, ctx: ToolContext) -> Updates:
    arguments: object = action.args
    if callable(action.args):
        arguments = await inline(action.args, visit.state)
    if not isinstance(arguments, Mapping):
        raise FlowError(
            f"the args of {visit.node.name!r} are {type(arguments).__name__}; a mapping of "
            "argument names to values is needed",
            flow=visit.run.graph.name,
            node=visit.node.name,
        )
    spec = CallSpec(action.tool, arguments, call_id=f"{visit.call_id}:0")
    # What the tool itself calls extends the id of this call, which is the one that repeats.
    scope = VisitScope(f"{visit.call_id}:0", visit.journal, visit.answers, visit.asked)
    own = replace(ctx, scope=scope)
    token = enter_context(own)
    try:
        call = visit.run.executor.run_spec(spec, own)
        result = await until_pause(call, scope, visit.node.name)
    finally:
        leave_context(token)
    return ({action.into: result.unwrap()},)
