"""Maintenance takes what nobody needs: never what is still to land, nor what is young, nor a neighbour along."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.land.decide.adoptable import MANY_FILES
from hakiri.land.delta.build import BUILDS
from hakiri.land.errors import UpkeepFailed
from hakiri.land.target import PathTarget
from hakiri.model.chunk import Chunk, ChunkKey, Seal
from hakiri.model.ledger import Landing
from hakiri.model.staged import StagedChunk
from hakiri.run.errors import CatalogBehind, RetentionUnfit
from hakiri.run.services import TablePlace
from hakiri.run.upkeep import Maintained, Tended, Upkeep, maintain, parse_upkeep
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.layout import MANIFEST
from hakiri.stage.local import LocalFiles
from land.aging import grow_old
from land.staging import TABLE, Workshop, no_spark, order

SPEC = PipelineSpec.model_validate({"id": "shop", "source": {"connector": "x"}, "tables": ["orders", "others"]})
WEEK = timedelta(days=7)
MANY = MANY_FILES + 1


def tend(workshop: Workshop, catalog: SqliteCatalog, **options: Any) -> Maintained:
    def place(_spec: PipelineSpec, table: TableSpec) -> TablePlace:
        root = workshop.root.parent / table.name
        return TablePlace(PathTarget(str(root)), str(root), LocalFiles(root))

    asked = {"now": datetime.now(UTC), "retention": WEEK, **options}
    return maintain(Upkeep(project="test", catalog=catalog, place=place, spark=no_spark, **asked), [SPEC])


def orders(done: Maintained) -> Tended:
    return next(one for one in done.tables if one.table == "orders")


def stage(workshop: Workshop, catalog: SqliteCatalog, key: int) -> StagedChunk:
    """Stage a chunk and record it as done, with the manifest that a stage leaves."""
    name = f"0001-{key:05}"
    catalog.add_chunks([Chunk(ChunkKey("shop", "orders", name), ordinal=key)])
    (lease,) = catalog.claim("shop", node="n1", limit=1)
    staged = workshop.chunk([order(key)], name=name)
    (workshop.root / staged.folder / MANIFEST).write_text("{}")
    catalog.complete(lease, Seal(staged.folder, 1, 10, "f"))
    return staged


def reserve(catalog: SqliteCatalog, *chunks: StagedChunk) -> Landing:
    return catalog.reserve_landing(TABLE, [chunk.chunk for chunk in chunks], node="n1")


def land(workshop: Workshop, catalog: SqliteCatalog, *chunks: StagedChunk) -> None:
    landing = reserve(catalog, *chunks)
    catalog.finish_landing(landing, version=workshop.land(*chunks).version)


def parquet(workshop: Workshop, chunk: StagedChunk) -> Path:
    return workshop.root / chunk.files[0].path


def is_manifest_there(workshop: Workshop, chunk: StagedChunk) -> bool:
    return (workshop.root / chunk.folder / MANIFEST).exists()


def test_many_files_become_one_and_older_versions_stay_within_the_retention(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    grow_old(workshop.root)
    before = DeltaTable(workshop.root, version=MANY - 1).file_uris()
    done = orders(tend(workshop, catalog))
    assert (done.files, done.files_after, done.removed, done.left) == (MANY, 1, 0, ())
    assert all(Path(file).exists() for file in before), "a reader of the version before still finds its files"
    assert [row[0] for row in workshop.rows()] == list(range(MANY))
    again = orders(tend(workshop, catalog))
    assert (again.files, again.files_after, again.removed) == (1, 1, 0)


def test_files_of_the_past_go_and_what_was_read_is_remembered(workshop: Workshop, catalog: SqliteCatalog) -> None:
    chunks = [stage(workshop, catalog, key) for key in range(MANY)]
    for chunk in chunks:
        land(workshop, catalog, chunk)
    assert orders(tend(workshop, catalog)).files_after == 1
    grow_old(workshop.root, days=6)
    assert orders(tend(workshop, catalog)).removed == 0
    grow_old(workshop.root, days=8)
    assert orders(tend(workshop, catalog, retention=2 * WEEK)).removed == 0
    done = orders(tend(workshop, catalog))
    assert (done.removed, done.bytes > 0) == (MANY, True)
    assert not any(parquet(workshop, chunk).exists() for chunk in chunks)
    assert all(is_manifest_there(workshop, chunk) for chunk in chunks), "a rebuild reads what each chunk had read"
    assert [row[0] for row in workshop.rows()] == list(range(MANY))


def test_a_table_that_declares_a_longer_retention_keeps_it(workshop: Workshop, catalog: SqliteCatalog) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    longer = {"delta.deletedFileRetentionDuration": "interval 60 days"}
    DeltaTable(workshop.root).alter.set_table_properties(longer)
    assert orders(tend(workshop, catalog)).files_after == 1
    grow_old(workshop.root)
    assert orders(tend(workshop, catalog)).removed == 0


def test_a_retention_beyond_the_tables_own_holds_although_a_checkpoint_forgets(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    grow_old(workshop.root, days=30)
    assert orders(tend(workshop, catalog)).files_after == 1
    grow_old(workshop.root, days=10)
    DeltaTable(workshop.root).create_checkpoint()
    assert orders(tend(workshop, catalog, retention=timedelta(days=30))).removed == 0
    assert all(Path(file).exists() for file in DeltaTable(workshop.root, version=MANY - 1).file_uris())
    assert orders(tend(workshop, catalog)).removed == MANY


def test_what_is_still_to_land_stays_however_old_it_is(workshop: Workshop, catalog: SqliteCatalog) -> None:
    land(workshop, catalog, stage(workshop, catalog, 0))
    waiting, reserved = stage(workshop, catalog, 1), stage(workshop, catalog, 2)
    landing = reserve(catalog, reserved)
    grow_old(workshop.root, days=400)
    done = orders(tend(workshop, catalog, retention=timedelta(hours=1)))
    assert (done.removed, done.error) == (0, None)
    assert parquet(workshop, waiting).exists()
    catalog.finish_landing(landing, version=workshop.land(reserved).version)
    land(workshop, catalog, waiting)
    assert [row[0] for row in workshop.rows()] == [0, 1, 2]


def test_staged_rows_that_a_table_has_copied_go_once_they_are_old(workshop: Workshop, catalog: SqliteCatalog) -> None:
    """What Spark wrote anew leaves the staged file behind, which nobody names any more."""
    land(workshop, catalog, stage(workshop, catalog, 0))
    copied = stage(workshop, catalog, 1)
    catalog.finish_landing(reserve(catalog, copied), version=workshop.version())
    assert orders(tend(workshop, catalog)).removed == 0, "it is young"
    grow_old(workshop.root)
    assert orders(tend(workshop, catalog, is_rehearsal=True)).removed == 1
    assert parquet(workshop, copied).exists(), "a rehearsal removes nothing"
    assert orders(tend(workshop, catalog)).removed == 1
    assert not parquet(workshop, copied).exists()
    assert is_manifest_there(workshop, copied)
    assert [row[0] for row in workshop.rows()] == [0]


def test_a_build_stays_until_its_landing_is_finished(workshop: Workshop, catalog: SqliteCatalog) -> None:
    land(workshop, catalog, stage(workshop, catalog, 0))
    built = {number: workshop.root / BUILDS / f"{number}-0123abcd" / "part-0.parquet" for number in (1, 2)}
    for path in built.values():
        path.parent.mkdir(parents=True)
        path.write_bytes(b"rows")
    grow_old(workshop.root)
    assert orders(tend(workshop, catalog)).removed == 1
    assert (built[1].exists(), built[2].exists()) == (False, True), "a holder taken for dead may still exchange it"


def test_what_is_nobodys_goes_and_what_is_hidden_stays(workshop: Workshop, catalog: SqliteCatalog) -> None:
    land(workshop, catalog, stage(workshop, catalog, 0))
    torn, young = workshop.root / "part-torn.parquet", workshop.root / "part-young.parquet"
    hidden = [
        workshop.root / name for name in ("_hidden.parquet", ".part-torn.parquet.crc", "notes.txt", "data/x.parquet")
    ]
    for path in (torn, *hidden):
        path.write_bytes(b"x")
    grow_old(workshop.root)
    young.write_bytes(b"x")
    assert orders(tend(workshop, catalog)).removed == 1
    assert (torn.exists(), young.exists()) == (False, True)
    assert [path.name for path in hidden if not path.exists()] == [".part-torn.parquet.crc"], "which goes with its file"


def test_leftovers_of_attempts_that_lost_are_swept_and_counted(workshop: Workshop, catalog: SqliteCatalog) -> None:
    land(workshop, catalog, stage(workshop, catalog, 0))
    lost = workshop.chunk([order(9)], name="0001-00009")
    grow_old(workshop.root)
    assert orders(tend(workshop, catalog, is_rehearsal=True)).removed == 1
    assert orders(tend(workshop, catalog)).removed == 1
    assert not parquet(workshop, lost).exists()


def test_a_table_is_not_optimized_while_a_landing_is_under_way(workshop: Workshop, catalog: SqliteCatalog) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    reserve(catalog, stage(workshop, catalog, MANY))
    done = orders(tend(workshop, catalog))
    assert (done.files_after, done.left) == (MANY, ("not optimized: a landing is under way",))


def test_a_rehearsal_says_what_would_be_done(workshop: Workshop, catalog: SqliteCatalog) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    done = tend(workshop, catalog, is_rehearsal=True)
    assert (orders(done).files_after, orders(done).left, done.archived) == (MANY, ("would be optimized",), 0)
    assert workshop.version() == MANY - 1
    assert tend(workshop, catalog).archived == MANY


def test_a_table_that_fails_is_told_and_the_others_go_on(workshop: Workshop, catalog: SqliteCatalog) -> None:
    for key in range(MANY):
        land(workshop, catalog, stage(workshop, catalog, key))
    broken = workshop.root.parent / "orders_quarantine" / "_delta_log"
    broken.mkdir(parents=True)
    (broken / f"{0:020}.json").write_text("{")
    done = tend(workshop, catalog)
    (error,) = done.all_errors
    assert isinstance(error, UpkeepFailed)
    assert "orders_quarantine" in str(error)
    assert (orders(done).files_after, done.archived) == (1, MANY)


def test_nothing_goes_where_the_catalog_does_not_know_what_the_table_carries(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    workshop.land_rows(order(1))
    waiting = stage(workshop, catalog, 2)
    grow_old(workshop.root)
    done = orders(tend(workshop, catalog))
    assert isinstance(done.error, CatalogBehind)
    assert parquet(workshop, waiting).exists()


@pytest.mark.parametrize("text", ["6d", "167h", "1h", "soon"])
def test_a_retention_below_a_week_is_refused(text: str) -> None:
    with pytest.raises(RetentionUnfit):
        parse_upkeep(text)
    assert parse_upkeep("7d") == WEEK
