"""No two machines' clocks are compared to end a lease, unless they would have to differ by a whole lease (G2)."""

from __future__ import annotations

from datetime import timedelta
from threading import Lock
from typing import NamedTuple

from hakiri.model.clock import Clock
from hakiri.model.timestamps import from_text


class Sighting(NamedTuple):
    """A lease as it was last written. A renewal changes `leased_until`, so an equal sighting is an idle holder."""

    scope: str
    table: str
    number: str
    generation: int
    fence: int
    leased_until: str
    lease_ms: int


class LeaseWatch:
    """Judges leases by watching them stand still for their term, in seconds that no setting of a clock changes.

    A lease seen for the first time is dead only if it ran out a whole term ago: then the clocks of its holder and of
    this process would have to differ by more than the term for it to be alive.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[str, dict[Sighting, float]] = {}
        self._lock = Lock()

    def is_dead(self, lease: Sighting) -> bool:
        """Whether the lease may be ended. A repeat is how the watching is done."""
        seen = self._ends.get(lease.scope)
        end = seen.get(lease) if seen else None
        return self._clock.steady() >= (self.see(lease) if end is None else end)

    def forget(self, scope: str, living: set[Sighting]) -> None:
        """Drop what was seen under this scope and is there no longer."""
        with self._lock:
            seen = self._ends.get(scope, {})
            for gone in seen.keys() - living:
                del seen[gone]

    def see(self, lease: Sighting) -> float:
        """Begin to watch a lease, and say when it is dead if nobody renews it. A repeat changes nothing."""
        overdue = max(timedelta(), self._clock.now() - from_text(lease.leased_until)).total_seconds()
        end = self._clock.steady() + lease.lease_ms / 1_000 - overdue
        with self._lock:
            return self._ends.setdefault(lease.scope, {}).setdefault(lease, end)
