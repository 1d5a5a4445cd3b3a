"""A second opinion: what the documents say a flow does, as naively as it can be written.

It shares no code with Accord and does nothing fast: no concurrency, no journal, no resume. A gate
is answered on the spot.
"""

from __future__ import annotations

from typing import Any

from tests.second_opinion.plan import JOB_FAILS, Ending, Plan, PlannedNode

START: dict[str, Any] = {"log": [], "total": 10, "value": "", "hits": [], "jobs": []}


class _Ended(Exception):
    def __init__(self, status: str, node: str | None) -> None:
        self.status = status
        self.node = node


def interpret(plan: Plan) -> Ending:
    """Return how a run of the plan ends."""
    nodes = {node.name: node for node in plan.nodes}
    state = {**START, "jobs": [{"n": n} for n in plan.jobs]}
    waiting = {plan.nodes[0].name}
    visits: dict[str, int] = {}
    loops: dict[str, int] = {}
    steps = 0
    asked: list[tuple[str, int]] = []
    try:
        while waiting:
            if steps == plan.max_steps:
                raise _Ended("FlowLoopExceeded", None)
            ready = sorted(n for n in waiting if nodes[n].kind != "join") or sorted(waiting)
            edits = []
            for name in ready:
                if nodes[name].is_gate:
                    decision = plan.decisions[len(asked) % len(plan.decisions)]
                    asked.append((f"node:planned.{name}", state["total"]))
                    if not decision.approved:
                        return Ending("denied", state, steps, visits, name, tuple(asked))
                    edits.append((name, dict(decision.edits or {})))
            state = _merge(state, edits)
            updates = [(name, update) for name in ready for update in _act(nodes[name], state)]
            after = _merge(state, updates)
            waiting -= set(ready)
            counted: list[str] = []
            for name in ready:
                own = _merge(state, [(node, update) for node, update in updates if node == name])
                targets, loop = _leave(nodes[name], own, visits, loops)
                waiting |= set(targets)
                counted += [name] * loop
            for name in counted:
                loops[name] = loops.get(name, 0) + 1
            for name in ready:
                visits[name] = visits.get(name, 0) + 1
            state, steps = after, steps + 1
    except _Ended as end:
        return Ending(end.status, asked=tuple(asked), node=end.node)
    return Ending("done", state, steps, visits, asked=tuple(asked))


def _act(node: PlannedNode, state: dict[str, Any]) -> list[dict[str, Any]]:
    if node.kind == "call":
        return [{"hits": {"id": state["total"] % 3, "n": state["total"]}}]
    if node.kind in ("map", "each"):
        failed = [job for job in state["jobs"] if job["n"] == JOB_FAILS]
        if failed and not node.skips:
            raise _Ended("FlowError", node.name)
        kept = [job["n"] for job in state["jobs"] if job["n"] != JOB_FAILS]
        if node.kind == "each":
            return [{"log": f"{node.name} {n} {state['total']}"} for n in kept]
        return [{"hits": {"id": n % 3, "n": n}} for n in kept]
    if node.does != "returns":
        raise _Ended("FlowError", node.name)
    return [{"log": f"{node.name} {state['total']}", **(node.writes or {})}]


def _merge(state: dict[str, Any], updates: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Merge field by field, in the order in which the fields were first written."""
    for node, update in updates:
        if set(update) - set(state):
            raise _Ended("FlowError", node)
    merged = dict(state)
    for field in dict.fromkeys(field for _, update in updates for field in update):
        values = [update[field] for _, update in updates if field in update]
        last_writer = [node for node, update in updates if field in update][-1]
        many = [item for v in values for item in (v if isinstance(v, list) else [v])]
        if field == "log":
            merged["log"] = [*state["log"], *many]
        elif field == "hits":
            kept = list(state["hits"])
            for item in many:
                keys = [hit["id"] for hit in kept]
                if item["id"] in keys:
                    kept[keys.index(item["id"])] = item
                else:
                    kept.append(item)
            merged["hits"] = kept
        elif field == "total":
            if not all(isinstance(value, int) for value in values):
                raise _Ended("FlowError", last_writer)
            merged["total"] = state["total"] + sum(values)
        else:
            if any(value != values[0] for value in values):
                raise _Ended("FlowError", last_writer)
            merged[field] = values[0]
    return merged


def _leave(
    node: PlannedNode, own: dict[str, Any], visits: dict[str, int], loops: dict[str, int]
) -> tuple[tuple[str, ...], int]:
    route = node.route
    if route is None:
        return node.targets, 0
    labels = route.picks[own["total"] % len(route.picks)]
    if not labels or any(label not in route.labels for label in labels):
        raise _Ended("FlowError", node.name)
    targets = tuple(route.labels[label] for label in labels)
    if not any(target == node.name or visits.get(target) for target in targets):
        return targets, 0
    if route.max_loops is None or loops.get(node.name, 0) < route.max_loops:
        return targets, 1
    if route.on_exhausted is None:
        raise _Ended("FlowLoopExceeded", node.name)
    return (route.on_exhausted,), 0
