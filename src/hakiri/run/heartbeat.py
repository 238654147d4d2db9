"""Renew the leases of chunks while they are read, so that only a dead worker loses one (G2)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkKey, Lease

_BEATS_PER_TERM = 3
_HURRIED_BEATS_PER_TERM = 30
"""The pause while the catalog does not answer, so that leases are renewed as soon as it does."""
_log = logging.getLogger(__name__)


class Heartbeat:
    """Renews the leases it is given, all in one call, a few times in each term."""

    def __init__(self, catalog: Catalog, *, lease_seconds: float) -> None:
        self._catalog = catalog
        self._lease_seconds = lease_seconds
        self._held: dict[ChunkKey, Lease] = {}
        self._lock = Lock()
        self._over = Event()
        self._thread = Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def keep(self, leases: Iterable[Lease]) -> None:
        """Start to renew these leases."""
        with self._lock:
            self._held.update({lease.chunk.key: lease for lease in leases})

    def drop(self, lease: Lease) -> None:
        """Stop renewing this lease. A repeat changes nothing."""
        with self._lock:
            if self._held.get(lease.chunk.key) == lease:
                del self._held[lease.chunk.key]

    def beat(self) -> None:
        """Renew all leases, and drop those that are lost. Raises CatalogError."""
        with self._lock:
            held = tuple(self._held.values())
        if not held:
            return
        kept = {lease.chunk.key for lease in self._catalog.renew(held, lease_seconds=self._lease_seconds)}
        for lease in held:
            if lease.chunk.key not in kept:
                self.drop(lease)

    def _beat(self) -> None:
        beats = _BEATS_PER_TERM
        while not self._over.wait(self._lease_seconds / beats):
            try:
                self.beat()
                beats = _BEATS_PER_TERM
            except Exception:  # noqa: BLE001 a thread that ends would lose every lease; one that is lost is found later
                _log.exception("leases could not be renewed")
                beats = _HURRIED_BEATS_PER_TERM
