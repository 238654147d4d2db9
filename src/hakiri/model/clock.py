"""The clock port: all code reads the time and waits through it, so that tests can control both (G8)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Reads the time, and waits."""

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        ...

    def steady(self) -> float:
        """Return the seconds of a monotonic clock."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait. Only the retry loop and the scheduler call this."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
