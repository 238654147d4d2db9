"""The one table of moves is enforced by the store, not by the good manners of its callers (G7)."""

from __future__ import annotations

import pytest

from conformance.catalog.plans import registered, seal_for
from hakiri.catalog.errors import BackwardMove
from hakiri.catalog.port import Catalog
from hakiri.catalog.tables import CHUNKS
from hakiri.model.chunk import ChunkStatus
from hakiri.model.transitions import CHUNK_MOVES, pairs

FORCE = "UPDATE chunks SET status = :after WHERE pipeline_id = :pipeline_id AND status = :before RETURNING *"


def test_a_store_refuses_every_move_that_is_not_in_the_table(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 2)
    (lease,) = catalog.claim(pipeline, node="a")
    catalog.complete(lease, seal_for(lease))
    store = catalog._store  # type: ignore[attr-defined]
    here = (ChunkStatus.PENDING.value, ChunkStatus.DONE.value)
    backward = [(before, after.value) for before in here for after in ChunkStatus]
    for before, after in backward:
        if (before, after) in pairs(CHUNK_MOVES):
            continue
        values = {"pipeline_id": pipeline, "before": before, "after": after}
        with pytest.raises(BackwardMove):
            store.write(CHUNKS, lambda session, values=values: session.rows(FORCE, **values))
    (progress,) = catalog.progress(pipeline)
    assert (progress.pending, progress.done) == (1, 1)
