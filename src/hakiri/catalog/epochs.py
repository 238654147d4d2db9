"""Reads revocation epochs through a cache, and refuses to answer from one that is too old."""

from __future__ import annotations

from datetime import datetime
from threading import Lock
from typing import Protocol

from hakiri.catalog.errors import CatalogBusy, CatalogUnavailable, EpochsStale
from hakiri.catalog.port import EPOCH_STALENESS_SECONDS
from hakiri.errors import CatalogError
from hakiri.model.clock import Clock
from hakiri.model.ledger import EpochScope

_FRESH = 0.5
"""The fraction of the bound after which a reader refreshes. The rest is time in which a refresh may fail."""


class EpochSource(Protocol):
    """The part of a catalog that `EpochReader` needs."""

    def epochs(self) -> dict[EpochScope, int]:
        """Return the current epoch of every scope."""
        ...


class EpochReader:
    """Answers from memory, and reads the catalog again when its copy is old."""

    def __init__(
        self, source: EpochSource, clock: Clock, *, staleness_seconds: float = EPOCH_STALENESS_SECONDS
    ) -> None:
        self._source = source
        self._clock = clock
        self._bound = staleness_seconds
        self._read_at: datetime | None = None
        self._epochs: dict[EpochScope, int] = {}
        self._lock = Lock()

    def current(self, scope: EpochScope) -> int:
        """Return the scope's epoch, at most `staleness_seconds` old. A repeat may be newer. Raises EpochsStale."""
        with self._lock:
            cause = self._refresh() if self._age() >= self._bound * _FRESH else None
            if (age := self._age()) >= self._bound:
                raise EpochsStale(age_seconds=age, bound_seconds=self._bound) from cause
            return self._epochs.get(scope, 0)

    def _age(self) -> float:
        return float("inf") if self._read_at is None else (self._clock.now() - self._read_at).total_seconds()

    def _refresh(self) -> CatalogError | None:
        asked_at = self._clock.now()
        try:
            self._epochs = self._source.epochs()
        except (CatalogUnavailable, CatalogBusy) as cause:
            return cause
        self._read_at = asked_at  # the answer is at least as new as the moment of the query
        return None
