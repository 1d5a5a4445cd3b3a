"""Prints the README's code of one language, so that what a newcomer is told to run is run in CI.

Each block ends in a NUL, so that a shell can take them one by one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> int:
    """Print every block of the language named on the command line, in order."""
    language = sys.argv[1]
    fenced = re.compile(rf"^```{re.escape(language)}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    blocks = fenced.findall(README.read_text("utf-8"))
    if not blocks:
        print(f"README.md has no block of {language}", file=sys.stderr)
        return 1
    print("".join(f"{block}\0" for block in blocks), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
