"""What `import accord` loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord


def test_all_of_accord_loads_no_engine_and_no_command_line_library() -> None:
    program = "import sys; from accord import *; print(*(n.split('.')[0] for n in sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    loaded = set(done.stdout.split())
    assert "pydantic" in loaded
    assert not loaded & {
        "accord_adk",
        "accord_langgraph",
        "accord_parity",
        "google",
        "langchain_core",
        "langgraph",
        "rich",
        "sqlite3",
    }


def test_import_accord_alone_loads_no_part_of_it() -> None:
    program = "import accord, sys; print(*(n for n in sys.modules if n.startswith('accord.')))"

    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout.split() == []


@pytest.mark.parametrize("name", accord.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(accord, name).__module__.startswith("accord.")


def test_a_name_that_accord_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'accord' has no attribute 'nope'"):
        accord.nope  # noqa: B018 - the mistake
