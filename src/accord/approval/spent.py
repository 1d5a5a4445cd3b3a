"""Which approvals this process has resumed, for ports that keep no store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from accord.errors import ApprovalAlreadyDecided, ConfigError


class SpentApprovals:
    """A bounded memory of resumed approvals; safe to share between threads.

    After an entry is dropped, for age or for room, only a store can still refuse its approval.

    Implements: "Once".

    Attributes:
        keep_seconds: How long an approval is remembered, in seconds.
        capacity: How many are remembered; the oldest make room.
    """

    def __init__(
        self,
        *,
        keep_seconds: float = 24 * 60 * 60,
        capacity: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with nothing remembered.

        Args:
            keep_seconds: How long to remember an approval, in seconds.
            capacity: How many to remember at most; at least 1.
            clock: Gives the time in seconds and never goes back.

        Raises:
            ConfigError: If `capacity` is below 1 or `keep_seconds` is not above 0.
        """
        if capacity < 1 or keep_seconds <= 0:
            raise ConfigError(
                f"SpentApprovals(keep_seconds={keep_seconds}, capacity={capacity}) remembers "
                "nothing; pass keep_seconds above 0 and a capacity of at least 1"
            )
        self.keep_seconds = keep_seconds
        self.capacity = capacity
        self._clock = clock
        self._lock = threading.Lock()
        self._claimed: dict[str, float] = {}

    def claim(self, approval_id: str) -> None:
        """Remember that the approval is used; of several callers exactly one succeeds.

        Raises:
            ApprovalAlreadyDecided: If it has been claimed before.
        """
        with self._lock:
            now = self._clock()
            self._refuse_claimed(approval_id, now)
            if len(self._claimed) >= self.capacity:
                del self._claimed[next(iter(self._claimed))]
            self._claimed[approval_id] = now

    def check(self, approval_id: str) -> None:
        """Refuse what `claim` would refuse; nothing is remembered.

        Raises:
            ApprovalAlreadyDecided: If it has been claimed before.
        """
        with self._lock:
            self._refuse_claimed(approval_id, self._clock())

    def holds(self, approval_id: str) -> bool:
        """Tell whether the approval has been claimed."""
        with self._lock:
            self._drop_old(self._clock())
            return approval_id in self._claimed

    def release(self, approval_id: str) -> None:
        """Forget the approval, because the resume that claimed it was refused."""
        with self._lock:
            self._claimed.pop(approval_id, None)

    def _refuse_claimed(self, approval_id: str, now: float) -> None:
        self._drop_old(now)
        if approval_id in self._claimed:
            raise ApprovalAlreadyDecided(
                f"approval {approval_id!r} has been used to resume its run; nothing ran. "
                "Take the checkpoint that the resumed run returned; if that resume failed, start "
                "the run anew, or enter it again in its thread or session",
                approval_id=approval_id,
            )

    def _drop_old(self, now: float) -> None:
        # Entries stand in the order of their times, so the old ones are the first ones.
        while self._claimed:
            oldest = next(iter(self._claimed))
            if now - self._claimed[oldest] < self.keep_seconds:
                return
            del self._claimed[oldest]


spent_approvals = SpentApprovals()
