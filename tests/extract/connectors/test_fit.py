"""Values fit exactly or are misfits."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hakiri.extract.connectors.declared import arrow_type
from hakiri.extract.connectors.fit import fit_texts, fit_values


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", "bigint", 12),
        ("-128", "tinyint", -128),
        ("1.50", "decimal(10,2)", Decimal("1.50")),
        ("1.5", "double", 1.5),
        ("inf", "double", float("inf")),
        ("true", "boolean", True),
        ("2024-01-02", "date", date(2024, 1, 2)),
        ("2024-01-02 03:04:05.5", "timestamp_ntz", datetime(2024, 1, 2, 3, 4, 5, 500000)),
        ("2024-01-02T03:04:05+02:00", "timestamp", datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("", "string", ""),
    ],
)
def test_a_text_is_read(text: str, kind: str, value: Any) -> None:
    fitted = fit_texts(pa.array([None, text]), arrow_type(kind))
    assert (fitted.array.to_pylist(), fitted.misfits) == ([None, value], {})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("128", "tinyint"),
        ("0x10", "bigint"),
        ("1.0", "bigint"),
        (" 1", "bigint"),
        ("", "bigint"),
        ("9223372036854775808", "bigint"),
        ("1e400", "double"),
        ("1,5", "double"),
        ("1.555", "decimal(10,2)"),
        ("NaN", "decimal(10,2)"),
        ("yes", "boolean"),
        ("2024-02-30", "date"),
        ("2024-01-02T03:04:05Z", "timestamp_ntz"),
        ("2024-01-02T03:04:05", "timestamp"),
        ("2024-01-02T03:04:05.1234567", "timestamp_ntz"),
    ],
)
def test_a_text_that_would_change_is_a_misfit_and_its_neighbours_are_not(text: str, kind: str) -> None:
    good = {"date": "2024-01-01", "timestamp": "2024-01-01T00:00:00Z", "timestamp_ntz": "2024-01-01", "boolean": "true"}
    fine = good.get(kind, "1")
    fitted = fit_texts(pa.array([fine, fine, text, None, fine]), arrow_type(kind))
    assert list(fitted.misfits) == [2]
    assert [value is None for value in fitted.array.to_pylist()] == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (5, "double", 5.0),
        (1.0, "bigint", 1),
        (Decimal("2.50"), "decimal(5,2)", Decimal("2.50")),
        (0.1, "decimal(5,2)", Decimal("0.10")),
        (7, "string", "7"),
        ({"a": [1]}, "string", '{"a": [1]}'),
        ([1, None], "array<bigint>", [1, None]),
        ({"a": 1}, "struct<a:bigint,b:string>", {"a": 1, "b": None}),
        ({"k": 1}, "map<string,bigint>", [("k", 1)]),
        ("2024-01-02", "date", date(2024, 1, 2)),
        (b"\x00", "binary", b"\x00"),
    ],
)
def test_a_value_fits(value: Any, kind: str, expected: Any) -> None:
    fitted = fit_values([None, value], arrow_type(kind))
    assert (fitted.array.to_pylist(), fitted.misfits) == ([None, expected], {})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**53 + 1, "double"),
        (1.5, "bigint"),
        (2**63, "bigint"),
        (True, "bigint"),
        (1, "boolean"),
        (float("nan"), "decimal(5,2)"),
        (0.125, "decimal(5,2)"),
        (b"x", "string"),
        ("x", "binary"),
        ("\udcff", "string"),
        ({"c": 1}, "struct<a:bigint>"),
        (5, "array<bigint>"),
        ([1.5], "array<bigint>"),
        (5, "date"),
        (5, "timestamp"),
    ],
)
def test_a_value_that_would_change_is_a_misfit(value: Any, kind: str) -> None:
    fitted = fit_values([None, value, None], arrow_type(kind))
    assert list(fitted.misfits) == [1]
    assert fitted.array.null_count == 3


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("array<struct<a:int,b:decimal(10,2)>>", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.decimal128(10, 2))]))),
        ("map<string,array<double>>", pa.map_(pa.string(), pa.list_(pa.float64()))),
        ("struct<a:struct<b:timestamp>>", pa.struct([("a", pa.struct([("b", pa.timestamp("us", tz="UTC"))]))])),
    ],
)
def test_a_declared_type_has_an_arrow_type(text: str, kind: pa.DataType) -> None:
    assert arrow_type(text) == kind
