"""`python -m benchmarks [--only PART]... [--json FILE]`: measure and print every ratio."""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

from benchmarks import adk_extra, imports, native

PARTS = {"imports": imports.rows, "native": native.rows, "adk_extra": adk_extra.rows}


def main() -> None:
    """Run the parts asked for, print a line a ratio, and write the file if one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="a part to run")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args()
    rows = [row for name in options.only or PARTS for row in PARTS[name]()]
    for row in rows:
        bound = "" if row.bound is None else f"  bound {row.bound:g}"
        verdict = "" if row.holds else "  MISSED"
        low, high = row.spread
        print(f"{row.ratio:7.2f}x  [{low:.2f} to {high:.2f}]{bound}{verdict}  {row.name}")
    if options.json is not None:
        machine = f"{platform.python_implementation()} {platform.python_version()}, "
        machine += f"{platform.machine()}"
        document = {
            "machine": machine,
            "rows": [
                {
                    "name": row.name,
                    "ratio": row.ratio,
                    "bound": row.bound,
                    "holds": row.holds,
                    "spread": list(row.spread),
                }
                for row in rows
            ],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
