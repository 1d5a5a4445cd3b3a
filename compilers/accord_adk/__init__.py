"""Accord on Google ADK: a flow as a `Workflow`."""

from accord_adk.compile import compile_flow
from accord_adk.compiled import CompiledFlow
from accord_adk.engine import AdkEngine
from accord_adk.workflow import FlowWorkflow

__all__ = ["AdkEngine", "CompiledFlow", "FlowWorkflow", "compile_flow"]
