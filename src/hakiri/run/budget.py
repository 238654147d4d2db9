"""Limit how many chunks a run dispatches: by `max_chunks_per_tick`, and by the source's rate budget."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from hakiri.model.clock import Clock
from hakiri.model.source import RateBudget


class Allowance:
    """The rate budget of a pipeline in this process, over a sliding window. Without a budget everything is allowed."""

    def __init__(self, budget: RateBudget | None, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._spent: deque[datetime] = deque()

    def left(self, wanted: int) -> int:
        """Return how many of the wanted requests may be made now."""
        if self._budget is None:
            return wanted
        self._forget()
        return min(wanted, self._budget.requests - len(self._spent))

    def spend(self, requests: int) -> None:
        """Count so many requests as made now."""
        if self._budget is not None:
            self._spent.extend([self._clock.now()] * requests)

    def _forget(self) -> None:
        while self._budget and self._spent and self._clock.now() - self._spent[0] >= self._length:
            self._spent.popleft()

    @property
    def _length(self) -> timedelta:
        return timedelta(seconds=self._budget.seconds if self._budget else 0)


class Quota:
    """How many chunks a run may still dispatch, over all of its passes."""

    def __init__(self, budget: RateBudget | None, tick: int | None, clock: Clock) -> None:
        self._allowance = Allowance(budget, clock)
        self._tick = tick

    @property
    def is_used_up(self) -> bool:
        """Whether the tick allows no more chunks."""
        return self._tick == 0

    def left(self, wanted: int) -> int:
        """Return how many of the wanted chunks may be dispatched now."""
        return self._allowance.left(wanted if self._tick is None else min(wanted, self._tick))

    def spend(self, chunks: int) -> None:
        """Count so many chunks as dispatched now."""
        self._allowance.spend(chunks)
        if self._tick is not None:
            self._tick -= chunks
