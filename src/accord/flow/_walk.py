"""Walks along the links of a graph: what can be reached, and where it turns in a circle.

Every walk is linear in nodes and links and does not recurse, so the length of a flow is no limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping

Links = Mapping[str, Collection[str]]


def reachable(start: str, links: Links) -> set[str]:
    """Return `start` and every node to which links lead from it."""
    return _spread(start, links, set())


def reversed_links(links: Links) -> dict[str, list[str]]:
    """Return the predecessors of each node."""
    predecessors: dict[str, list[str]] = {node: [] for node in links}
    for node, targets in links.items():
        for target in targets:
            predecessors[target].append(node)
    return predecessors


def cycles(links: Links) -> Iterator[list[str]]:
    """Yield one cycle of each group of nodes that all lead to each other.

    It is the shortest cycle through the group's first node by name, which begins it.
    """
    links = _without_tails(links)
    predecessors = reversed_links(links)
    settled: set[str] = set()
    # Kosaraju: against the links, the last finished first, a walk stays within its own group.
    for node in reversed(_by_finish(links)):
        if node not in settled:
            group = _spread(node, predecessors, settled)
            settled |= group
            if len(group) > 1 or node in links[node]:
                yield _shortest_cycle(min(group), links, group)


def _spread(start: str, links: Links, barred: Collection[str]) -> set[str]:
    found = {start}
    waiting = [start]
    while waiting:
        for target in links[waiting.pop()]:
            if target not in found and target not in barred:
                found.add(target)
                waiting.append(target)
    return found


def _without_tails(links: Links) -> Links:
    """Drop, again and again, the nodes that nothing leads to; without cycles, none is left."""
    arrivals = dict.fromkeys(links, 0)
    for targets in links.values():
        for target in targets:
            arrivals[target] += 1
    bare = [node for node, count in arrivals.items() if not count]
    while bare:
        node = bare.pop()
        del arrivals[node]
        for target in links[node]:
            arrivals[target] -= 1
            if not arrivals[target]:
                bare.append(target)
    # What is left leads only to what is left: a node goes no sooner than those that lead to it.
    return {node: links[node] for node in arrivals}


def _by_finish(links: Links) -> list[str]:
    finished: list[str] = []
    seen: set[str] = set()
    for root in links:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(links[root]))]
        while path:
            node, targets = path[-1]
            target = next((target for target in targets if target not in seen), None)
            if target is None:
                finished.append(node)
                path.pop()
            else:
                seen.add(target)
                path.append((target, iter(links[target])))
    return finished


def _shortest_cycle(first: str, links: Links, group: Collection[str]) -> list[str]:
    came_from: dict[str, str] = {}
    waiting = deque([first])
    while first not in came_from:
        node = waiting.popleft()
        for target in links[node]:
            if target in group and target not in came_from:
                came_from[target] = node
                waiting.append(target)
    backwards = [came_from[first]]
    while backwards[-1] != first:
        backwards.append(came_from[backwards[-1]])
    return backwards[::-1]
