"""What this compiler relies on and ADK does not document, each with the reason.

`tests/adk/test_undocumented.py` notices when one of them changes.

- The function call of a `RequestInput` is named `adk_request_input`; a function response has to
  repeat the name, and the constant is in a private module.
- `Context.run_node` works in a task of our own. Its documentation asks to await it directly,
  because nobody looks after a task; ours belong to a task group, and `run_child` brings what a
  visit gives or raises back to it.
- The input of a dynamic node arrives as the object that was passed, so that state, journal and
  outcome need no form as JSON.
- A node's run id that the session has seen gives the old output and runs nothing. `run_id` never
  repeats one, and `run_child` notices a child that did not run.
- `Runner.run_async` runs the root node in a task that inherits the caller's context variables.
  `accord_adk._driven` hands the live position over that way.
- A root `Workflow` is entered again for every function response and for every call with its
  invocation id, whether the app is resumable or not. Any other node could be skipped.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accord import FlowError
from accord.kernel import Outcome, Visit

if TYPE_CHECKING:
    from google.adk import Context
    from google.adk.workflow import BaseNode

REQUEST_INPUT: Final = "adk_request_input"


@dataclass(slots=True)
class VisitRun:
    """A visit on its way to its child run, and its outcome on the way back.

    Attributes:
        visit: What to run.
        outcome: What came of it; None until the child has run.
    """

    visit: Visit
    outcome: Outcome | None = None


def new_epoch() -> str:
    """Return a word that no earlier entry of the invocation had, for the run ids of this one."""
    return secrets.token_hex(4)


def run_id(kind: str, number: int, epoch: str) -> str:
    """Return a run id that the invocation has not seen; ADK wants more than digits in it."""
    return f"{kind}{number}-{epoch}"


async def run_child(ctx: Context, node: BaseNode, visit: Visit, epoch: str) -> Outcome:
    """Make a visit as a child run of the workflow.

    Args:
        ctx: The workflow's context.
        node: The node that the visit is drawn as.
        visit: What to run.
        epoch: What tells this entry of the invocation from others.

    Returns:
        What came of the visit.

    Raises:
        FlowError: If ADK did not run the child.
    """
    given = VisitRun(visit)
    await ctx.run_node(node, given, run_id=run_id("v", visit.number, epoch), use_sub_branch=True)
    if given.outcome is None:
        raise FlowError(
            f"ADK did not run node {visit.node.name!r}, visit {visit.number}; run it with the "
            "minor version of google-adk that Accord is tested with",
            flow=visit.run.graph.name,
            node=visit.node.name,
        )
    return given.outcome
