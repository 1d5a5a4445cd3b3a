"""Accord: define an agent or workflow graph once and run it the same on every engine."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.approval import (
        AllowApproval,
        ApprovalDecision,
        ApprovalPending,
        ApprovalPort,
        ApprovalRecord,
        ApprovalRequest,
        ApprovalStore,
        CallbackApproval,
        DeferredApproval,
        DenyApproval,
        MemoryApprovalStore,
        SqliteApprovalStore,
    )
    from accord.context import ToolContext, current_context
    from accord.engines import Engine, engine
    from accord.errors import (
        AdapterError,
        ApprovalAlreadyDecided,
        ApprovalDenied,
        ConfigError,
        ErrorInfo,
        FlowDefinitionError,
        FlowError,
        FlowLoopExceeded,
        Problem,
        ToolError,
    )
    from accord.events import Event, EventSink, MemorySink
    from accord.flow.actions import Call, Join, Map, Route, node_model, node_prompt
    from accord.flow.checkpoint import FlowCheckpoint
    from accord.flow.graph import FlowGraph
    from accord.flow.result import FlowResult
    from accord.flow.runner import FlowRunner
    from accord.flow.spec import Flow
    from accord.flow.state import Merge
    from accord.models import (
        CallableModel,
        InstrumentedModel,
        LLMReply,
        LLMRequest,
        Message,
        Model,
    )
    from accord.tools import CallSpec, Executor, Tool, ToolRegistry, ToolResult

# Where each public name is defined. A name is imported when it is first asked for: `import accord`
# then costs next to nothing, and a program pays only for the parts that it uses.
_HOMES = {
    "AdapterError": "accord.errors",
    "AllowApproval": "accord.approval",
    "ApprovalAlreadyDecided": "accord.errors",
    "ApprovalDecision": "accord.approval",
    "ApprovalDenied": "accord.errors",
    "ApprovalPending": "accord.approval",
    "ApprovalPort": "accord.approval",
    "ApprovalRecord": "accord.approval",
    "ApprovalRequest": "accord.approval",
    "ApprovalStore": "accord.approval",
    "Call": "accord.flow.actions",
    "CallSpec": "accord.tools",
    "CallableModel": "accord.models",
    "CallbackApproval": "accord.approval",
    "ConfigError": "accord.errors",
    "DeferredApproval": "accord.approval",
    "DenyApproval": "accord.approval",
    "Engine": "accord.engines",
    "ErrorInfo": "accord.errors",
    "Event": "accord.events",
    "EventSink": "accord.events",
    "Executor": "accord.tools",
    "Flow": "accord.flow.spec",
    "FlowCheckpoint": "accord.flow.checkpoint",
    "FlowDefinitionError": "accord.errors",
    "FlowError": "accord.errors",
    "FlowGraph": "accord.flow.graph",
    "FlowLoopExceeded": "accord.errors",
    "FlowResult": "accord.flow.result",
    "FlowRunner": "accord.flow.runner",
    "InstrumentedModel": "accord.models",
    "Join": "accord.flow.actions",
    "LLMReply": "accord.models",
    "LLMRequest": "accord.models",
    "Map": "accord.flow.actions",
    "MemoryApprovalStore": "accord.approval",
    "MemorySink": "accord.events",
    "Merge": "accord.flow.state",
    "Message": "accord.models",
    "Model": "accord.models",
    "Problem": "accord.errors",
    "Route": "accord.flow.actions",
    "SqliteApprovalStore": "accord.approval",
    "Tool": "accord.tools",
    "ToolContext": "accord.context",
    "ToolError": "accord.errors",
    "ToolRegistry": "accord.tools",
    "ToolResult": "accord.tools",
    "current_context": "accord.context",
    "engine": "accord.engines",
    "node_model": "accord.flow.actions",
    "node_prompt": "accord.flow.actions",
}

__all__ = [
    "AdapterError",
    "AllowApproval",
    "ApprovalAlreadyDecided",
    "ApprovalDecision",
    "ApprovalDenied",
    "ApprovalPending",
    "ApprovalPort",
    "ApprovalRecord",
    "ApprovalRequest",
    "ApprovalStore",
    "Call",
    "CallSpec",
    "CallableModel",
    "CallbackApproval",
    "ConfigError",
    "DeferredApproval",
    "DenyApproval",
    "Engine",
    "ErrorInfo",
    "Event",
    "EventSink",
    "Executor",
    "Flow",
    "FlowCheckpoint",
    "FlowDefinitionError",
    "FlowError",
    "FlowGraph",
    "FlowLoopExceeded",
    "FlowResult",
    "FlowRunner",
    "InstrumentedModel",
    "Join",
    "LLMReply",
    "LLMRequest",
    "Map",
    "MemoryApprovalStore",
    "MemorySink",
    "Merge",
    "Message",
    "Model",
    "Problem",
    "Route",
    "SqliteApprovalStore",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "current_context",
    "engine",
    "node_model",
    "node_prompt",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
