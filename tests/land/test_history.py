"""A table's own log tells what landed in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable, write_deltalake

from hakiri.land.delta import spark as by_spark
from hakiri.land.delta.history import describe_history, landings_of, read_log
from hakiri.land.errors import LandingOutOfOrder, LandingTooLarge, TableMovedBack
from hakiri.land.lander import Outcome, land, last_number
from hakiri.land.stamp import MAX_BYTES, from_text, stamp_of, to_text
from hakiri.land.table_state import ExpectedLanding, expected_landing
from hakiri.land.target import PathTarget
from hakiri.model.chunk import ChunkKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.staged import Tally
from land.staging import TABLE, Workshop, catalog_table, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP = "test/shop/orders"


def landing(number: int, *, version: int | None = None, chunks: int = 1) -> Landing:
    keys = tuple(ChunkKey("shop", "orders", f"{index:016x}", 2) for index in range(chunks))
    status = LandingStatus.ABANDONED if version is None else LandingStatus.LANDED
    return Landing(table=TABLE, number=number, chunks=keys, status=status, version=version, cursor="c")


def test_landings_are_read_back_whole_and_in_order(workshop: Workshop) -> None:
    first, second = workshop.chunk([order(1)], name="a"), workshop.chunk([order(2)], name="b")
    workshop.land(first)
    write_deltalake(
        str(workshop.root), DeltaTable(workshop.root).to_pyarrow_dataset().schema.empty_table(), mode="append"
    )
    workshop.land(second)
    found = [one.landing() for one in landings_of(read_log(workshop.root), APP)]
    assert [(one.number, one.version, one.chunks, one.cursor) for one in found] == [
        (1, 0, (first.chunk,), "c1"),
        (2, 2, (second.chunk,), "c2"),
    ]
    assert expected_landing(found) == workshop.carried
    assert landings_of(read_log(workshop.root), "test/shop/other") == ()


def test_a_restore_undoes_landings_and_another_brings_them_back(workshop: Workshop) -> None:
    for number in range(3):
        workshop.land_rows(order(number))
    table = DeltaTable(workshop.root)
    table.restore(0)
    assert [one.is_undone for one in landings_of(read_log(workshop.root), APP)] == [False, True, True]
    DeltaTable(workshop.root).restore(2)
    assert [one.is_undone for one in landings_of(read_log(workshop.root), APP)] == [False, False, False]


def test_spark_tells_the_same_history(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1))
    spark_workshop.land_rows(order(2), may_adopt=False)
    DeltaTable(spark_workshop.root).restore(0)
    told = describe_history(spark_workshop.spark(), PathTarget(str(spark_workshop.root)))
    assert landings_of(told, APP) == landings_of(read_log(spark_workshop.root), APP)
    assert [one.is_undone for one in landings_of(told, APP)] == [False, True]


def test_a_landing_and_a_restore_behind_many_commits_of_others_are_found(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_spark, "FEW_COMMITS", 2)
    with catalog_table(spark, "behind.orders") as target:
        workshop = Workshop(tmp_path, lambda: spark, target)

        def others_write() -> None:
            for number in range(3):
                spark.sql(f"ALTER TABLE behind.orders SET TBLPROPERTIES ('theirs' = '{number}')")

        workshop.land_rows(order(1))
        others_write()
        request = workshop.request(workshop.chunk([order(2)]))
        workshop.finish(request, land(request, workshop.spark))
        others_write()
        assert last_number("test", request.landing, target, workshop.spark) == 2
        assert land(request, workshop.spark).outcome is Outcome.REPLAYED
        spark.sql("RESTORE TABLE behind.orders TO VERSION AS OF 0")
        others_write()
        with pytest.raises(TableMovedBack, match="restored to version 0"):
            workshop.land_rows(order(3))


def test_what_others_write_into_a_log_is_not_taken_for_ours() -> None:
    for text in (None, "", "nonsense", "[]", "{}", '{"hakiri":1}', "[" * 100_000, '{"hakiri":1,"number":"x"}'):
        assert from_text(text) is None


def test_a_stamp_is_read_back_as_it_was_written() -> None:
    stamp = stamp_of("test", landing(7, chunks=3), ("r1", "r2"))
    mark = from_text(to_text(stamp, Tally(5, 1, 1, 1, 2)))
    assert mark is not None
    assert (mark.stamp, mark.tally) == (stamp, Tally(5, 1, 1, 1, 2))


def test_a_stamp_keeps_what_a_transform_merged_and_added() -> None:
    tally = Tally(read=5, staged=6, merged=1, added=2)
    mark = from_text(to_text(stamp_of("test", landing(7), ("r1",)), tally))
    assert mark is not None
    assert mark.tally == tally


def test_a_stamp_is_bounded() -> None:
    assert stamp_of("test", landing(1, chunks=5_000), ())
    with pytest.raises(LandingTooLarge) as caught:
        stamp_of("test", landing(1, chunks=50_000), ())
    assert caught.value.limit == MAX_BYTES


def test_the_landing_a_table_should_carry_is_the_last_that_became_a_version() -> None:
    assert expected_landing([]) is None
    known = [landing(1, version=0), landing(2), landing(3, version=4), landing(4, version=4)]
    assert expected_landing(known) == ExpectedLanding(3, 4)


def test_a_catalog_that_counts_from_one_again_is_not_taken_for_a_replay(workshop: Workshop) -> None:
    workshop.land(workshop.chunk([order(1)], name="0001-00001"))
    another = replace(workshop, carried=None, number=0)
    with pytest.raises(LandingOutOfOrder, match="already carries landing 1"):
        another.land(another.chunk([order(2)], name="0001-00001"))
    assert workshop.rows() == [(1, "new", 1)]


def test_a_landing_is_adopted_again_after_the_catalog_was_rebuilt(workshop: Workshop) -> None:
    workshop.land_rows(order(1))
    rebuilt = replace(
        workshop, carried=expected_landing([one.landing() for one in landings_of(read_log(workshop.root), APP)])
    )
    assert rebuilt.land_rows(order(2)).outcome is Outcome.ADOPTED
