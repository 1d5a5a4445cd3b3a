"""The `accord` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from accord import AdapterError

USAGE_ERROR = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: The arguments; those of the process by default.

    Returns:
        The exit code: 0 if all is well, 1 if engines differ, 2 if the command cannot run as
        given, 130 if it was interrupted.
    """
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        return _refuse(
            'this command needs rich, which is not installed; run: pip install "accord[cli]"'
        )
    except AdapterError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: argparse.Namespace) -> int:
    # Imported here: `accord --version` and `--help` work without rich.
    if arguments.command == "demo":
        from accord_parity.demo import demo

        return demo(arguments.approve)
    from accord_parity.parity_command import parity

    return parity(arguments.engine, arguments.scenario, as_json=arguments.json)


def _refuse(message: str) -> int:
    print(f"accord: {message}", file=sys.stderr)
    return USAGE_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accord", description="One flow, several engines, the same answer."
    )
    parser.add_argument("--version", action="version", version=f"accord {version('accord')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="run the research flow on every engine, side by side",
        description="Run the research flow on every engine, side by side, ask for its approval "
        "once, and show whether the engines agree. Exit code 0 if they do.",
    )
    answer = demo.add_mutually_exclusive_group()
    answer.add_argument(
        "--yes", dest="approve", action="store_true", default=None, help="approve without asking"
    )
    answer.add_argument(
        "--no", dest="approve", action="store_false", default=None, help="deny without asking"
    )

    parity = commands.add_parser(
        "parity",
        help="run the scenarios on every engine and show where they differ from native",
        description="Run the scenarios on every engine and show where they differ from native. "
        "Exit code 0 if nothing differs but what is recorded, and no record is stale.",
    )
    parity.add_argument(
        "--engine", action="append", metavar="NAME", help="run this engine (repeatable)"
    )
    parity.add_argument(
        "--scenario", action="append", metavar="NAME", help="run this scenario (repeatable)"
    )
    parity.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
