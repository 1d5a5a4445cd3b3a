"""Pause gates: what they ask, and what their answers change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from accord._invoke import inline
from accord.approval import ApprovalDecision, ApprovalPending, ApprovalRequest
from accord.approval.ask import ask
from accord.errors import FlowError
from accord.flow._position import OpenSuperstep
from accord.flow._step import ready_nodes
from accord.seal import encode

if TYPE_CHECKING:
    from pydantic import BaseModel

    from accord.flow._position import Position
    from accord.flow._run import Run
    from accord.flow.graph import FlowGraph


def open_gate(
    graph: FlowGraph, ready: tuple[str, ...], decided: Mapping[str, ApprovalDecision]
) -> str | None:
    """Return the gate that is asked next, in name order, or None when all have answered.

    Implements: "Gates".
    """
    return next((node for node in ready if node in graph.gates and node not in decided), None)


async def gate_request(run: Run, node: str, state: BaseModel, *, visit: int) -> ApprovalRequest:
    """Return what the gate of `node` asks; state and payload are known to be sealable then.

    Implements: "Gates".

    Args:
        run: The run.
        node: The gate.
        state: The state that the superstep reads.
        visit: The number of the visit that waits.

    Raises:
        FlowError: If the gate's function fails, or a part of the checkpoint cannot be sealed.
    """
    graph = run.graph
    pause = graph.nodes[node].pause
    if pause is None:
        raise FlowError(f"node {node!r} has no gate to ask", flow=graph.name, node=node)
    try:
        payload = await inline(pause, state)
    except Exception as error:
        raise FlowError(
            f"the gate of {node!r} failed: {type(error).__name__}: {error}",
            flow=graph.name,
            node=node,
        ) from error
    if payload is not None and not isinstance(payload, Mapping):
        raise FlowError(
            f"the gate of {node!r} returned {type(payload).__name__}; return a mapping of what "
            "the approver sees, or None",
            flow=graph.name,
            node=node,
        )
    arguments = dict(payload or {})
    if run.approval is not None:
        # Sealed first: a question whose pause could not be kept must never be asked.
        encode(state, "state")
        encode(arguments, f"gate payload of {node}")
    return ApprovalRequest(
        kind="node",
        tool=f"node:{graph.name}.{node}",
        arguments=arguments,
        run_id=run.run_id,
        call_id=f"{graph.name}:{node}:{visit}",
    )


def apply_edits(
    graph: FlowGraph, state: BaseModel, gates: Mapping[str, ApprovalDecision]
) -> BaseModel:
    """Return the state with the edits of all gates, as one merge in name order.

    Implements: "Gates".

    Raises:
        FlowError: If an edit names an unknown field or has a bad value; nothing is merged then.
    """
    return graph.schema.apply_updates(
        state, [(node, gates[node].edited_args) for node in sorted(gates)]
    )


async def pass_gates(run: Run, position: Position) -> bool:
    """Ask the gates of the next superstep, and open it when all have approved.

    Implements: "Gates".

    The first pending gate pauses the position, the first denial ends it; later gates are not
    asked. Answers that the position already holds are kept.

    Returns:
        Whether the superstep may begin; if not, the position's status says why.
    """
    graph = run.graph
    opened = position.opened or OpenSuperstep()
    for node in ready_nodes(graph, position.frontier):
        if node not in graph.gates:
            continue
        visit = position.visits.get(node, 0) + 1
        if node not in opened.gates:
            request = await gate_request(run, node, position.state, visit=visit)
            try:
                opened.gates[node] = await ask(run.approval, request)
            except ApprovalPending as pause:
                position.opened = opened
                position.pause([(node, pause.request)])
                run.report(
                    "node.paused", node=node, visit=visit, data={"approval_id": pause.request.id}
                )
                return False
        if not opened.gates[node].approved:
            position.deny(node)
            position.opened = None
            return False
    position.state = apply_edits(graph, position.state, opened.gates)
    opened.entered = True
    position.opened = opened
    return True
