"""What `import accord` costs, against pydantic's `BaseModel` alone."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.measure import Row, compare


def _seconds(statement: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603 - our own text
    return time.perf_counter() - began


def rows() -> list[Row]:
    """Measure whole interpreter starts, less the start of an empty interpreter."""
    empty = min(_seconds("pass") for _ in range(5))
    return [
        compare(
            "import accord / from pydantic import BaseModel",
            lambda: _seconds("import accord") - empty,
            lambda: _seconds("from pydantic import BaseModel") - empty,
            bound=1.5,
            rounds=15,
        )
    ]
