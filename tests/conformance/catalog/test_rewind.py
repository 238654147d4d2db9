"""Done is done, except under a new generation; and what is finished keeps out of the way."""

from __future__ import annotations

import pytest

from conformance.catalog.plans import plan, registered, seal_for, table_of
from hakiri.catalog.errors import BackwardMove, LeaseLost
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkStatus, Window
from hakiri.model.errors import WindowMismatch
from hakiri.model.ledger import Phase


def test_a_rewind_puts_a_windows_chunks_back_under_a_new_generation(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 4)
    table = table_of(pipeline)
    done, running, _ = catalog.claim(pipeline, node="a", limit=3)
    catalog.complete(done, seal_for(done))
    reborn = catalog.rewind(table, Window(5, 15), "vendor-side correction")
    assert [(key.chunk, key.generation) for key in reborn] == [
        (done.chunk.key.chunk, 2),
        (running.chunk.key.chunk, 2),
    ]
    assert catalog.rewind(table, Window(5, 15), "again") == ()
    with pytest.raises(LeaseLost):
        catalog.complete(running, seal_for(running))
    old = catalog.chunks(table, [ChunkStatus.SUPERSEDED])
    assert [(state.chunk.key, state.reason) for state in old] == [
        (done.chunk.key, "vendor-side correction"),
        (running.chunk.key, "vendor-side correction"),
    ]
    (again,) = catalog.claim(pipeline, node="b")
    assert again.chunk.key == reborn[0]
    assert again.attempt > done.attempt
    assert again.fence > done.fence
    (progress,) = catalog.progress(pipeline)
    assert (progress.pending, progress.running, progress.done, progress.total) == (2, 2, 0, 4)


def test_a_rewind_of_named_chunks_leaves_their_neighbours_alone(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 3)
    leases = catalog.claim(pipeline, node="a", limit=3)
    for lease in leases:
        catalog.complete(lease, seal_for(lease))
    (reborn,) = catalog.rewind(table_of(pipeline), Window(), "a damaged file", only=[leases[1].chunk.key])
    assert (reborn.chunk, reborn.generation) == (leases[1].chunk.key.chunk, 2)
    assert len(catalog.staged(table_of(pipeline))) == 2


def test_a_window_of_text_and_one_of_numbers_have_no_order(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 1)
    (lease,) = catalog.claim(pipeline, node="a")
    catalog.complete(lease, seal_for(lease))
    with pytest.raises(WindowMismatch):
        catalog.rewind(table_of(pipeline), Window("2024-01-01", "2024-06-30"), "wrong kind of window")


def test_archived_work_is_counted_found_and_rewound_but_never_planned_again(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 3)
    table = table_of(pipeline)
    first, second = catalog.claim(pipeline, node="a", limit=2)
    catalog.complete(first, seal_for(first))
    catalog.complete(second, seal_for(second))
    landing = catalog.reserve_landing(table, [first.chunk.key], node="a")
    catalog.finish_landing(landing, version=1)
    assert catalog.archive(pipeline, at_least=2) == 0
    assert catalog.archive(pipeline) == 1
    assert catalog.archive(pipeline) == 0
    assert catalog.add_chunks(plan(pipeline, 3)) == 0
    assert [state.chunk.key for state in catalog.staged(table)] == [second.chunk.key]
    assert [state.chunk for state in catalog.chunks(table)] == plan(pipeline, 3)
    (progress,) = catalog.progress(pipeline)
    assert (progress.done, progress.pending, progress.rows) == (2, 1, 20)
    (reborn,) = catalog.rewind(table, Window(0, 10), "bad data")
    assert (reborn.chunk, reborn.generation) == (first.chunk.key.chunk, 2)
    (progress,) = catalog.progress(pipeline)
    assert (progress.done, progress.pending) == (1, 2)


def test_phases_follow_their_moves(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 1)
    with pytest.raises(BackwardMove):
        catalog.set_phase(pipeline, Phase.STREAMING)
    catalog.set_phase(pipeline, Phase.BACKFILLING)
    catalog.set_phase(pipeline, Phase.BACKFILLING)
    with pytest.raises(BackwardMove):
        catalog.set_phase(pipeline, Phase.PLANNING)
    assert [known.phase for known in catalog.pipelines() if known.pipeline == pipeline] == [Phase.BACKFILLING]
