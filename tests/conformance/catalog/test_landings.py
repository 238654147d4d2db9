"""Landings of a table are numbered, one after the other, and the cursor follows them (G4, G5)."""

from __future__ import annotations

import pytest

from clocks import ManualClock
from conformance.catalog.plans import plan, registered, seal_for, table_of
from hakiri.catalog.errors import CursorMoved, LandingHeld, LandingLost
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkKey
from hakiri.model.ledger import Landing, LandingStatus, Pipeline

TERM = 60.0


def staged(catalog: Catalog, pipeline: str, count: int) -> list[ChunkKey]:
    registered(catalog, pipeline, count)
    leases = catalog.claim(pipeline, node="a", limit=count)
    for lease in leases:
        catalog.complete(lease, seal_for(lease))
    return [lease.chunk.key for lease in leases]


def test_a_landing_is_reserved_finished_and_followed_by_the_next(catalog: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    first, second = staged(catalog, pipeline, 2)
    landing = catalog.reserve_landing(table, [first], node="a", cursor="10")
    assert (landing.number, landing.chunks, landing.status) == (1, (first,), LandingStatus.RESERVED)
    assert [state.chunk.key for state in catalog.staged(table)] == [second]
    finished = catalog.finish_landing(landing, version=7)
    assert catalog.finish_landing(landing, version=7) == finished
    with pytest.raises(LandingLost):
        catalog.finish_landing(landing, version=8)
    with pytest.raises(LandingLost):
        catalog.reserve_landing(table, [first], node="a")
    empty = catalog.reserve_landing(table, [second], node="a")
    for _ in range(2):
        assert catalog.finish_landing(empty, version=None).status is LandingStatus.LANDED
    assert [(each.number, each.version) for each in catalog.landings(table)] == [(1, 7), (2, None)]
    assert not catalog.staged(table)


def test_an_open_landing_is_left_to_its_holder_and_handed_over_as_it_is(
    catalog: Catalog, other: Catalog, clock: ManualClock, pipeline: str
) -> None:
    table = table_of(pipeline)
    first, second = staged(catalog, pipeline, 2)
    landing = catalog.reserve_landing(table, [first], node="a", cursor="10", lease_seconds=TERM)
    with pytest.raises(LandingHeld):
        other.reserve_landing(table, [second], node="b", cursor="20")
    clock.advance(TERM)
    taken = other.reserve_landing(table, [second], node="b", cursor="20")
    assert (taken.number, taken.chunks, taken.cursor) == (1, (first,), "10")
    with pytest.raises(LandingLost):
        catalog.abandon_landing(landing, "too late")
    other.finish_landing(taken, version=1)


def test_a_holder_that_is_known_dead_is_not_waited_for(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    (key,) = staged(catalog, pipeline, 1)
    landing = catalog.reserve_landing(table, [key], node="a", cursor="10")
    with pytest.raises(LandingHeld) as held:
        other.reserve_landing(table, [], node="b", dead_holder="a#another-request")
    taken = other.reserve_landing(table, [], node="b", dead_holder=held.value.holder)
    assert (taken.number, taken.chunks, taken.fence) == (landing.number, (key,), landing.fence + 1)
    with pytest.raises(LandingHeld):
        catalog.reserve_landing(table, [], node="c", dead_holder=held.value.holder)


def test_a_take_over_that_comes_too_late_begins_no_landing(catalog: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    (key,) = staged(catalog, pipeline, 1)
    catalog.finish_landing(catalog.reserve_landing(table, [key], node="a"), version=0)
    with pytest.raises(LandingLost):
        catalog.reserve_landing(table, [], node="b")
    assert [landing.number for landing in catalog.landings(table)] == [1]


def test_an_abandoned_landing_gives_its_chunks_back_and_spends_its_number(catalog: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    (key,) = staged(catalog, pipeline, 1)
    landing = catalog.reserve_landing(table, [key], node="a")
    catalog.abandon_landing(landing, "a validator said no")
    catalog.abandon_landing(landing, "a validator said no")
    assert [state.chunk.key for state in catalog.staged(table)] == [key]
    assert catalog.reserve_landing(table, [key], node="a").number == 2


def test_a_restored_landing_keeps_its_chunks_from_being_read_again(catalog: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    chunks = plan(pipeline, 2)
    landed = Landing(table, 5, (chunks[0].key,), LandingStatus.LANDED, version=9, cursor="10")
    catalog.restore_landing(landed)
    catalog.restore_landing(landed)
    catalog.register(Pipeline(pipeline))
    assert catalog.add_chunks(chunks) == 1
    (lease,) = catalog.claim(pipeline, node="a", limit=2)
    assert lease.chunk == chunks[1]
    catalog.complete(lease, seal_for(lease))
    assert catalog.reserve_landing(table, [lease.chunk.key], node="a").number == 6


def test_a_cursor_follows_landings_forward_only(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    assert catalog.cursor(table) is None
    catalog.advance_cursor(table, '{"id": 10}', landing=1)
    moved = catalog.advance_cursor(table, '{"id": 20}', landing=2)
    assert other.advance_cursor(table, '{"id": 20}', landing=2) == moved
    for value, landing in (('{"id": 10}', 1), ('{"id": 30}', 2)):
        with pytest.raises(CursorMoved):
            other.advance_cursor(table, value, landing=landing)
    assert other.cursor(table) == moved
