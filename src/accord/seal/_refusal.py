"""How a value that cannot be sealed or restored is reported from inside a nested structure.

The walk carries no path, which keeps it fast; a refusal collects the path on its way out.
"""

from __future__ import annotations


class Refused(Exception):
    """One value is refused; `steps` grows from the inside outwards."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []

    def place(self, path: str) -> str:
        """Where the value stands, below `path`."""
        return path + "".join(reversed(self.steps))


class TooDeep(Exception):
    """The nesting has no end in sight; `steps` also holds the containers on the way."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit
        self.steps: list[tuple[str, object]] = []

    def describe(self, path: str) -> tuple[str, str]:
        """Return the place and the reason: a cycle if a container comes twice, or plain depth."""
        places: dict[int, str] = {}
        place = path
        for step, container in reversed(self.steps):
            if id(container) in places:
                return place, f"it is {places[id(container)]} again; a cycle cannot be sealed"
            places[id(container)] = place
            place += step
        start = path + "".join(step for step, _ in self.steps[:-4:-1])
        return f"{start}...", f"it is nested more than {self.limit} levels deep; store it flatter"
