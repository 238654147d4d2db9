"""A revocation is honoured by every reader within the bound, and a reader that cannot know refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clocks import ManualClock
from conformance.catalog.subjects import Subject
from hakiri.catalog.epochs import EpochReader
from hakiri.catalog.errors import CatalogUnavailable, EpochsStale
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock
from hakiri.model.ledger import EpochScope

Handles = Callable[[Subject, Clock | None], Catalog]

BOUND = 60.0


class Cut:
    """A catalog behind a cable that can be pulled."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.is_cut = False

    def epochs(self) -> dict[EpochScope, int]:
        if self.is_cut:
            raise CatalogUnavailable(store="the far side", reason="no route")
        return self._catalog.epochs()


def test_every_reader_honours_a_bump_within_the_bound(
    subject: Subject, catalog: Catalog, clock: ManualClock, handles: Handles, pipeline: str
) -> None:
    scope = EpochScope(pipeline, "tenant", "agent")
    source = handles(subject, clock)
    readers = [EpochReader(source, clock, staleness_seconds=BOUND) for _ in range(10)]
    assert {reader.current(scope) for reader in readers} == {0}
    assert catalog.bump_epoch(scope) == 1
    assert catalog.bump_epoch(scope) == 2
    clock.advance(BOUND)
    assert {reader.current(scope) for reader in readers} == {2}
    assert readers[0].current(EpochScope(pipeline)) == 0


def test_a_reader_cut_off_from_the_store_stops_when_the_bound_is_reached(
    catalog: Catalog, clock: ManualClock, pipeline: str
) -> None:
    scope = EpochScope(pipeline)
    cable = Cut(catalog)
    reader = EpochReader(cable, clock, staleness_seconds=BOUND)
    assert reader.current(scope) == 0
    cable.is_cut = True
    clock.advance(BOUND - 1)
    assert reader.current(scope) == 0
    clock.advance(1)
    with pytest.raises(EpochsStale):
        reader.current(scope)
    cable.is_cut = False
    assert reader.current(scope) == 0
