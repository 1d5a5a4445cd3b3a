"""What google-adk costs a node without its `a2a` extra, whose import it retries at every node."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Row, compare

_NODES = 30

# Run in its own process: what counts is whether `a2a` can be imported from the start.
_PROGRAM = """
import asyncio, sys, time, warnings
warnings.simplefilter("ignore")
if {hidden}:
    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "a2a":
                raise ModuleNotFoundError("hidden: " + name, name=name)
    sys.meta_path.insert(0, Hidden())
from google.adk import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import START, Workflow, node
from google.genai import types

def step(node_input):
    return "on"

nodes = [node(step, name="n%d" % number) for number in range({nodes})]
flow = Workflow(name="chain", edges=[(START, *nodes)])
sessions = InMemorySessionService()

async def main():
    runner = Runner(app_name="chain", node=flow, session_service=sessions)
    message = types.Content(role="user", parts=[types.Part(text="go")])
    for counted in (False, True):
        await sessions.create_session(app_name="chain", user_id="u", session_id=str(counted))
        began = time.perf_counter()
        async for _ in runner.run_async(user_id="u", session_id=str(counted), new_message=message):
            pass
        if counted:
            print(time.perf_counter() - began)

asyncio.run(main())
"""


def _seconds(*, hidden: bool) -> float:
    program = _PROGRAM.format(hidden=hidden, nodes=_NODES)
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return float(done.stdout.strip().splitlines()[-1])


def rows() -> list[Row]:
    """Measure a chain in plain ADK with the extra hidden, against the same with it."""
    return [
        compare(
            f"plain ADK chain of {_NODES}, a2a extra missing / installed",
            lambda: _seconds(hidden=True),
            lambda: _seconds(hidden=False),
            bound=None,
            rounds=5,
        )
    ]
