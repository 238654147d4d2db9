"""Landing by watermark: what the table holds decides what lands, ties and missing values included."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from hakiri.land.errors import TableUnreadable, WatermarkMissing
from hakiri.land.lander import Outcome, land
from hakiri.land.query.watermark import count_unmarked, greatest_value
from hakiri.land.target import PathTarget, sql_name
from hakiri.model.staged import Tally
from hakiri.spec.load import LoadMode
from land.kinds import sample
from land.staging import ORDERS, Workshop, named, order

WATERMARK: dict[str, Any] = {"mode": LoadMode.INCREMENTAL_WATERMARK, "watermark": "seen"}
KEYED = {**WATERMARK, "key": ("id",)}


@pytest.mark.parametrize("anywhere", sample("named"), indirect=True)
def test_what_is_newer_or_ties_lands_once_and_what_is_late_is_counted(anywhere: Workshop) -> None:
    anywhere.options |= KEYED
    anywhere.land_rows(order(1, seen=5), order(2, seen=9), order(3, seen=None))
    rows = [
        order(2, seen=9),  # there
        order(4, seen=9),  # tied, and new
        order(5, seen=11),
        order(6, seen=8),  # late
        order(3, seen=None),  # there
        order(7, seen=None),
    ]
    request = anywhere.request(anywhere.chunk(rows))
    landed = anywhere.finish(request, land(request, anywhere.spark))
    assert landed.tally == Tally(read=6, staged=3, filtered=1, deduplicated=2)
    assert landed.tally.is_balanced
    assert landed.unmarked == 1
    assert anywhere.rows("id") == [(1,), (2,), (3,), (4,), (5,), (7,)]
    assert land(request, anywhere.spark).outcome is Outcome.REPLAYED
    assert anywhere.land_rows(order(5, seen=11), order(7, seen=None)).outcome is Outcome.UNCHANGED
    assert anywhere.target
    anywhere.spark().sql(f"DELETE FROM {sql_name(anywhere.target)} WHERE seen > 5").collect()
    assert greatest_value("orders", anywhere.target, "seen", anywhere.spark) == 5
    again = anywhere.land_rows(order(1, seen=5), *rows)
    assert again.tally == Tally(read=7, staged=4, deduplicated=3), "what was taken out of the table comes again"
    assert anywhere.rows("id") == [(number,) for number in range(1, 8)]
    assert anywhere.land(anywhere.chunk([])).outcome is Outcome.UNCHANGED


def test_without_a_key_ties_are_told_by_content_with_multiplicity(spark_workshop: Workshop) -> None:
    spark_workshop.options |= WATERMARK
    same = order(1, seen=7)
    spark_workshop.land_rows(same, same, order(2, seen=None))
    landed = spark_workshop.land_rows(same, same, same, order(2, seen=None), order(2, seen=None), order(3, seen=6))
    assert landed.tally == Tally(read=6, staged=2, filtered=1, deduplicated=3)
    assert spark_workshop.rows("id", "seen") == [(1, 7), (1, 7), (1, 7), (2, None), (2, None)]


def test_the_first_load_is_adopted_whole_and_its_missing_values_are_counted(workshop: Workshop) -> None:
    workshop.options |= KEYED
    landed = workshop.land_rows(order(1, seen=5), order(2, seen=None), order(3, seen=1))
    assert (landed.outcome, landed.unmarked, landed.tally.staged) == (Outcome.ADOPTED, 1, 3)
    assert isinstance(workshop.target, PathTarget)
    assert greatest_value("orders", workshop.target, "seen", None) == 5
    assert greatest_value("orders", workshop.target, "noticed", None, before="seen") == 5, (
        "the table is renamed by a landing"
    )


def test_reals_of_either_size_are_counted(workshop: Workshop) -> None:
    rows = [{"id": number, "seen": seen} for number, seen in enumerate([1.5, float("nan"), 1e30, None])]
    for kind in (pa.float32(), pa.float64()):
        chunk = workshop.chunk(rows, schema=pa.schema([("id", pa.int64()), ("seen", kind)]))
        assert count_unmarked("orders", str(workshop.root), chunk.files, "seen") == 3


def test_a_table_without_the_column_is_not_landed_in(spark_workshop: Workshop) -> None:
    bare = pa.schema([("id", pa.int64()), ("note", pa.string())])
    spark_workshop.land(spark_workshop.chunk([{"id": 1, "note": "x"}], schema=bare, cursor=None))
    with pytest.raises(WatermarkMissing, match="decides what lands"):
        spark_workshop.land_rows(order(2), **KEYED)
    assert isinstance(spark_workshop.target, PathTarget)
    with pytest.raises(WatermarkMissing):
        greatest_value("orders", spark_workshop.target, "seen", None)
    assert spark_workshop.rows("id") == [(1,)]


INSTANT = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=UTC)
KINDS: list[tuple[pa.DataType, list[Any], Any, Any]] = [
    (pa.timestamp("us", "UTC"), [INSTANT, INSTANT.replace(microsecond=123456)], INSTANT, INSTANT.replace(second=1)),
    (
        pa.timestamp("us"),
        [datetime(2026, 3, 1, 12, 0, 0, 1)],
        datetime(2026, 3, 1, 12, 0, 0, 1),
        datetime(2026, 3, 1, 12, 0, 0, 2),
    ),
    (pa.date32(), [date(2026, 3, 1), date(2025, 1, 1)], date(2026, 3, 1), date(2026, 3, 2)),
    (pa.int32(), [-4, -7], -4, -3),
    (
        pa.decimal128(38, 6),
        [Decimal("12345678901234567890.123456"), Decimal("12345678901234567890.123455")],
        Decimal("12345678901234567890.123456"),
        Decimal("12345678901234567890.123457"),
    ),
    (pa.string(), ["a" * 40 + "b", "a" * 40], "a" * 40 + "b", "a" * 40 + "c"),
    (pa.float64(), [1.5, float("nan"), float("inf")], 1.5, 2.5),
]


@pytest.mark.parametrize("seen", KINDS, ids=lambda seen: str(seen[0]))
def test_the_greatest_value_is_exact_for_every_kind_without_a_jvm(
    seen: tuple[pa.DataType, list[Any], Any, Any], workshop: Workshop
) -> None:
    kind, values, top, _ = seen
    schema = pa.schema([("id", pa.int64()), ("seen", kind)])
    rows = [{"id": number, "seen": value} for number, value in enumerate([*values, None])]
    workshop.land(workshop.chunk(rows, schema=schema, cursor=None), **KEYED)
    assert isinstance(workshop.target, PathTarget)
    assert greatest_value("orders", workshop.target, "SEEN", None) == top


SOME = [KINDS[number] for number in (0, 4, 6)]
"""An instant, an exact number and a real, which alone is measured in another way."""


@pytest.mark.parametrize(
    "kinds", [pytest.param(SOME, id="some"), pytest.param(KINDS, id="every", marks=pytest.mark.exhaustive)]
)
def test_every_kind_is_measured_alike_by_spark(
    kinds: list[tuple[pa.DataType, list[Any], Any, Any]], tmp_path: Path, spark: SparkSession
) -> None:
    for number, (kind, values, top, above) in enumerate(kinds):
        workshop = Workshop(tmp_path / str(number), lambda: spark, options=dict(KEYED))
        schema = pa.schema([("id", pa.int64()), ("seen", kind)])
        first = [{"id": one, "seen": value} for one, value in enumerate(values)]
        workshop.land(workshop.chunk(first, schema=schema, cursor=None))
        second = [*first, {"id": 90, "seen": top}, {"id": 91, "seen": above}]
        landed = workshop.land(workshop.chunk(second, schema=schema, cursor=None))
        assert landed.tally.staged == 2, kind
        assert workshop.rows("id")[-2:] == [(90,), (91,)]
    # The last of them is a float: what is no number was told by content of its key, and neither raised the mark.
    assert landed.tally == Tally(read=5, staged=2, deduplicated=3)


def test_a_table_that_delta_rs_cannot_read_is_asked_through_spark(tmp_path: Path, spark: SparkSession) -> None:
    path = tmp_path / "orders"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, seen INT) USING delta").collect()
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 7)").collect()
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')").collect()
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN seen TYPE BIGINT").collect()
    target = PathTarget(str(path))
    with pytest.raises(TableUnreadable):
        greatest_value("orders", target, "seen", None)
    assert greatest_value("orders", target, "seen", lambda: spark) == 7
    assert greatest_value("orders", PathTarget(str(tmp_path / "none")), "seen", lambda: spark) is None
    assert greatest_value("orders", named("default", "no_such_orders"), "seen", lambda: spark) is None


def test_an_empty_table_loads_all(spark_workshop: Workshop) -> None:
    spark_workshop.options |= KEYED
    spark_workshop.land(spark_workshop.chunk([]))
    assert isinstance(spark_workshop.target, PathTarget)
    assert greatest_value("orders", spark_workshop.target, "seen", None) is None
    landed = spark_workshop.land_rows(order(1, seen=-5), order(2, seen=None))
    assert (landed.tally.staged, landed.unmarked) == (2, 1)


def test_another_writer_between_the_look_and_the_commit_is_measured_too(
    spark_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G4: the greatest value that decides is that of the version which is committed from."""
    spark_workshop.options |= KEYED
    spark_workshop.land_rows(order(1, seen=5))
    from hakiri.land.delta.rust import RustTable

    adopt, raced = RustTable.adopt, []

    def late(self: RustTable, *args: Any) -> bool:
        if not raced:
            raced.append(True)
            rows = pa.Table.from_pylist([order(9, seen=50)], schema=ORDERS)
            write_deltalake(spark_workshop.root, rows, mode="append", schema_mode="merge")
        return adopt(self, *args)

    monkeypatch.setattr(RustTable, "adopt", late)
    landed = spark_workshop.land_rows(order(2, seen=6), order(3, seen=50))
    assert (landed.tally.staged, landed.tally.filtered) == (1, 1)
    assert spark_workshop.rows("id") == [(1,), (3,), (9,)]
    assert DeltaTable(spark_workshop.root).version() == 2


def test_rows_without_a_key_are_no_versions_of_each_other(spark_workshop: Workshop) -> None:
    spark_workshop.options |= KEYED
    spark_workshop.land_rows(order(1, seen=7), order(None, "a", 7))
    landed = spark_workshop.land_rows(order(None, "a", 7), order(None, "b", 7), order(None, "c", 7), order(1, seen=7))
    assert landed.tally == Tally(read=4, staged=2, deduplicated=2)
    assert spark_workshop.rows("id", "note") == [(1, "new"), (None, "a"), (None, "b"), (None, "c")]
