"""A paused run as sealed data: made at a pause, checked before anything of it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from accord.approval import ApprovalDecision, ApprovalRequest, close
from accord.errors import FlowError
from accord.flow._journal import Answer, Journal
from accord.flow._position import OpenSuperstep, Position
from accord.seal import JsonValue, decode, encode, pack, reachable_models, tree_text, unpack

if TYPE_CHECKING:
    from accord.flow._run import Run
    from accord.flow.graph import FlowGraph
    from accord.seal import SealKeys
    from accord.tools import ToolRegistry

_PURPOSE = "checkpoint"


@dataclass(frozen=True, slots=True)
class FlowCheckpoint:
    """Where a paused run continues; every field is covered by the seal.

    Implements: "Checkpoints".

    Attributes:
        flow: The flow's name.
        version: The flow's version.
        digest: The digest of the graph that paused.
        run_id: The run.
        position: Where it stands.
        engine: Where an engine keeps its own copy, such as a thread or a session.
        mac: The seal.
    """

    flow: str
    version: str
    digest: str
    run_id: str
    position: Position = field(repr=False)
    engine: Mapping[str, str]
    mac: str = field(repr=False)

    @property
    def state(self) -> BaseModel:
        """The state that the next superstep reads."""
        return self.position.state

    @property
    def frontier(self) -> tuple[str, ...]:
        """The nodes that wait to run, sorted."""
        return tuple(sorted(self.position.frontier))

    @property
    def pending(self) -> tuple[ApprovalRequest, ...]:
        """The open approvals; a resume answers the first one."""
        return tuple(request for _, request in self.position.pending)


def seal_checkpoint(
    run: Run, position: Position, keys: SealKeys, engine: Mapping[str, str] | None = None
) -> FlowCheckpoint:
    """Seal where a run stands.

    Implements: "Checkpoints".

    Args:
        run: The run.
        position: Where it stands; copied.
        keys: The first of them signs.
        engine: Where the engine keeps its own copy, if it does.

    Raises:
        FlowError: With code `state-not-sealable` if a part cannot be sealed; the message names it.
    """
    graph, kept, hint = run.graph, position.detached(), dict(engine or {})
    tree = _tree(graph.name, graph.version, graph.digest, run.run_id, kept, hint)
    mac = keys.sign(_PURPOSE, tree_text(tree))
    return FlowCheckpoint(graph.name, graph.version, graph.digest, run.run_id, kept, hint, mac)


async def seal_pause(
    run: Run, position: Position, keys: SealKeys, engine: Mapping[str, str] | None = None
) -> FlowCheckpoint:
    """Seal a pause, or close what it asked when it cannot be sealed.

    Implements: "Sealable state".

    Raises:
        FlowError: With code `state-not-sealable`; every pending record is denied and consumed.
    """
    try:
        return seal_checkpoint(run, position, keys, engine)
    except FlowError:
        for _, request in position.pending:
            await close(request, "the pause could not be sealed", *run.stores)
        raise


def verify_checkpoint(graph: FlowGraph, checkpoint: FlowCheckpoint, keys: SealKeys) -> None:
    """Refuse a checkpoint that was changed, or that is another key's or another graph's.

    Implements: "Checkpoints".

    Raises:
        FlowError: With code `checkpoint-tampered` or `graph-changed`; nothing has run.
    """
    if _sealed_tree(checkpoint, keys) is None:
        raise FlowError(
            "the checkpoint was changed, or sealed with another key; nothing ran. Resume what "
            "the pause returned, under the same checkpoint_key",
            flow=graph.name,
            code="checkpoint-tampered",
        )
    _check_graph(graph, checkpoint.digest)


def dump_checkpoint(checkpoint: FlowCheckpoint, keys: SealKeys) -> str:
    """Return a checkpoint as JSON text for any storage.

    Implements: "Storing checkpoints".

    Raises:
        FlowError: With code `checkpoint-tampered` if the seal does not hold.
    """
    tree = _sealed_tree(checkpoint, keys)
    if tree is None:
        raise FlowError(
            "the checkpoint was changed, or sealed with another key; it was not dumped",
            flow=checkpoint.flow,
            code="checkpoint-tampered",
        )
    return pack(_PURPOSE, tree, keys)


def load_checkpoint(
    graph: FlowGraph, text: str, keys: SealKeys, tools: ToolRegistry
) -> FlowCheckpoint:
    """Read what `dump_checkpoint` wrote; seal and graph are checked before anything is built.

    Implements: "Storing checkpoints".

    Args:
        graph: The graph that paused.
        text: The dumped checkpoint.
        keys: Any of them may have signed.
        tools: Their return annotations name the classes that journaled results may hold.

    Raises:
        FlowError: With code `checkpoint-tampered`, `graph-changed`, `checkpoint-unknown-class`
            or `checkpoint-malformed`.
    """
    tree = unpack(_PURPOSE, text, keys)
    if not isinstance(tree, dict) or not isinstance(digest := tree.get("digest"), str):
        raise FlowError("the checkpoint has no graph digest", code="checkpoint-malformed")
    _check_graph(graph, digest)
    classes = {
        **reachable_models(graph.state, *(tool.returns for tool in tools)),
        **reachable_models(ApprovalRequest, ApprovalDecision),
    }
    # The seal vouches for the shape from here on: only this module makes what it signs.
    data: Any = decode(tree, classes, "checkpoint")
    position = _position_from(data["position"])
    return FlowCheckpoint(
        data["flow"],
        data["version"],
        data["digest"],
        data["run_id"],
        position,
        data["engine"],
        keys.sign(_PURPOSE, tree_text(tree)),
    )


def _check_graph(graph: FlowGraph, digest: str) -> None:
    if digest != graph.digest:
        raise FlowError(
            f"the checkpoint belongs to another graph than this {graph.name!r}; nothing ran and "
            "the approval is not spent. Resume it with the flow that paused",
            flow=graph.name,
            code="graph-changed",
        )


def _sealed_tree(checkpoint: FlowCheckpoint, keys: SealKeys) -> JsonValue:
    """Return a checkpoint's tree, or None where the seal does not hold."""
    if not isinstance(checkpoint, FlowCheckpoint):
        raise FlowError(
            f"a {type(checkpoint).__name__} is no FlowCheckpoint; nothing ran. Pass "
            "result.checkpoint of a paused run, or what load_checkpoint makes of a dumped one",
            code="checkpoint-tampered",
        )
    try:
        tree = _checkpoint_tree(checkpoint)
        text = tree_text(tree)
    except Exception:  # noqa: BLE001 - whatever stands there now, it was not sealed
        return None
    return tree if keys.verify(_PURPOSE, text, checkpoint.mac) else None


