"""Every kind of value and of name lands and is read back, by either engine and with either."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hakiri.land.lander import Outcome, land
from hakiri.model.errors import SchemaIncompatible
from hakiri.model.staged import CHUNK_COLUMN
from hakiri.model.types.arrow import MAX_NESTING
from hakiri.spec.load import LoadMode
from land.staging import Workshop, named, ordered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = pa.schema(
    [
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("i32", pa.int32()),
        ("i64", pa.int64()),
        ("f32", pa.float32()),
        ("f64", pa.float64()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("small", pa.decimal128(9, 2)),
        ("large", pa.decimal128(38, 10)),
        ("deep", pa.struct([("x.y", pa.int32()), ("more", pa.list_(pa.struct([("z", pa.string())])))])),
    ]
)
FULL = {
    "i8": -128,
    "i16": 32767,
    "i32": -(2**31),
    "i64": 2**63 - 1,
    "f32": 0.5,
    "f64": 1e300,
    "flag": True,
    "text": "naïve 🐟 'quoted' \\ `ticked`",
    "raw": b"\x00\xff",
    "day": date(1500, 1, 1),
    "at": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "wall": datetime(9999, 12, 31, 23, 59, 59, 999999),
    "small": Decimal("-1234567.89"),
    "large": Decimal("-1234567890123456789012345678.0123456789"),
    "deep": {"x.y": 1, "more": [{"z": "q"}, {"z": None}]},
}
EMPTY = dict.fromkeys(FULL)


def test_every_kind_of_value_is_read_back_by_both_engines(either: Workshop, spark: SparkSession) -> None:
    either.land(either.chunk([FULL, EMPTY], schema=KINDS, cursor=None))
    expected = ordered([FULL, EMPTY])
    reader = Workshop(either.root, lambda: spark)
    assert reader.rows(*KINDS.names) == expected
    found = next(row for row in reader.spark_rows(*KINDS.names) if row[0] is not None)
    told = dict(zip(KINDS.names, found, strict=True))
    assert bytes(told.pop("raw")) == FULL["raw"]
    # A collected timestamp is in the machine's zone, without saying so.
    assert told.pop("at").astimezone(UTC) == FULL["at"]
    assert told == {name: value for name, value in FULL.items() if name in told}


def nested(kind: str, levels: int) -> tuple[pa.DataType, Any]:
    """A type with so many levels of a kind, and a value of it."""
    found, value = pa.int64(), 7
    for _ in range(levels):
        match kind:
            case "struct":
                found, value = pa.struct([("m", found)]), {"m": value}
            case "list":
                found, value = pa.list_(pa.field("element", found)), [value]
            case _:
                found, value = pa.map_(pa.string(), found), [("m", value)]
    return found, value


def levels_of(value: Any) -> int:
    """How many levels lead to the number at the bottom."""
    match value:
        case {"m": inner} | [(_, inner)] | [inner]:
            return 1 + levels_of(inner)
        case _:
            assert value == 7
            return 0


def test_values_of_the_deepest_nesting_are_read_back_by_both_engines(either: Workshop, spark: SparkSession) -> None:
    deepest = {kind: nested(kind, MAX_NESTING) for kind in ("struct", "list", "map")}
    schema = pa.schema([(kind, found) for kind, (found, _) in deepest.items()])
    either.land(either.chunk([{kind: value for kind, (_, value) in deepest.items()}], schema=schema, cursor=None))
    reader = Workshop(either.root, lambda: spark)
    for (found,) in (reader.rows(*schema.names), reader.spark_rows(*schema.names)):
        assert [levels_of(value) for value in found] == [MAX_NESTING] * 3


def test_a_query_skips_adopted_files_and_misses_no_row(spark_workshop: Workshop) -> None:
    schema = pa.schema([("n", pa.int32()), ("f", pa.float64()), ("t", pa.timestamp("us", "UTC")), ("s", pa.string())])
    low = {"n": 1, "f": 1.0, "t": datetime(2020, 1, 1, tzinfo=UTC), "s": "a" * 40}
    high = {"n": 9, "f": float("nan"), "t": datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "s": "b" * 40 + "é"}
    landed = spark_workshop.land(
        spark_workshop.chunk([low], schema=schema, cursor=None),
        spark_workshop.chunk([high], schema=schema, cursor=None),
    )
    assert landed.outcome is Outcome.ADOPTED
    table = spark_workshop.spark().sql(f"SELECT * FROM delta.`{spark_workshop.root}`")
    for condition, files in {
        "n > 5": 1,
        "t > TIMESTAMP '2026-01-01T00:00:00.000000Z'": 1,
        f"s = '{high['s']}'": 1,
        "f > 100": 2,
        "n > 100": 0,
    }.items():
        found = table.where(condition)
        assert found.count() == min(files, 1), condition
        assert len(found.select("_metadata.file_path").distinct().collect()) <= 1
        assert len(found.inputFiles()) == files, condition


NAMES = ["dotted.name", "with space", "back`tick", "naïve", "select", "{brace}", "a=b;c", "日本"]


def test_any_name_is_a_column_of_a_merged_table_too(spark_workshop: Workshop) -> None:
    schema = pa.schema([("Key (id)", pa.int64()), *[(name, pa.string()) for name in NAMES]])
    options: dict[str, Any] = {"mode": LoadMode.UPSERT, "key": ("Key (id)",), "cursor": "with space"}

    def row(key: int, text: str) -> dict[str, Any]:
        return {"Key (id)": key, **dict.fromkeys(NAMES, text)}

    spark_workshop.land(spark_workshop.chunk([row(1, "a"), row(2, "a")], schema=schema, cursor=None), **options)
    spark_workshop.land(spark_workshop.chunk([row(2, "b"), row(3, "b")], schema=schema, cursor=None), **options)
    assert spark_workshop.rows("Key (id)", *NAMES) == [(1, *["a"] * 8), (2, *["b"] * 8), (3, *["b"] * 8)]


def test_plain_dots_and_scripts_are_adopted(workshop: Workshop) -> None:
    schema = pa.schema([("dotted.name", pa.int64()), ("back`tick", pa.string()), ("日本", pa.string())])
    rows = [{"dotted.name": 1, "back`tick": "x", "日本": "y"}]
    chunk = workshop.chunk(rows, schema=schema, cursor=None)
    assert workshop.land(chunk).outcome is Outcome.ADOPTED
    assert workshop.rows(*schema.names) == [(1, "x", "y")]


def test_a_file_on_an_odd_path_is_written_anew(spark_workshop: Workshop) -> None:
    landed = spark_workshop.land(spark_workshop.chunk([{"id": 1}], name="odd é %20 #[x]{y}*?"))
    assert landed.outcome is Outcome.WRITTEN
    assert spark_workshop.rows("id") == [(1,)]


def test_a_table_grows_and_widens_with_its_source(spark_workshop: Workshop) -> None:
    narrow = pa.schema([("n", pa.int32()), ("d", pa.decimal128(5, 2)), ("s", pa.struct([("x", pa.int32())]))])
    wide = pa.schema(
        [
            ("n", pa.int64()),
            ("d", pa.decimal128(9, 4)),
            ("s", pa.struct([("y", pa.string()), ("x", pa.int64())])),
            ("wall", pa.timestamp("us")),
            ("with space", pa.string()),
        ]
    )
    first = {"n": 1, "d": Decimal("1.25"), "s": {"x": 1}}
    second = {
        "n": 2**40,
        "d": Decimal("12345.6789"),
        "s": {"y": "q", "x": 2**40},
        "wall": datetime(2026, 1, 1),
        "with space": "w",
    }
    spark_workshop.land(spark_workshop.chunk([first], schema=narrow, cursor=None))
    spark_workshop.land(spark_workshop.chunk([second], schema=wide, cursor=None))
    # Files as narrow as ever are cast into the wider columns.
    spark_workshop.land(spark_workshop.chunk([first], schema=narrow, cursor=None))
    grown = {**first, "d": Decimal("1.2500"), "s": {"x": 1, "y": None}, "wall": None, "with space": None}
    last = {**second, "s": {"x": 2**40, "y": "q"}}
    assert spark_workshop.rows(*wide.names) == ordered([grown, grown, last])


def test_what_does_not_fit_leaves_the_table_as_it_was(workshop: Workshop) -> None:
    workshop.land(workshop.chunk([{"id": 1}]))
    rows = [{"note": None}, {"note": 1}, {"note": 2}]
    with pytest.raises(SchemaIncompatible, match=r"`note` .*\(1, 2\)"):
        workshop.land(workshop.chunk(rows, schema=pa.schema([("note", pa.int64())]), cursor=None))
    assert workshop.version() == 0


def test_what_was_accepted_lands_as_text_whichever_of_the_two_was_there_first(spark_workshop: Workshop) -> None:
    kinds = [("n", pa.int64(), 7), ("n", pa.decimal128(5, 2), Decimal("1.50")), ("n", pa.string(), "x")]
    accepted = {"n": "string"}
    for number, (name, kind, value) in enumerate(kinds, 1):
        schema = pa.schema([("id", pa.int64()), (name, kind)])
        chunk = spark_workshop.chunk([{"id": number, name: value}], schema=schema, cursor=None)
        spark_workshop.land(chunk, accepted=accepted)
    schema = pa.schema([("id", pa.int64()), ("n", pa.date32())])
    late = spark_workshop.chunk([{"id": 4, "n": date(2026, 5, 12)}], schema=schema, cursor=None)
    spark_workshop.land(late, accepted={"n": "date"})
    assert spark_workshop.rows("id", "n") == [(1, "7.00"), (2, "1.50"), (3, "x"), (4, "2026-05-12")]


def test_a_table_of_a_catalog_takes_every_mode(tmp_path: Path, spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS landing_test")
    spark.sql("DROP TABLE IF EXISTS landing_test.orders")
    shop = Workshop(tmp_path / "staging", lambda: spark, named("landing_test", "orders"))
    schema = pa.schema([("id", pa.int64()), ("n", pa.int32())])

    def rows(*pairs: tuple[int, int]) -> Any:
        return shop.chunk([{"id": key, "n": n} for key, n in pairs], schema=schema, cursor="n")

    assert shop.land(rows((1, 1)), comment="it's ours").version == 0
    merged = shop.request(rows((1, 2), (2, 2)), mode=LoadMode.UPSERT, key=("id",), cursor="n")
    shop.finish(merged, land(merged, shop.spark))
    assert land(merged, shop.spark).outcome is Outcome.REPLAYED
    assert shop.spark_rows("id", "n") == [(1, 2), (2, 2)]
    wider = shop.chunk([{"id": 3, "n": 2**40}], schema=pa.schema([("id", pa.int64()), ("n", pa.int64())]), cursor="n")
    shop.land(wider, mode=LoadMode.TRUNCATE)
    assert shop.spark_rows("id", "n") == [(3, 2**40)]
    assert shop.spark_rows(CHUNK_COLUMN) == [("0003",)]
    detail = spark.sql("DESCRIBE DETAIL landing_test.orders").collect()[0]
    assert detail["description"] == "it's ours"
    spark.sql("DROP TABLE landing_test.orders")
