"""A source is never asked more often than its budget allows, in any stretch of time of the budget's length."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from hakiri.model.clock import Clock
from hakiri.model.source import RateBudget


class Allowance:
    """What is left of a pipeline's budget in this process. Without a budget everything is allowed."""

    def __init__(self, budget: RateBudget | None, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._spent: deque[datetime] = deque()

    def left(self, wanted: int) -> int:
        """How many of the wanted requests may be made now."""
        if self._budget is None:
            return wanted
        self._forget()
        return min(wanted, self._budget.requests - len(self._spent))

    def spend(self, requests: int) -> None:
        """Note that so many requests are being made now."""
        if self._budget is not None:
            self._spent.extend([self._clock.now()] * requests)

    def _forget(self) -> None:
        while self._budget and self._spent and self._clock.now() - self._spent[0] >= self._length:
            self._spent.popleft()

    @property
    def _length(self) -> timedelta:
        return timedelta(seconds=self._budget.seconds if self._budget else 0)
