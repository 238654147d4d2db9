"""No two machines' clocks are compared to end a lease, unless they would have to differ by a whole lease (G2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock


@dataclass(frozen=True, slots=True)
class Sighting:
    """A lease as it was last written. A renewal changes `leased_until`, so an equal sighting is an idle holder."""

    name: tuple[str, ...]
    fence: int
    leased_until: datetime
    lease_seconds: float


class Watch:
    """Judges leases by watching them stand still for their term on this process's own clock.

    A lease seen for the first time is dead only if it ran out a whole term ago: then the clocks of its holder and of
    this process would have to differ by more than the term for it to be alive.
    """

    def __init__(self) -> None:
        self._since: dict[Sighting, datetime] = {}
        self._lock = Lock()

    def is_dead(self, lease: Sighting, now: datetime) -> bool:
        """Whether the lease may be ended. A repeat is how the watching is done."""
        term = timedelta(seconds=lease.lease_seconds)
        with self._lock:
            since = self._since.setdefault(lease, now)
        return now - since >= term or now >= lease.leased_until + term

    def forget(self, scope: str, living: set[Sighting]) -> None:
        """Drop what was seen under this scope (the first part of the name) and is there no longer."""
        with self._lock:
            for gone in [seen for seen in self._since if seen.name[0] == scope and seen not in living]:
                del self._since[gone]
