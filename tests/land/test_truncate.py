"""Truncating: all rows are exchanged in one commit."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from hakiri.land.delta.rust import RustTable
from hakiri.land.errors import LandingFailed
from hakiri.land.lander import Outcome, land
from hakiri.land.target import sql_name
from hakiri.spec.load import LoadMode
from land.kinds import sample
from land.staging import ORDERS, Workshop, catalog_table, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
LOADS = 40


def test_the_rows_are_exchanged_once(either: Workshop) -> None:
    either.land_rows(order(1), order(2), mode=LoadMode.TRUNCATE)
    request = either.request(either.chunk([order(3)]), mode=LoadMode.TRUNCATE)
    landed = land(request, either.spark)
    assert landed.outcome is (Outcome.WRITTEN if either.options else Outcome.ADOPTED)
    assert landed.version == 1
    assert land(request, either.spark).outcome is Outcome.REPLAYED
    assert either.rows("id") == [(3,)]


def test_an_empty_load_empties_the_table(either: Workshop) -> None:
    either.land_rows(order(1))
    assert either.land(either.chunk([]), mode=LoadMode.TRUNCATE).version == 1
    assert either.rows() == []


def test_an_empty_load_of_an_empty_table_is_a_version_as_well(workshop: Workshop) -> None:
    workshop.land_rows(order(1))
    for version in (1, 2):
        assert workshop.land(workshop.chunk([]), mode=LoadMode.TRUNCATE).version == version
    assert workshop.rows() == []


def test_a_landing_of_another_writer_between_the_look_and_the_commit_is_not_lost(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.land_rows(order(1), mode=LoadMode.TRUNCATE)
    commit, others = RustTable.adopt, [order(8)]

    def late(table: RustTable, *args: Any) -> bool:
        if others:
            rows = pa.Table.from_pylist([others.pop()], schema=ORDERS)
            write_deltalake(workshop.root, rows, mode="append", schema_mode="merge")
        return commit(table, *args)

    monkeypatch.setattr(RustTable, "adopt", late)
    landed = workshop.land_rows(order(3), mode=LoadMode.TRUNCATE)
    assert landed.version == 2, "the rows of the other writer were seen, and exchanged as well"
    assert workshop.rows("id") == [(3,)]
    assert DeltaTable(workshop.root, version=1).to_pyarrow_table().num_rows == 2


def test_a_table_that_is_append_only_says_so(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1))
    DeltaTable(spark_workshop.root).alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(LandingFailed, match="append"):
        spark_workshop.land_rows(order(3), mode=LoadMode.TRUNCATE)
    assert spark_workshop.rows("id") == [(1,)]


def test_readers_see_the_old_rows_or_the_new(workshop: Workshop) -> None:
    loads = [[order(load * 10 + number, str(load)) for number in range(3)] for load in range(LOADS)]
    workshop.land_rows(*loads[0], mode=LoadMode.TRUNCATE)
    done, seen = Event(), set()

    def hammer() -> None:
        while not done.is_set():
            seen.add(tuple(row[1] for row in workshop.rows()))

    reader = Thread(target=hammer)
    reader.start()
    try:
        for load in loads[1:]:
            workshop.land_rows(*load, mode=LoadMode.TRUNCATE)
    finally:
        done.set()
        reader.join()
    assert seen <= {(str(load),) * 3 for load in range(LOADS)}
    assert len(seen) > 1
    assert DeltaTable(workshop.root).version() == LOADS - 1


@pytest.mark.parametrize(
    "anywhere", sample("named", "clustered", of=("adopted", "named", "clustered", "vectors")), indirect=True
)
def test_the_very_same_rows_are_not_exchanged_again_whatever_table_they_are_in(anywhere: Workshop) -> None:
    rows, mode = [order(1, "a"), order(2, "b")], LoadMode.TRUNCATE
    first = anywhere.land_rows(order(0), mode=mode)
    second = anywhere.land_rows(*rows, mode=mode)
    assert second.outcome is not Outcome.UNCHANGED
    again = anywhere.land_rows(*rows, mode=mode, repeats_last=True)
    assert (again.outcome, again.version, again.tally.deduplicated) == (Outcome.UNCHANGED, second.version, 2)
    assert first.version < second.version
    assert anywhere.target
    table = sql_name(anywhere.target)
    anywhere.spark().sql(f"OPTIMIZE {table}")
    assert anywhere.land_rows(*rows, mode=mode, repeats_last=True).outcome is Outcome.UNCHANGED, "moved, and the same"
    anywhere.spark().sql(f"UPDATE {table} SET id = 7 WHERE id = 1")
    assert anywhere.land_rows(*rows, mode=mode, repeats_last=True).outcome is not Outcome.UNCHANGED, (
        "as many, and others"
    )
    assert anywhere.rows("id") == [(1,), (2,)]


def test_a_table_that_was_made_anew_is_exchanged_although_its_version_is_the_same(workshop: Workshop) -> None:
    workshop.options |= {"mode": LoadMode.TRUNCATE}
    first = workshop.chunk([order(1)])
    workshop.land(first)
    shutil.rmtree(workshop.root / "_delta_log")
    copied = pq.read_table(workshop.root / first.files[0].path)
    write_deltalake(workshop.root, copied.set_column(0, "id", pa.array([7])))
    landed = workshop.land_rows(order(1), repeats_last=True, accepts_loss=True)
    assert (landed.outcome, landed.version) == (Outcome.ADOPTED, 1)
    assert workshop.rows("id") == [(1,)]


def test_rows_that_another_mode_left_in_a_catalogs_table_are_exchanged(spark: SparkSession, tmp_path: Path) -> None:
    with catalog_table(spark, "exchanged.orders") as target:
        workshop = Workshop(tmp_path / "staged", lambda: spark, target)
        workshop.land_rows(order(1))
        workshop.land_rows(order(2))
        assert workshop.land_rows(order(2), mode=LoadMode.TRUNCATE, repeats_last=True).outcome is Outcome.WRITTEN
        assert workshop.rows("id") == [(2,)]
