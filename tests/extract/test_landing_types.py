"""Every row of the table of landing types, with values, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hakiri.extract.errors import TypeUnlandable
from hakiri.extract.landing_types import landing_type, to_landing
from hakiri.model.types.arrow import why_not

UTC_MICROS = pa.timestamp("us", tz="UTC")
INSTANT = datetime(2026, 1, 5, 7, 30, 0, 250, tzinfo=UTC)
DECIMAL = Decimal("1.50")

CASES: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.int8(), pa.int8(), -128, -128),
    (pa.uint8(), pa.int16(), 255, 255),
    (pa.uint16(), pa.int32(), 65_535, 65_535),
    (pa.uint32(), pa.int64(), 4_294_967_295, 4_294_967_295),
    (pa.uint64(), pa.decimal128(20, 0), 2**64 - 1, Decimal(2**64 - 1)),
    (pa.float16(), pa.float32(), np.float16(1.5), 1.5),
    (pa.decimal32(5, 2), pa.decimal128(5, 2), DECIMAL, DECIMAL),
    (pa.decimal64(5, 2), pa.decimal128(5, 2), DECIMAL, DECIMAL),
    (pa.decimal256(38, 2), pa.decimal128(38, 2), DECIMAL, DECIMAL),
    (pa.decimal128(3, -2), pa.decimal128(5, 0), Decimal("1.5E+4"), Decimal(15_000)),
    (pa.large_string(), pa.string(), "é", "é"),
    (pa.string_view(), pa.string(), "é", "é"),
    (pa.large_binary(), pa.binary(), b"\xff", b"\xff"),
    (pa.binary(2), pa.binary(), b"\xff\x00", b"\xff\x00"),
    (pa.binary_view(), pa.binary(), b"\xff", b"\xff"),
    (pa.date64(), pa.date32(), date(2026, 1, 5), date(2026, 1, 5)),
    (pa.timestamp("s"), pa.timestamp("us"), datetime(2026, 1, 5), datetime(2026, 1, 5)),
    (pa.timestamp("ns"), pa.timestamp("us"), datetime(2026, 1, 5), datetime(2026, 1, 5)),
    (pa.timestamp("us", tz="Asia/Tokyo"), UTC_MICROS, INSTANT, INSTANT),
    (pa.time32("s"), pa.string(), time(7, 30), "07:30:00"),
    (pa.time64("us"), pa.string(), time(7, 30, 0, 250), "07:30:00.000250"),
    (pa.null(), pa.string(), None, None),
    (pa.dictionary(pa.int8(), pa.string()), pa.string(), "red", "red"),
    (pa.run_end_encoded(pa.int32(), pa.int64()), pa.int64(), 7, 7),
    (pa.large_list(pa.uint8()), pa.list_(pa.int16()), [1, None], [1, None]),
    (pa.list_(pa.large_string(), 2), pa.list_(pa.string()), ["a", "b"], ["a", "b"]),
    (pa.struct([("a", pa.uint8())]), pa.struct([("a", pa.int16())]), {"a": 1}, {"a": 1}),
    (
        pa.map_(pa.large_string(), pa.time32("s")),
        pa.map_(pa.string(), pa.string()),
        [("a", time(7))],
        [("a", "07:00:00")],
    ),
]


def batch_of(kind: pa.DataType, value: Any) -> pa.RecordBatch:
    if pa.types.is_run_end_encoded(kind):
        array = pa.RunEndEncodedArray.from_arrays([2], pa.array([value], kind.value_type), kind)
    else:
        array = pa.array([value, None], type=kind)
    return pa.RecordBatch.from_arrays([array], names=["odd"])


@pytest.mark.parametrize(("kind", "lands_as", "value", "landed"), CASES, ids=[str(case[0]) for case in CASES])
def test_a_type_lands_as_the_table_says(kind: pa.DataType, lands_as: pa.DataType, value: Any, landed: Any) -> None:
    batch = to_landing(batch_of(kind, value), table="t")
    assert batch.column("odd").type == lands_as
    assert batch.column("odd")[0].as_py() == landed
    assert why_not(batch.column("odd").type) is None


@pytest.mark.parametrize("case", CASES, ids=[str(case[0]) for case in CASES])
def test_what_has_landed_lands_unchanged(case: tuple[pa.DataType, pa.DataType, Any, Any]) -> None:
    once = to_landing(batch_of(case[0], case[2]), table="t")
    assert to_landing(once, table="t").column("odd").equals(once.column("odd"))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pa.array([1], pa.timestamp("ns")), "do not all fit timestamp"),
        (pa.array([1], pa.int64()).view(pa.date64()), "do not all fit date32"),
        (pa.array([2**60], pa.timestamp("s")), "do not all fit timestamp"),
        (pa.array([Decimal(1)], pa.decimal256(60, 2)), "more than 38 digits"),
        (pa.nulls(1, pa.duration("us")), "Delta has no duration"),
        (pa.nulls(1, pa.month_day_nano_interval()), "Delta has no month_day_nano"),
        (pa.nulls(1, pa.uuid()), "Delta has no extension<arrow.uuid>"),
        (pa.nulls(1, pa.struct([])), "without members"),
        (pa.nulls(1, pa.list_view(pa.int8())), "Delta has no list_view"),
    ],
    ids=[
        "nanoseconds",
        "part of a day",
        "far future",
        "60 digits",
        "duration",
        "interval",
        "extension",
        "empty struct",
        "view",
    ],
)
def test_what_would_change_a_value_is_refused_by_name(array: pa.Array, reason: str) -> None:
    with pytest.raises(TypeUnlandable) as raised:
        to_landing(pa.RecordBatch.from_arrays([array], names=["odd"]), table="t")
    assert raised.value.column == "odd"
    assert reason in raised.value.reason


def test_a_refusal_does_not_repeat_the_value() -> None:
    with pytest.raises(TypeUnlandable) as raised:
        to_landing(pa.RecordBatch.from_arrays([pa.array([1234567], pa.timestamp("ns"))], names=["odd"]), table="t")
    assert "1234567" not in raised.value.message()


def test_every_kind_of_json_text_lands_as_text() -> None:
    assert landing_type(pa.json_()) == pa.string()
