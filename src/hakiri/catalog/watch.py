"""No two machines' clocks are compared to end a lease, unless they would have to differ by a whole lease (G2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from hakiri.model.instants import from_text


class Sighting(NamedTuple):
    """A lease as it was last written. A renewal changes `leased_until`, so an equal sighting is an idle holder."""

    scope: str
    table: str
    number: str
    generation: int
    fence: int
    leased_until: str
    lease_ms: int


class Watch:
    """Judges leases by watching them stand still for their term on this process's own clock.

    A lease seen for the first time is dead only if it ran out a whole term ago: then the clocks of its holder and of
    this process would have to differ by more than the term for it to be alive.
    """

    def __init__(self) -> None:
        self._ends: dict[str, dict[Sighting, datetime]] = {}
        self._lock = Lock()

    def is_dead(self, lease: Sighting, now: datetime) -> bool:
        """Whether the lease may be ended. A repeat is how the watching is done."""
        seen = self._ends.get(lease.scope)
        end = seen.get(lease) if seen else None
        return now >= (end or self._first_seen(lease, now))

    def forget(self, scope: str, living: set[Sighting]) -> None:
        """Drop what was seen under this scope and is there no longer."""
        with self._lock:
            seen = self._ends.get(scope, {})
            for gone in seen.keys() - living:
                del seen[gone]

    def _first_seen(self, lease: Sighting, now: datetime) -> datetime:
        """When the lease is dead, if nobody renews it."""
        end = min(now, from_text(lease.leased_until)) + timedelta(milliseconds=lease.lease_ms)
        with self._lock:
            return self._ends.setdefault(lease.scope, {}).setdefault(lease, end)
