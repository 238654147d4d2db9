"""Clocks that tests set, so that nothing has to wait; and one way to wait for what another process does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from time import monotonic, sleep

PATIENCE = 300.0
"""Seconds after which what another process should do counts as not done, on a busy machine as well."""


class ManualClock:
    """A clock that moves when told, or when slept on; somebody may set it, too."""

    def __init__(self, start: datetime = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)) -> None:
        self._now = start
        self._steady = 0.0
        self._lock = Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def steady(self) -> float:
        with self._lock:
            return self._steady

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self._now += timedelta(seconds=seconds)
            self._steady += seconds

    def set(self, seconds: float) -> None:
        """Set the clock forward or back, without any time passing."""
        with self._lock:
            self._now += timedelta(seconds=seconds)


class SkewedClock:
    """Another machine's clock: the same time, wrong by a constant."""

    def __init__(self, true: ManualClock, seconds: float) -> None:
        self._true = true
        self._skew = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self._true.now() + self._skew

    def steady(self) -> float:
        return self._true.steady()

    def sleep(self, seconds: float) -> None:
        self._true.sleep(seconds)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so; fail where it never is."""
    deadline = monotonic() + PATIENCE
    while not is_so():
        assert monotonic() < deadline, "it did not happen"
        sleep(0.05)
