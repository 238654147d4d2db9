"""Tending a catalog changes nothing that anybody can ask it."""

from __future__ import annotations

from conformance.catalog.plans import plan, registered, seal_for, table_of
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkStatus


def test_tending_changes_no_row_and_work_goes_on(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 4)
    table = table_of(pipeline)
    done, held = catalog.claim(pipeline, node="a", limit=2)
    catalog.complete(done, seal_for(done))
    catalog.finish_landing(catalog.reserve_landing(table, [done.chunk.key], node="a"), version=1)
    before = catalog.chunks(table), catalog.landings(table), catalog.progress(pipeline)
    catalog.tend()
    catalog.tend()
    assert (catalog.chunks(table), catalog.landings(table), catalog.progress(pipeline)) == before
    catalog.complete(held, seal_for(held))
    assert catalog.archive(pipeline) == 1
    assert [state.chunk.key for state in catalog.staged(table)] == [held.chunk.key]
    assert catalog.add_chunks(plan(pipeline, 4)) == 0
    assert len(catalog.chunks(table, [ChunkStatus.PENDING])) == 2
