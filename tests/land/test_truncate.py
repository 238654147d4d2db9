"""Truncating: all rows are exchanged in one commit."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from hakiri.land.lander import Outcome, land
from hakiri.land.target import sql_name
from hakiri.spec.load import LoadMode
from land.kinds import sample
from land.staging import Workshop, catalog_table, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_rows_are_exchanged_once(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1), order(2), mode=LoadMode.TRUNCATE)
    request = spark_workshop.request(spark_workshop.chunk([order(3)]), mode=LoadMode.TRUNCATE)
    assert land(request, spark_workshop.spark).version == 1
    assert land(request, spark_workshop.spark).outcome is Outcome.REPLAYED
    assert spark_workshop.rows("id") == [(3,)]


def test_an_empty_load_empties_the_table(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1))
    assert spark_workshop.land(spark_workshop.chunk([]), mode=LoadMode.TRUNCATE).version == 1
    assert spark_workshop.rows() == []


def test_readers_see_the_old_rows_or_the_new(spark_workshop: Workshop) -> None:
    loads = [[order(load * 10 + number, str(load)) for number in range(3)] for load in range(4)]
    spark_workshop.land_rows(*loads[0], mode=LoadMode.TRUNCATE)
    done, seen = Event(), set()

    def hammer() -> None:
        while not done.is_set():
            seen.add(tuple(row[1] for row in spark_workshop.rows()))

    reader = Thread(target=hammer)
    reader.start()
    try:
        for load in loads[1:]:
            spark_workshop.land_rows(*load, mode=LoadMode.TRUNCATE)
    finally:
        done.set()
        reader.join()
    assert seen <= {(str(load),) * 3 for load in range(4)}
    assert len(seen) > 1
    assert DeltaTable(spark_workshop.root).version() == 3


@pytest.mark.parametrize(
    "anywhere", sample("named", "clustered", of=("adopted", "named", "clustered", "vectors")), indirect=True
)
def test_the_very_same_rows_are_not_exchanged_again_whatever_table_they_are_in(anywhere: Workshop) -> None:
    rows, mode = [order(1, "a"), order(2, "b")], LoadMode.TRUNCATE
    first = anywhere.land_rows(order(0), mode=mode)
    second = anywhere.land_rows(*rows, mode=mode)
    assert second.outcome is not Outcome.RESTED
    again = anywhere.land_rows(*rows, mode=mode, repeats_last=True)
    assert (again.outcome, again.version, again.tally.deduplicated) == (Outcome.RESTED, second.version, 2)
    assert first.version < second.version
    assert anywhere.target
    table = sql_name(anywhere.target)
    anywhere.spark().sql(f"OPTIMIZE {table}")
    assert anywhere.land_rows(*rows, mode=mode, repeats_last=True).outcome is Outcome.RESTED, "moved, and the same"
    anywhere.spark().sql(f"UPDATE {table} SET id = 7 WHERE id = 1")
    assert anywhere.land_rows(*rows, mode=mode, repeats_last=True).outcome is not Outcome.RESTED, "as many, and others"
    assert anywhere.spark_rows("id") == [(1,), (2,)]


def test_a_table_that_was_made_anew_is_exchanged_although_its_version_is_the_same(spark_workshop: Workshop) -> None:
    spark_workshop.options |= {"mode": LoadMode.TRUNCATE}
    first = spark_workshop.chunk([order(1)])
    spark_workshop.land(first)
    shutil.rmtree(spark_workshop.root / "_delta_log")
    copied = pq.read_table(spark_workshop.root / first.files[0].path)
    write_deltalake(spark_workshop.root, copied.set_column(0, "id", pa.array([7])))
    landed = spark_workshop.land_rows(order(1), repeats_last=True, accepts_loss=True)
    assert (landed.outcome, landed.version) == (Outcome.WRITTEN, 1)
    assert spark_workshop.rows("id") == [(1,)]


def test_rows_that_another_mode_left_in_a_catalogs_table_are_exchanged(spark: SparkSession, tmp_path: Path) -> None:
    with catalog_table(spark, "exchanged.orders") as target:
        workshop = Workshop(tmp_path / "staged", lambda: spark, target)
        workshop.land_rows(order(1))
        workshop.land_rows(order(2))
        assert workshop.land_rows(order(2), mode=LoadMode.TRUNCATE, repeats_last=True).outcome is Outcome.WRITTEN
        assert workshop.spark_rows("id") == [(2,)]
