"""What a Parquet footer says becomes what Delta may rely on, and no more."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hakiri.land.delta.adopt import INDEXED_LEAVES, delta_statistics

LONG = Decimal("1234567890123456789012345678.0123456789")


def statistics(path: Path, content: pa.Table, **options: Any) -> dict[str, Any]:
    pq.write_table(content, path / "part.parquet", **options)
    found: dict[str, Any] = json.loads(
        delta_statistics(pq.read_metadata(path / "part.parquet")), parse_float=Decimal, parse_int=int
    )
    return found


@pytest.mark.parametrize(
    ("kind", "values", "low", "high"),
    [
        (pa.int8(), [-1, 5, None], -1, 5),
        (pa.int64(), [2**62, -(2**62)], -(2**62), 2**62),
        (pa.decimal128(38, 10), [LONG], LONG, LONG),
        (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)], "0001-01-01", "9999-12-31"),
        (
            pa.timestamp("us", "UTC"),
            [datetime(2026, 1, 1, 1, 2, 3, 123456, tzinfo=UTC)],
            *["2026-01-01T01:02:03.123456Z"] * 2,
        ),
        (pa.timestamp("us"), [datetime(1, 1, 1)], *["0001-01-01T00:00:00.000000"] * 2),
        (pa.string(), ["b", "a"], "a", "b"),
    ],
    ids=str,
)
def test_bounds_have_the_form_that_delta_reads(
    tmp_path: Path, kind: pa.DataType, values: list[Any], low: Any, high: Any
) -> None:
    found = statistics(tmp_path, pa.table({"c": pa.array(values, kind)}))
    assert found["numRecords"] == len(values)
    assert found["minValues"]["c"] == low
    assert found["maxValues"]["c"] == high
    assert found["nullCount"]["c"] == values.count(None)


@pytest.mark.parametrize(
    ("last", "mark"),
    [("m", "\x7f"), ("é", "\U0010ffff"), ("\x7f", "\U0010ffff")],
    ids=["ascii", "beyond", "delete"],
)
def test_a_long_text_is_cut_downwards_and_upwards(tmp_path: Path, last: str, mark: str) -> None:
    long = "x" * 32 + last * 40
    found = statistics(tmp_path, pa.table({"c": [long]}))
    assert found["minValues"]["c"] == "x" * 32
    assert found["maxValues"]["c"] == "x" * 32 + mark
    assert found["minValues"]["c"] <= long <= found["maxValues"]["c"]


def test_a_text_that_nothing_sorts_after_has_no_greatest_value(tmp_path: Path) -> None:
    found = statistics(tmp_path, pa.table({"c": ["\U0010ffff" * 40]}))
    assert "c" not in found["maxValues"]


def test_a_float_has_no_greatest_value_because_nan_is_not_counted(tmp_path: Path) -> None:
    found = statistics(tmp_path, pa.table({"c": [1.5, float("nan")]}))
    assert found["minValues"] == {"c": Decimal("1.5")}
    assert found["maxValues"] == {}


def test_what_cannot_be_bounded_is_still_counted(tmp_path: Path) -> None:
    content = pa.table(
        {
            "none": pa.array([None, None], pa.int32()),
            "flag": [True, None],
            "raw": [b"x", None],
            "inf": [float("-inf")] * 2,
        }
    )
    found = statistics(tmp_path, content)
    assert found["minValues"] == found["maxValues"] == {}
    assert found["nullCount"] == {"none": 2, "flag": 1, "raw": 1, "inf": 0}


def test_a_struct_is_bounded_field_by_field_and_a_list_not_at_all(tmp_path: Path) -> None:
    kind = pa.struct([("a.b", pa.int32()), ("deep", pa.struct([("z", pa.string())]))])
    rows = [{"a.b": 1, "deep": {"z": "q"}}, {"a.b": 3, "deep": None}, None]
    listed = pa.array([[1], [9], []], pa.list_(pa.int32()))
    mapped = pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32()))
    found = statistics(tmp_path, pa.table({"l": listed, "m": mapped, "s": pa.array(rows, kind), "last": [1, 2, 3]}))
    assert found["minValues"] == {"s": {"a.b": 1, "deep": {"z": "q"}}, "last": 1}
    assert found["maxValues"] == {"s": {"a.b": 3, "deep": {"z": "q"}}, "last": 3}
    assert found["nullCount"] == {"s": {"a.b": 1, "deep": {"z": 2}}, "last": 0}


def test_row_groups_are_taken_together(tmp_path: Path) -> None:
    content = pa.table({"c": pa.array([5, 6, None, None, 1, 2], pa.int32())})
    found = statistics(tmp_path, content, row_group_size=2)
    assert (found["minValues"]["c"], found["maxValues"]["c"], found["nullCount"]["c"]) == (1, 6, 2)


def test_a_file_without_statistics_promises_nothing(tmp_path: Path) -> None:
    found = statistics(tmp_path, pa.table({"c": [1]}), write_statistics=False)
    assert found == {"numRecords": 1, "minValues": {}, "maxValues": {}, "nullCount": {}}


def test_only_the_first_columns_are_indexed(tmp_path: Path) -> None:
    found = statistics(tmp_path, pa.table({f"c{number}": [number] for number in range(40)}))
    assert len(found["minValues"]) == INDEXED_LEAVES
