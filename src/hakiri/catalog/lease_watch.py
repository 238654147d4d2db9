"""Decides whether a lease is dead without trusting that the clocks of two machines agree (G2)."""

from __future__ import annotations

from datetime import timedelta
from threading import Lock
from typing import NamedTuple

from hakiri.model.clock import Clock
from hakiri.model.timestamps import from_text


class Sighting(NamedTuple):
    """A lease as last written. A renewal changes `leased_until`, so an equal sighting means it was not renewed."""

    scope: str
    table: str
    number: str
    generation: int
    fence: int
    leased_until: str
    lease_ms: int


class LeaseWatch:
    """Treats a lease as dead once it was not renewed for its whole term, measured on a monotonic clock.

    A lease seen for the first time is dead only if it expired a whole term ago: it could still be alive only if the
    clocks of its holder and of this process differed by more than that term.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[str, dict[Sighting, float]] = {}
        self._lock = Lock()

    def is_dead(self, lease: Sighting) -> bool:
        """Return whether the lease may be ended. Call it repeatedly: each call compares with earlier ones."""
        seen = self._ends.get(lease.scope)
        end = seen.get(lease) if seen else None
        return self._clock.steady() >= (self.see(lease) if end is None else end)

    def forget(self, scope: str, living: set[Sighting]) -> None:
        """Forget the sightings of this scope that are not in `living`."""
        with self._lock:
            seen = self._ends.get(scope, {})
            for gone in seen.keys() - living:
                del seen[gone]

    def see(self, lease: Sighting) -> float:
        """Start watching a lease, and return when it is dead unless renewed. A repeat changes nothing."""
        overdue = max(timedelta(), self._clock.now() - from_text(lease.leased_until)).total_seconds()
        end = self._clock.steady() + lease.lease_ms / 1_000 - overdue
        with self._lock:
            return self._ends.setdefault(lease.scope, {}).setdefault(lease, end)
