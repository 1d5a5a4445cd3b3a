"""A flow as an ADK `Workflow`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Literal

from google.adk import Context
from google.adk.events import Event
from google.adk.workflow import Workflow
from pydantic import PrivateAttr

from accord import FlowCheckpoint, FlowGraph
from accord.kernel import Outcome, RunOptions, Visit, leg, supersteps, take_answer
from accord_adk._answers import new_answers, question
from accord_adk._drawing import flow_edges
from accord_adk._driven import DrivenLeg, take_driven
from accord_adk._durable import check_durable
from accord_adk._entry import AskAgain, GoOn, enter
from accord_adk._keeper import Keeper
from accord_adk._kept import Place, read_kept
from accord_adk._nodes import QuestionNode, VisitNode
from accord_adk._undocumented import new_epoch, run_child, run_id

Durability = Literal["superstep", "pause"]


class FlowWorkflow(Workflow):
    """A flow that any ADK `Runner` runs, pauses and resumes.

    Implements: "Running".

    The edges are the flow's graph, for people and tools. What runs is the superstep loop of the
    core: every visit is a child run, a pause is a `RequestInput`, and the position is kept sealed
    in session state, from which a resume goes on.
    """

    _flow: FlowGraph = PrivateAttr()
    _options: RunOptions = PrivateAttr()
    _durability: Durability = PrivateAttr()
    _visit_nodes: dict[str, VisitNode] = PrivateAttr()

    def __init__(
        self, flow: FlowGraph, options: RunOptions, *, name: str, durability: Durability
    ) -> None:
        nodes = {
            spec.name: VisitNode(name=spec.name, description=spec.kind)
            for spec in flow.nodes.values()
        }
        super().__init__(name=name, edges=list(flow_edges(flow, nodes)))
        self._flow = flow
        self._options = options
        self._durability = durability
        self._visit_nodes = nodes

    async def _run_impl(self, *, ctx: Context, node_input: object) -> AsyncGenerator[Event, None]:
        ctx.event_author = self.name
        driven = take_driven(self._flow.name, ctx.session.id)
        try:
            entry = await self._entry(ctx, node_input, driven)
            if entry is not None:
                async with aclosing(self._follow(ctx, entry, driven)) as events:
                    async for event in events:
                        yield event
        except Exception as error:
            if driven is not None:
                driven.error = error
            raise

    async def _entry(
        self, ctx: Context, node_input: object, driven: DrivenLeg | None
    ) -> GoOn | AskAgain | None:
        check_durable(ctx.get_invocation_context().session_service, self._options.keys)
        if driven is not None:
            return GoOn(driven.run, driven.position, driven.first)
        place = Place.of(ctx)
        value = ctx.state.get(place.key(self._flow.name))
        return await enter(
            self._flow,
            self._options,
            read_kept(self._flow, self._options, place, value),
            new_answers(ctx.session, place.invocation_id),
            node_input=node_input,
            invocation_id=place.invocation_id,
        )

    async def _follow(
        self, ctx: Context, entry: GoOn | AskAgain, driven: DrivenLeg | None
    ) -> AsyncGenerator[Event, None]:
        run, position, epoch = entry.run, entry.position, new_epoch()
        keeper = Keeper(run, self._options.keys, Place.of(ctx), epoch)
        if isinstance(entry, AskAgain):
            checkpoint = await keeper.pause(position)
            yield keeper.paused(checkpoint)
            await self._ask(ctx, checkpoint, epoch, entry.refusal)
            return
        each_superstep = self._durability == "superstep"
        # Kept before the answer is spent: of two entries with an answer, a session service that
        # notices the other one fails one of them here, where it has cost nothing yet.
        if (each_superstep or not entry.first) and (event := keeper.going_on(position)):
            yield event
        if driven is not None:
            driven.kept = True
        if entry.decision is not None:
            position = await take_answer(run, position, entry.decision)
        paused = None
        with leg(run, position, first=entry.first):
            visit = partial(self._visit, ctx, epoch)
            async with aclosing(supersteps(run, position, visit)) as durable_points:
                async for _ in durable_points:
                    goes_on = position.status == "running" and each_superstep
                    if goes_on and (event := keeper.going_on(position)):
                        yield event
            if position.status == "paused":
                paused = await keeper.pause(position)
        if paused is None:
            yield keeper.ended(position)
            return
        if driven is not None:
            driven.checkpoint = paused
        yield keeper.paused(paused)
        await self._ask(ctx, paused, epoch)

    async def _visit(self, ctx: Context, epoch: str, visit: Visit) -> Outcome:
        return await run_child(ctx, self._visit_nodes[visit.node.name], visit, epoch)

    async def _ask(
        self, ctx: Context, paused: FlowCheckpoint, epoch: str, refusal: str | None = None
    ) -> None:
        """Ask for the approval of a pause; ADK interrupts the workflow here."""
        node, _ = paused.position.pending[0]
        asked = question(paused, refusal)
        await ctx.run_node(QuestionNode(name=node), asked, run_id=run_id("ask", 1, epoch))