def _checkpoint_tree(checkpoint: FlowCheckpoint) -> JsonValue:
    return _tree(
        checkpoint.flow,
        checkpoint.version,
        checkpoint.digest,
        checkpoint.run_id,
        checkpoint.position,
        checkpoint.engine,
    )


def _tree(
    flow: str,
    version: str,
    digest: str,
    run_id: str,
    position: Position,
    engine: Mapping[str, str],
) -> JsonValue:
    return {
        "flow": flow,
        "version": version,
        "digest": digest,
        "run_id": run_id,
        "engine": encode(dict(engine), "engine"),
        "position": _position_tree(position),
    }


def _position_tree(position: Position) -> JsonValue:
    opened = position.opened
    return {
        "state": encode(position.state, "state"),
        "frontier": encode(sorted(position.frontier)),
        "visits": encode(position.visits),
        "loops": encode(position.loops),
        "steps": position.steps,
        "status": position.status,
        "denied_at": position.denied_at,
        "pending": encode([[node, request] for node, request in position.pending], "pending"),
        "opened": None if opened is None else _opened_tree(opened),
    }


def _opened_tree(opened: OpenSuperstep) -> JsonValue:
    return {
        "gates": encode(opened.gates, "gates"),
        "entered": opened.entered,
        "updates": {
            node: encode([dict(update) for update in updates], f"updates of {node}")
            for node, updates in opened.updates.items()
        },
        "journals": {
            node: encode(journal.to_data(), f"journal of {node}")
            for node, journal in opened.journals.items()
        },
        "answers": {
            node: encode(
                [[answer.request, answer.decision] for answer in answers], f"answers of {node}"
            )
            for node, answers in opened.answers.items()
        },
    }


def _position_from(data: Mapping[str, Any]) -> Position:
    opened = data["opened"]
    return Position(
        state=data["state"],
        frontier=frozenset(data["frontier"]),
        visits=data["visits"],
        loops=data["loops"],
        steps=data["steps"],
        status=data["status"],
        denied_at=data["denied_at"],
        pending=tuple((node, request) for node, request in data["pending"]),
        opened=None
        if opened is None
        else OpenSuperstep(
            gates=opened["gates"],
            entered=opened["entered"],
            updates={node: tuple(updates) for node, updates in opened["updates"].items()},
            journals={
                node: Journal.from_data(journal) for node, journal in opened["journals"].items()
            },
            answers={
                node: [Answer(request, decision) for request, decision in answers]
                for node, answers in opened["answers"].items()
            },
        ),
    )
