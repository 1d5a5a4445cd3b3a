"""Interleaved rounds of two sides, and their ratio with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """One measured ratio.

    Attributes:
        name: What was compared with what.
        ratio: The median over the rounds.
        bound: What the ratio may be at most; None where it is only shown.
        spread: The lowest and the highest round.
    """

    name: str
    ratio: float
    bound: float | None
    spread: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the bound is kept; missed only when the whole spread lies beyond it."""
        return self.bound is None or self.spread[0] <= self.bound


def compare(
    name: str,
    subject: Callable[[], float],
    reference: Callable[[], float],
    *,
    bound: float | None,
    rounds: int = ROUNDS,
) -> Row:
    """Measure both sides in turn and return the ratio of subject to reference.

    Args:
        name: What is compared with what.
        subject: Runs the subject once and returns its seconds.
        reference: Runs the reference once and returns its seconds.
        bound: What the ratio may be at most; None where it is only shown.
        rounds: How often both sides run; a first round of each is not counted.
    """
    subject(), reference()
    ratios = [subject() / reference() for _ in range(rounds)]
    return Row(name, statistics.median(ratios), bound, (min(ratios), max(ratios)))
