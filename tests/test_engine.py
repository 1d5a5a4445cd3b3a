"""Finding an engine by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord
from accord import ConfigError, Executor, FlowRunner, ToolRegistry


def test_the_native_engine_is_the_flow_runner() -> None:
    engine = accord.engine("native", Executor(ToolRegistry()), max_steps=7)

    assert isinstance(engine, FlowRunner)
    assert engine.name == "native"


def test_an_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no engine 'crewai'; installed: adk, langgraph, native"):
        accord.engine("crewai", Executor(ToolRegistry()))


@pytest.mark.parametrize(("engine", "framework"), [("langgraph", "langgraph"), ("adk", "google")])
def test_a_missing_extra_names_the_install_line(engine: str, framework: str) -> None:
    # In a process of its own, where the framework cannot be imported.
    program = f"""
import sys
sys.modules[{framework!r}] = None
import accord
try:
    accord.engine({engine!r}, accord.Executor(accord.ToolRegistry()))
except accord.ConfigError as error:
    print(error)
"""

    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert f'pip install "accord[{engine}]"' in done.stdout
