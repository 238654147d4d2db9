"""Leftovers go once they are old; what has won, landed or been adopted stays, also when the catalog forgot it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.land.delta.history import landings_of, read_log
from hakiri.land.lander import Outcome
from hakiri.land.target import PathTarget
from hakiri.model.chunk import Chunk, ChunkKey, Seal, Window
from hakiri.run.errors import CatalogBehind, RetentionUnfit
from hakiri.run.gc import Collected, collect, parse_retention
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.layout import RUNS
from hakiri.stage.local import LocalFiles
from hakiri.stage.sweep import sweep_beaten
from land.staging import TABLE, Workshop, order

SPEC = PipelineSpec.model_validate({"id": "shop", "source": {"connector": "x"}, "tables": ["orders"]})
NOW = datetime(2026, 5, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


def attempts(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in (root / RUNS).glob("*/*/*/*")}


def age(root: Path, *, days: float = 30) -> None:
    """Make everything that is staged this old."""
    at = (NOW - timedelta(days=days)).timestamp()
    for path in (root / RUNS).rglob("*"):
        os.utime(path, (at, at))


def gc(workshop: Workshop, catalog: SqliteCatalog, *, is_rehearsal: bool = False) -> Collected:
    def place(_spec: PipelineSpec, _table: TableSpec) -> TablePlace:
        return TablePlace(PathTarget(str(workshop.root)), str(workshop.root), LocalFiles(workshop.root))

    return collect(catalog, "test", [SPEC], place=place, now=NOW, retention=WEEK, is_rehearsal=is_rehearsal)


def win(workshop: Workshop, catalog: SqliteCatalog, name: str, key: int) -> str:
    """Stage a chunk and record it as done; the folder of the attempt that won."""
    catalog.add_chunks([Chunk(ChunkKey("shop", "orders", name), ordinal=key)])
    (lease,) = catalog.claim("shop", node="n1", limit=1)
    staged = workshop.chunk([order(key)], name=name)
    catalog.complete(lease, Seal(staged.folder, 1, 10, "f"))
    return staged.folder


def test_losing_attempts_go_and_winning_ones_stay(workshop: Workshop, catalog: SqliteCatalog) -> None:
    winner = win(workshop, catalog, "0001-00001", 1)
    loser = workshop.chunk([order(1)], name="0001-00001").folder
    age(workshop.root)
    rehearsed = gc(workshop, catalog, is_rehearsal=True)
    assert [remnant.folder for table in rehearsed.tables for remnant in table.remnants] == [loser]
    assert attempts(workshop.root) == {winner, loser}
    (swept,) = gc(workshop, catalog).tables
    assert (swept.files, swept.bytes > 0) == (1, True)
    assert attempts(workshop.root) == {winner}
    assert gc(workshop, catalog).tables == ()


def test_attempts_below_the_one_that_won_go_at_once_and_no_other(workshop: Workshop) -> None:
    files = LocalFiles(workshop.root)
    for folder in (
        "r1/n1/chunk-a/attempt-1",
        "r2/n2/chunk-a/attempt-2",
        "r2/n2/chunk-a/attempt-3",
        "r1/n1/chunk-b/attempt-1",
    ):
        (workshop.root / RUNS / folder).mkdir(parents=True)
        (workshop.root / RUNS / folder / "part-00000.parquet").write_bytes(b"x")
    adopted = f"{RUNS}/r1/n1/chunk-a/attempt-1"
    swept = sweep_beaten(files, winning={adopted}, beaten_by={"chunk-a": 3})
    assert [remnant.folder for remnant in swept.removed] == [f"{RUNS}/r2/n2/chunk-a/attempt-2"]
    assert sweep_beaten(files, winning=(), beaten_by={"chunk-a": 3}).removed[0].folder == adopted
    assert attempts(workshop.root) == {f"{RUNS}/r2/n2/chunk-a/attempt-3", f"{RUNS}/r1/n1/chunk-b/attempt-1"}


def test_what_is_younger_than_the_retention_stays(workshop: Workshop, catalog: SqliteCatalog) -> None:
    loser = workshop.chunk([order(1)]).folder
    age(workshop.root, days=6)
    assert gc(workshop, catalog).tables == ()
    assert attempts(workshop.root) == {loser}


def test_chunks_that_have_landed_are_archived_and_their_files_stay(workshop: Workshop, catalog: SqliteCatalog) -> None:
    winner = win(workshop, catalog, "0001-00001", 1)
    landing = catalog.reserve_landing(TABLE, [ChunkKey("shop", "orders", "0001-00001")], node="n1")
    catalog.finish_landing(landing, version=0)
    age(workshop.root)
    assert gc(workshop, catalog).archived == 1
    assert gc(workshop, catalog).archived == 0
    assert attempts(workshop.root) == {winner}


def test_a_chunk_that_a_rewind_replaced_goes_unless_a_landing_names_it(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    landed = win(workshop, catalog, "0001-00001", 1)
    landing = catalog.reserve_landing(TABLE, [ChunkKey("shop", "orders", "0001-00001")], node="n1")
    catalog.finish_landing(landing, version=0)
    replaced = win(workshop, catalog, "0001-00002", 2)
    catalog.rewind(TABLE, Window(), "again")
    age(workshop.root)
    gc(workshop, catalog)
    assert replaced not in attempts(workshop.root)
    assert landed in attempts(workshop.root)


def test_adopted_files_stay_when_the_catalog_was_rebuilt_and_names_no_winner(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    chunk = workshop.chunk([order(1)], name="0001-00001")
    assert workshop.land(chunk).outcome is Outcome.ADOPTED
    orphan = workshop.chunk([order(2)], name="0001-00002").folder
    for one in landings_of(read_log(workshop.root), "test/shop/orders"):
        catalog.restore_landing(one.landing())
    age(workshop.root)
    gc(workshop, catalog)
    assert attempts(workshop.root) == {chunk.folder}, f"{orphan} is nobody's"
    assert workshop.rows() == [(1, "new", 1)]


def test_nothing_goes_where_the_catalog_does_not_know_what_the_table_carries(
    workshop: Workshop, catalog: SqliteCatalog
) -> None:
    workshop.land_rows(order(1))
    loser = workshop.chunk([order(1)]).folder
    age(workshop.root)
    with pytest.raises(CatalogBehind, match="carries landing 1, and the catalog knows of 0"):
        gc(workshop, catalog)
    assert loser in attempts(workshop.root)


@pytest.mark.parametrize("text", ["59m", "0d", "soon", "", "-7d", "7"])
def test_a_retention_that_would_meet_living_attempts_is_refused(text: str) -> None:
    with pytest.raises(RetentionUnfit):
        parse_retention(text)
    assert parse_retention("1h") == timedelta(hours=1)
