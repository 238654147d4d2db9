"""Hook marks, owners and created views are recorded beside landings, and no process undoes what another recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.catalog.plans import table_of
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Chunk, ChunkKey, Gone, Seal, TableKey
from hakiri.model.ledger import HookMark, Pipeline
from hakiri.model.view import MadeView, View


def test_a_mark_of_a_hook_moves_forward_only(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    assert catalog.hook_marks(table) == ()
    for mark in (HookMark("post_hook", 2, owed_from=1), HookMark("post_hook[0]", 1), HookMark("post_hook[0]", 2)):
        catalog.mark_hook(table, mark)
    for late in (HookMark("post_hook", 1, owed_from=1), HookMark("post_hook[0]", 2)):
        other.mark_hook(table, late)
    assert other.hook_marks(table) == (HookMark("post_hook", 2, owed_from=1), HookMark("post_hook[0]", 2))
    assert (other.hook_marks(TableKey(pipeline, "another")), other.cursor(table)) == ((), None)


def test_a_table_is_handed_over_by_the_owner_that_was_read(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    table = table_of(pipeline)
    assert catalog.owner(table) is None
    for _ in range(2):
        assert catalog.set_owner(table, "first", before=None)
    assert not other.set_owner(table, "second", before=None)
    assert other.set_owner(table, "second", before="first")
    assert (catalog.owner(table), catalog.owner(TableKey(pipeline, "another"))) == ("second", None)


@pytest.mark.commits
def test_views_are_recorded_as_a_whole_by_whoever_has_read_them(catalog: Catalog, other: Catalog) -> None:
    before = catalog.views()
    low = MadeView(View("low", "SELECT 'é' \n FROM orders", ("orders", "low")), "main.low", "run-1")
    high = MadeView(View("high", "SELECT 1", ()), is_whole=False)
    for _ in range(2):
        assert catalog.record_views([low, high], before=before)
    assert not other.record_views([high], before=before)
    assert other.views() == (high, low)
    assert other.record_views([replace(low, is_whole=False)], before=[low, high])
    assert catalog.views() == (replace(low, is_whole=False),)
    assert catalog.record_views([], before=catalog.views())
    assert other.views() == ()


def test_the_round_of_a_chunk_and_what_was_gone_are_kept_through_the_archive(
    catalog: Catalog, other: Catalog, pipeline: str
) -> None:
    table = table_of(pipeline)
    key = ChunkKey(pipeline, table.table, "any name")
    catalog.register(Pipeline(pipeline, parallelism=2))
    catalog.add_chunks([Chunk(key, 0, round=7, is_refresh=True), Chunk(replace(key, chunk="other"), 1, round=7)])
    seals = [Seal("a", 0, 0, "print", gone=Gone.REPLACED), Seal("b", 1, 10, "print", token="gone")]
    leases = catalog.claim(pipeline, node="a", limit=2)
    for lease, seal in zip(leases, seals, strict=True):
        catalog.complete(lease, seal)
    landing = catalog.reserve_landing(table, [lease.chunk.key for lease in leases], node="a")
    catalog.finish_landing(landing, version=0)
    catalog.archive(pipeline)
    states = other.chunks(table)
    assert [state.seal for state in states] == seals
    assert [(state.chunk.round, state.chunk.is_refresh) for state in states] == [(7, True), (7, False)]
