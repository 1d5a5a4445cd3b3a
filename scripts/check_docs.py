"""Checks that what the pages of the documentation point to exists: files, headings and paths.

Run from anywhere; prints one line per problem and exits 1 if there is any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Where a path in running text may start: `flow/_step.py` is plain enough on a page about the core.
_PATH_BASES = (ROOT, ROOT / "src/accord", ROOT / "compilers", ROOT / "parity")

_FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$", re.MULTILINE)
_EXTERNAL = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_CODE_PATH = re.compile(r"`(?P<path>\.?[\w-]+(?:/[\w.-]+)*/[\w-]+\.(?:py|md|toml|json|yaml))`")


def main() -> int:
    """Return 1 after printing what is wrong, or 0."""
    pages = _pages()
    problems = [problem for page in pages for problem in _problems(page)]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages checked, {len(problems)} problems")
    return 1 if problems else 0


def _pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],  # noqa: S607 - git is wherever the developer has it
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = {ROOT / name for name in listed.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def _problems(page: Path) -> Iterator[str]:
    text = _FENCE.sub("", page.read_text("utf-8"))
    where = page.relative_to(ROOT)
    for link in _LINK.finditer(text):
        target = link["target"]
        if _EXTERNAL.match(target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if not linked.exists():
            yield f"{where}: the link to {target} leads nowhere"
        elif not linked.is_relative_to(ROOT):
            yield f"{where}: the link to {target} leaves the project"
        elif anchor and anchor not in _anchors(linked):
            yield f"{where}: {name or where} has no heading for #{anchor}"
    for code in _CODE_PATH.finditer(text):
        path = code["path"]
        if not any((base / path).exists() for base in (*_PATH_BASES, page.parent)):
            yield f"{where}: there is no file {path}"


@cache
def _headings(page: Path) -> tuple[str, ...]:
    text = _FENCE.sub("", page.read_text("utf-8"))
    return tuple(heading["title"] for heading in _HEADING.finditer(text))


@cache
def _anchors(page: Path) -> frozenset[str]:
    anchors: dict[str, int] = {}
    names: set[str] = set()
    for title in _headings(page):
        plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        seen = anchors.get(plain, 0)
        anchors[plain] = seen + 1
        names.add(f"{plain}-{seen}" if seen else plain)
    return frozenset(names)


if __name__ == "__main__":
    sys.exit(main())
