"""Time is read and waited for in one place, so tests and retries own it (G8)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how to wait."""

    def now(self) -> datetime:
        """The current instant, with time zone UTC."""
        ...

    def steady(self) -> float:
        """Seconds that have passed since some moment; nobody sets them forward or back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after this long. Called by the retry loop and the scheduler alone."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
