"""The page of recorded differences, made from the records."""

from __future__ import annotations

from collections.abc import Sequence

from accord_parity.differences.difference import Difference

_HEAD = """\
# Recorded differences

<!-- Made by `python -m accord_parity.differences`; change the records, not this page. -->

Every engine has to do what the native runner does, in every scenario of the parity suite, but for
the differences below. `accord parity` fails on a difference that is not recorded here, and on a
record that no longer shows.

| kind | means |
|---|---|
| `never` | the engine's nature; it will stay |
| `upstream` | a fault of the engine; it goes when they mend it |
| `notyet` | ours; it goes when we get there |
"""


def differences_page(records: Sequence[Difference]) -> str:
    """Return the page in Markdown.

    Args:
        records: The recorded differences, in the order in which to show them.
    """
    groups: dict[tuple[str, str], list[Difference]] = {}
    for record in records:
        groups.setdefault((record.engine, record.scenario), []).append(record)
    return "\n".join([_HEAD, *(_section(group) for group in groups.values())])


def _section(group: Sequence[Difference]) -> str:
    first = group[0]
    rows = "".join(
        f"| `{record.field}` | `{record.kind}` | {record.user_sees} | {record.engine_version} |\n"
        for record in group
    )
    reasons = "".join(f"{reason}\n\n" for reason in dict.fromkeys(r.reason for r in group))
    return (
        f"## {first.scenario} on {first.engine}\n\n{reasons}"
        f"| what differs | kind | what you see | {first.engine} version |\n"
        f"|---|---|---|---|\n{rows}"
    )
