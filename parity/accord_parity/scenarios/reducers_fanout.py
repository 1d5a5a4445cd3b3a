"""All four merge rules at once, over branches of unequal length that meet in a join."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from accord import Flow, Join, Merge
from accord_parity.scenario import Scenario


class Item(BaseModel):
    """Something that two branches write under one key."""

    key: str
    by: str


class FanState(BaseModel):
    """One field for each merge rule; the defaults count."""

    label: str = "unset"
    log: Annotated[list[str], Merge.append] = Field(default_factory=lambda: ["default"])
    total: Annotated[int, Merge.sum] = 10
    items: Annotated[list[Item], Merge.keyed(by="key")] = Field(
        default_factory=lambda: [Item(key="first", by="default")]
    )
    seen_by_join: int = 0


def start(state: FanState) -> dict[str, Any]:
    """Write one value under every rule."""
    return {"label": "started", "log": "start", "total": 5}


def branch_c(state: FanState) -> dict[str, Any]:
    """Write what `branch_b` writes too; by name order this one comes last and wins the key."""
    items = [Item(key="shared", by="c"), Item(key="only_c", by="c")]
    return {"label": "same", "log": ["c", f"c saw {state.total}"], "total": 100, "items": items}


def branch_b(state: FanState) -> dict[str, Any]:
    """Write the label that `branch_c` writes, and the shared key."""
    items = [Item(key="shared", by="b"), Item(key="first", by="b")]
    return {"label": "same", "log": "b", "total": 20, "items": items}


def branch_a(state: FanState) -> dict[str, Any]:
    """Begin the branch that is longer than the others."""
    return {"log": "a", "total": 1}


def longer(state: FanState) -> dict[str, Any]:
    """Go on while the other branches wait at the join."""
    return {"log": f"longer saw {state.total}", "items": Item(key="late", by="longer")}


def longest(state: FanState) -> dict[str, Any]:
    """End the longest branch."""
    return {"label": "longest", "log": "longest"}


def gather(state: FanState) -> dict[str, Any]:
    """See the writes of every branch."""
    return {"seen_by_join": len(state.log), "log": "gather"}


def reducers_fanout() -> Flow[FanState]:
    """Return the flow; the branches are declared against their order by name."""
    return (
        Flow("reducers", state=FanState)
        .node("start", start)
        .node("branch_c", branch_c)
        .node("branch_b", branch_b)
        .node("branch_a", branch_a)
        .node("longer", longer)
        .node("longest", longest)
        .node("gather", Join(["branch_b", "branch_c", "longest"], gather))
        .edge("start", ["branch_c", "branch_b", "branch_a"])
        .edge("branch_a", "longer")
        .edge("longer", "longest")
        .edge("longest", "gather")
        .edge("branch_b", "gather")
        .edge("branch_c", "gather")
        .end("gather")
    )


REDUCERS_FANOUT = Scenario(
    name="reducers_fanout",
    summary="all four merge rules, update order, unequal branches into a join",
    flow=reducers_fanout,
    input={},
)
