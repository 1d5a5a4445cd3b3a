"""The door for engines: what a compiler needs of the core, and nothing else.

A driver that owns its loop (the native runner, an ADK workflow) iterates `supersteps` and makes
each visit with `run_visit`. An engine that schedules supersteps itself (LangGraph) calls the
same pure step functions: `ready_nodes`, `open_gate`, `apply_edits`, `leave`, and the merge rules
of `FlowGraph.schema`. Neither decides anything about merging, routing, looping, gating or replay.
"""

from accord.approval import (
    AnswerRefused,
    close,
    parse_answer,
    settle,
    spent_approvals,
    store_of,
)
from accord.approval.ask import ask
from accord.flow._gates import apply_edits, gate_request, open_gate, pass_gates
from accord.flow._journal import Answer, Answers, Journal, KeptAnswers
from accord.flow._leg import leg
from accord.flow._loop import VisitDriver, supersteps
from accord.flow._nodes import Failed, Finished, Outcome, Paused, Visit, run_visit
from accord.flow._options import RunOptions, as_graph, start_position
from accord.flow._position import Exit, OpenSuperstep, Position, Progress, Step, Updates
from accord.flow._resume import (
    check_answer,
    check_unspent,
    is_spent,
    spend,
    spend_answer,
    take_answer,
    without_answers,
)
from accord.flow._run import Run
from accord.flow._step import advance, check_steps, leave, leave_first, ready_nodes
from accord.flow.checkpoint import (
    dump_checkpoint,
    load_checkpoint,
    seal_checkpoint,
    seal_pause,
    verify_checkpoint,
)
from accord.flow.graph import NodeSpec, RouteSpec, StateT
from accord.flow.result import result_of
from accord.flow.state import StateSchema
from accord.seal import SealKeys, canonical_text, encode, reachable_models

__all__ = [
    "Answer",
    "AnswerRefused",
    "Answers",
    "Exit",
    "Failed",
    "Finished",
    "Journal",
    "KeptAnswers",
    "NodeSpec",
    "OpenSuperstep",
    "Outcome",
    "Paused",
    "Position",
    "Progress",
    "RouteSpec",
    "Run",
    "RunOptions",
    "SealKeys",
    "StateSchema",
    "StateT",
    "Step",
    "Updates",
    "Visit",
    "VisitDriver",
    "advance",
    "apply_edits",
    "as_graph",
    "ask",
    "canonical_text",
    "check_answer",
    "check_steps",
    "check_unspent",
    "close",
    "dump_checkpoint",
    "encode",
    "gate_request",
    "is_spent",
    "leave",
    "leave_first",
    "leg",
    "load_checkpoint",
    "open_gate",
    "parse_answer",
    "pass_gates",
    "reachable_models",
    "ready_nodes",
    "result_of",
    "run_visit",
    "seal_checkpoint",
    "seal_pause",
    "settle",
    "spend",
    "spend_answer",
    "spent_approvals",
    "start_position",
    "store_of",
    "supersteps",
    "take_answer",
    "verify_checkpoint",
    "without_answers",
]
