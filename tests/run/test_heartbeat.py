"""A live worker keeps its leases, and learns which it has lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from clocks import ManualClock
from conformance.catalog.plans import registered, seal_for
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.run.heartbeat import Heartbeat

TERM = 60.0


@pytest.fixture
def catalog(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteCatalog]:
    with closing(SqliteCatalog(tmp_path / "catalog.sqlite", clock=clock)) as catalog:
        yield catalog


def test_a_lease_outlives_its_term_for_as_long_as_it_is_kept(catalog: SqliteCatalog, clock: ManualClock) -> None:
    registered(catalog, "p", 2)
    kept, left = catalog.claim("p", node="a", limit=2, lease_seconds=TERM)
    heartbeat = Heartbeat(catalog, lease_seconds=TERM)
    heartbeat.keep([kept, left])
    heartbeat.drop(left)
    taken = []
    for _ in range(3):
        clock.advance(TERM / 2)
        heartbeat.beat()
        taken += catalog.claim("p", node="b", limit=2, lease_seconds=TERM * 9)
    assert [lease.chunk.key for lease in taken] == [left.chunk.key]
    catalog.complete(kept, seal_for(kept))


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_the_thread_beats_by_itself_and_ends_with_the_context(tmp_path: Path) -> None:
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite")
    registered(catalog, "p", 1)
    (lease,) = catalog.claim("p", node="a", lease_seconds=0.3)
    deadline = monotonic() + 10
    with Heartbeat(catalog, lease_seconds=0.3) as heartbeat:
        heartbeat.keep([lease])
        while catalog.leases("p")[0].leased_until == lease.leased_until:
            assert monotonic() < deadline, "nobody has renewed the lease"
        assert "heartbeat" in threads()
    assert "heartbeat" not in threads()
    catalog.complete(lease, seal_for(lease))
    catalog.close()
