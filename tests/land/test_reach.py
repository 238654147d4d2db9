"""A pruned upsert finds every row that an unpruned one would, and opens fewer files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from hakiri.land.decide.prune import FEW, Bound, asked, bounds, reach
from hakiri.land.staged.types import table_type
from hakiri.spec.load import LoadMode
from land.staging import Workshop
from land.strict import StrictSession

ROWS, FILES = 100, 5
KEY = pa.schema(
    [
        ("whole", pa.int64()),
        ("small", pa.int8()),
        ("exact", pa.decimal128(38, 10)),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
    ]
)
SCHEMA = pa.schema([*KEY, pa.field("note", pa.string())])
BY_KEY: dict[str, Any] = {"mode": LoadMode.UPSERT, "key": tuple(KEY.names)}


def row(number: int, note: str) -> dict[str, Any]:
    """Keys whose bounds in a file's statistics are cut: texts of one beginning, instants within a millisecond."""
    return {
        "whole": (number - 50) * 10**16,
        "small": number - 50,
        "exact": (Decimal(number - 50) / 7).quantize(Decimal("1e-10")),
        "text": "é" * 20 + "\\'`\"%_" * 4 + f"{number:03}",
        "day": date(1, 1, 1) + timedelta(days=number),
        "at": datetime(1969, 12, 31, 23, 59, 59, 999950, tzinfo=UTC) + timedelta(microseconds=number),
        "wall": datetime(9999, 12, 31, 23, 59, 59, 999800) + timedelta(microseconds=number),
        "real": float("nan") if number % 2 else -0.0,
        "flag": bool(number % 2),
        "note": note,
    }


@pytest.mark.parametrize("compute", [lambda spark: spark, StrictSession], ids=["merged", "replaced"])
def test_every_kind_of_key_is_found_again_through_cut_statistics(spark_workshop: Workshop, compute: Any) -> None:
    shop, size = spark_workshop, ROWS // FILES
    shop.spark = partial(compute, shop.spark())
    shop.land(*(
        shop.chunk([row(number, "old") for number in range(start, start + size)], schema=SCHEMA, cursor=None)
        for start in range(0, ROWS, size)
    ))  # fmt: skip
    few, many = [0, 41, 99], range(15, 15 + FEW + 5)
    shop.land(shop.chunk([row(number, "few") for number in few], schema=SCHEMA, cursor=None), **BY_KEY)
    many_rows = [row(number, "many") for number in (*many, 120)]
    landed = shop.land(shop.chunk(many_rows, schema=SCHEMA, cursor=None), **BY_KEY)
    assert landed.tally.staged == len(many_rows)
    expected = {**dict.fromkeys(range(ROWS), "old"), **dict.fromkeys(few, "few"), **dict.fromkeys([*many, 120], "many")}
    assert shop.rows("small", "note") == sorted(((n - 50, note) for n, note in expected.items()), key=repr)


@pytest.mark.parametrize(("keys", "files"), [([7, 9], 1), ([7, 90], 2), (range(20, 20 + FEW + 10), 4)], ids=str)
def test_files_that_hold_no_staged_key_are_not_opened(spark_workshop: Workshop, keys: Any, files: int) -> None:
    shop, size = spark_workshop, ROWS // FILES
    for start in range(0, ROWS, size):
        rows = [{"id": number} for number in range(start, start + size)]
        shop.land(shop.chunk(rows, schema=pa.schema([("id", pa.int64())]), cursor=None))
    (bound,) = bounds(["ID"], (kind := table_type(pa.schema([("id", pa.int64())]), table="t")), kind, ())
    staged = shop.spark().createDataFrame([(key,) for key in keys], "id BIGINT")
    found = staged.selectExpr(f"{asked(bound, len(keys))} AS found").collect()[0]["found"]
    condition = reach([(bound, found)], len(keys))
    table = shop.spark().sql(f"SELECT * FROM delta.`{shop.root}` AS t WHERE {condition}")
    assert len(table.inputFiles()) == files
    assert {one["id"] for one in table.collect()} >= set(keys)


def bound(kind: pa.DataType) -> tuple[Bound, ...]:
    table = table_type(pa.schema([("c", kind)]), table="t")
    return bounds(["c"], table, table, ())


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.bool_(), pa.binary(), pa.list_(pa.int8())], ids=str)
def test_a_key_whose_order_is_not_certain_prunes_nothing(kind: pa.DataType) -> None:
    assert bound(kind) == ()


def test_a_key_that_changes_its_type_prunes_nothing() -> None:
    old, new = (table_type(pa.schema([("c", kind)]), table="t") for kind in (pa.int32(), pa.int64()))
    assert bounds(["c"], new, old, ()) == ()
    assert bounds(["c", "gone"], new, new, ()) == bound(pa.int64())


@pytest.mark.parametrize(
    ("kind", "value", "literal"),
    [
        (pa.int8(), "-5", "-5Y"),
        (pa.int64(), "7", "7L"),
        (pa.decimal128(9, 2), "1.50", "1.50BD"),
        (pa.string(), "it's \\", "'it\\'s \\\\'"),
        (pa.date32(), "2026-01-05", "DATE '2026-01-05'"),
        (pa.timestamp("us"), "2026-01-05 00:00:00.000001", "TIMESTAMP_NTZ '2026-01-05 00:00:00.000001'"),
    ],
    ids=str,
)
def test_a_value_is_a_literal_of_its_columns_own_type(kind: pa.DataType, value: str, literal: str) -> None:
    (one,) = bound(kind)
    assert reach([(one, [value])], 1) == f"(t.`c` = {literal})"
    assert reach([(one, [value, value])], FEW + 1) == f"t.`c` >= {literal} AND t.`c` <= {literal}"


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.string(), "${env:HOME}"), (pa.string(), "a\x00"), (pa.string(), "x" * 300), (pa.date32(), "+12026-01-05")],
)
def test_a_value_that_may_not_arrive_as_it_is_bounds_nothing(kind: pa.DataType, value: str) -> None:
    (one,) = bound(kind)
    assert reach([(one, [value])], 1) == "TRUE"
    fine = "2026-01-05" if kind == pa.date32() else "a"
    assert reach([(one, [fine, value])], FEW + 1).startswith("t.`c` >= ")
    assert "<=" not in reach([(one, [fine, value])], FEW + 1)
