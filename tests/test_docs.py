"""The docs and the docstrings that cite them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEADINGS = {
    line.lstrip("# ")
    for page in ("semantics.md", "pause-and-resume.md")
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    if line.startswith("## ")
}
SOURCES = sorted(
    path for root in ("src", "compilers", "parity") for path in (ROOT / root).rglob("*.py")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_heading_that_a_docstring_cites_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cited = {
        heading
        for line in re.findall(r"Implements: (.*)", text)
        for heading in re.findall(r'"([^"]+)"', line)
    }

    assert cited <= HEADINGS
