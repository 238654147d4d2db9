"""A reader acts on revocations no older than the bound, or it does not act."""

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
"""The part of the bound after which a reader refreshes: what is left is time to fail in without refusing."""


class EpochSource(Protocol):
    """The one verb of a catalog that a reader needs."""

    def epochs(self) -> dict[EpochScope, int]:
        """Every epoch as it is now."""
        ...


class EpochReader:
    """Answers from memory, and from the catalog when memory is old."""

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
        """The scope's epoch, as it was at most the bound ago. A repeat may be newer. Raises EpochsStale."""
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
        self._read_at = asked_at  # what the answer holds is at least as new as the question
        return None
