"""Values fit exactly or are misfits."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.extract.connectors.declared import arrow_type
from hakiri.extract.connectors.fit_values import fit_array, fit_texts, fit_values


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", "bigint", 12),
        ("-128", "tinyint", -128),
        ("1.50", "decimal(10,2)", Decimal("1.50")),
        ("1.5", "double", 1.5),
        ("0.1", "double", 0.1),
        ("3.14159265358979323846", "double", 3.141592653589793),
        ("9007199254740994", "double", 9007199254740994.0),
        ("1152921504606847000", "double", 1152921504606847000.0),
        ("6.02214076e23", "double", 6.02214076e23),
        ("9.999999999999999161e+22", "double", 1e23),
        ("0.000e-5", "double", 0.0),
        ("0.1", "float", 0.10000000149011612),
        ("16777216", "float", 16777216.0),
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
        ("1e-400", "double"),
        ("9007199254740993", "double"),
        ("12345678901234567.5", "double"),
        ("16777217", "float"),
        ("16777217.00", "float"),
        ("1e39", "float"),
        ("1e-50", "float"),
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
        (2**60, "double", float(2**60)),
        (Decimal("0.5"), "float", 0.5),
        (float("inf"), "float", float("inf")),
        ([0.5, 2], "array<float>", [0.5, 2.0]),
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
        (Decimal("1e-400"), "double"),
        (2**24 + 1, "float"),
        (1e300, "float"),
        (Decimal("16777217.0"), "float"),
        ([2**24 + 1], "array<float>"),
        ([2**53 + 1], "array<double>"),
        (1.555, "decimal(3,2)"),
        (1.9999999, "decimal(10,2)"),
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


UTC_TIME = pa.timestamp("us", tz="UTC")
PLAIN_TIME = pa.timestamp("us")
NOON, MIDNIGHT = datetime(2024, 1, 2, 12), datetime(2024, 1, 2)


@pytest.mark.parametrize(
    ("value", "stored", "kind", "expected"),
    [
        (0.1, pa.float64(), "float", 0.10000000149011612),
        (21.299999237060547, pa.float64(), "float", 21.299999237060547),
        (16777218.0, pa.float64(), "float", 16777218.0),
        (1e20, pa.float64(), "float", 1.0000000200408773e20),
        (float("-inf"), pa.float64(), "float", float("-inf")),
        (0.0, pa.float64(), "float", 0.0),
        (1.55, pa.float64(), "decimal(3,2)", Decimal("1.55")),
        (0.1, pa.float32(), "decimal(38,20)", Decimal("0.1")),
        (1e20, pa.float64(), "decimal(21,0)", Decimal(10**20)),
        (5, pa.int64(), "decimal(3,2)", Decimal(5)),
        (2**53, pa.int64(), "double", float(2**53)),
        (Decimal("0.10"), pa.decimal128(10, 2), "double", 0.1),
        (Decimal("9999999.99"), pa.decimal128(9, 2), "float", 1e7),
        (MIDNIGHT, PLAIN_TIME, "date", date(2024, 1, 2)),
        (date(2024, 1, 2), pa.date32(), "timestamp_ntz", MIDNIGHT),
        ("16777216", pa.large_string(), "float", 16777216.0),
        ("5", pa.dictionary(pa.int8(), pa.string()), "bigint", 5),
        (True, pa.bool_(), "string", "true"),
        ([1, None], pa.large_list(pa.int64()), "array<tinyint>", [1, None]),
        ({"b": 1}, pa.struct([("b", pa.int8())]), "struct<a:string,b:bigint>", {"a": None, "b": 1}),
        ([("k", 1.55)], pa.map_(pa.string(), pa.float64()), "map<string,decimal(3,2)>", [("k", Decimal("1.55"))]),
    ],
)
def test_a_stored_value_fits(value: Any, stored: pa.DataType, kind: str, expected: Any) -> None:
    fitted = fit_array(pa.array([None, value], stored), arrow_type(kind))
    assert (fitted.array.to_pylist(), fitted.misfits) == ([None, expected], {})
    assert fitted.array.type == arrow_type(kind)


@pytest.mark.parametrize(
    ("fine", "value", "stored", "kind"),
    [
        (1.5, 1e300, pa.float64(), "float"),
        (1.5, 1e-300, pa.float64(), "float"),
        (1.5, 16777217.0, pa.float64(), "float"),
        (1.5, 6.02214076e23, pa.float64(), "float"),
        (1.5, 1.555, pa.float64(), "decimal(3,2)"),
        (1.5, 1.9999999, pa.float64(), "decimal(10,2)"),
        (1.5, float("nan"), pa.float64(), "decimal(10,2)"),
        (1.0, 1.5, pa.float64(), "bigint"),
        (1, 16777217, pa.int32(), "float"),
        (1, 2**63 - 1, pa.int64(), "double"),
        (1, 2**64 - 1, pa.uint64(), "double"),
        (1, 1000, pa.int64(), "decimal(5,2)"),
        (Decimal(1), Decimal("12345678901234567.89"), pa.decimal128(38, 2), "double"),
        (Decimal(1), Decimal("99999999999999999"), pa.decimal128(17, 0), "double"),
        (MIDNIGHT, NOON, PLAIN_TIME, "date"),
        ("1", "16777217", pa.large_string(), "float"),
        ("1", "0x10", pa.string_view(), "bigint"),
        ([1.5], [1.5, 1e300], pa.list_(pa.float64()), "array<float>"),
        ({"a": 1.5}, {"a": 1.555}, pa.struct([("a", pa.float64())]), "struct<a:decimal(3,2)>"),
        ({"a": 1}, {"b": 1}, pa.struct([("a", pa.int64()), ("b", pa.int64())]), "struct<a:bigint>"),
        ([("1", 1.5)], [("1", 1e300)], pa.map_(pa.string(), pa.float64()), "map<string,float>"),
        ([("1", 1)], [("1", 1), ("x", 1)], pa.map_(pa.string(), pa.int64()), "map<int,bigint>"),
    ],
)
def test_a_stored_value_that_would_change_is_a_misfit_and_its_neighbours_are_not(
    fine: Any, value: Any, stored: pa.DataType, kind: str
) -> None:
    fitted = fit_array(pa.array([fine, None, value, fine], stored), arrow_type(kind))
    assert list(fitted.misfits) == [2]
    assert fitted.array.is_null().to_pylist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("value", "stored", "kind"),
    [
        (1, pa.int64(), "boolean"),
        (True, pa.bool_(), "bigint"),
        (1, pa.int64(), "timestamp"),
        (1, pa.int32(), "date"),
        (NOON, PLAIN_TIME, "bigint"),
        (NOON, PLAIN_TIME, "timestamp"),
        (NOON.replace(tzinfo=UTC), UTC_TIME, "timestamp_ntz"),
        (MIDNIGHT.replace(tzinfo=UTC), UTC_TIME, "date"),
        (date(2024, 1, 2), pa.date32(), "timestamp"),
        (b"12", pa.large_binary(), "bigint"),
        ({"a": 1}, pa.struct([("a", pa.int64())]), "string"),
    ],
)
def test_a_stored_value_of_another_kind_is_a_misfit(value: Any, stored: pa.DataType, kind: str) -> None:
    fitted = fit_array(pa.array([value, None, value], stored), arrow_type(kind))
    assert list(fitted.misfits) == [0, 2]
    assert fitted.array.null_count == 3


def test_a_part_of_a_nested_column_has_the_misfits_of_its_own_rows() -> None:
    lists = pa.array([[1e300], None, [1.5, 2.5], [], [0.5, 1e300]])
    fitted = fit_array(lists.slice(1), pa.list_(pa.float32()))
    assert (fitted.array.to_pylist(), list(fitted.misfits)) == ([None, [1.5, 2.5], [], None], [3])


@settings(deadline=None)
@given(st.one_of(st.integers(-(2**70), 2**70), st.decimals(allow_nan=False, allow_infinity=False, places=3)))
def test_a_number_is_the_nearest_double_and_a_whole_one_never_changes_in_it(number: int | Decimal) -> None:
    for fitted in (fit_values([number], pa.float64()), fit_texts(pa.array([f"{Decimal(number):f}"]), pa.float64())):
        (double,) = fitted.array.to_pylist()
        assert bool(fitted.misfits) == (double is None)
        assert double in (None, float(number))
        if double is not None and number == int(number):
            assert Decimal(number) in (Decimal(double), Decimal(repr(double)))


DECIMALS = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(lambda one: pa.decimal128(one[0], min(one)))
NUMBERS = st.one_of(
    st.from_regex(r"-?[0-9]{1,160}(\.[0-9]{1,60})?(e[+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?1?0{20,150}(\.0{0,60})?[0-9]?", fullmatch=True),
    st.from_regex(r"-?9{1,60}(\.9{1,40})?(e-?[0-9]{1,2})?", fullmatch=True),
)


@settings(deadline=None, max_examples=500)
@given(NUMBERS, DECIMALS)
def test_a_number_of_any_length_lands_digit_by_digit_or_is_a_misfit(text: str, kind: pa.DataType) -> None:
    number = Decimal(text)
    told = [number] if number != number.to_integral() else [number, int(number)]
    for fitted in (fit_texts(pa.array([None, text]), kind), *(fit_values([None, one], kind) for one in told)):
        nothing, found = fitted.array.to_pylist()
        assert nothing is None
        assert (1 in fitted.misfits) == (found is None)
        assert found is None or found == number


@pytest.mark.parametrize("text", ["1E-999999999", "-1e-99999999999999999999", "1e999999999", f"0.{'0' * 3_000_000}1"])
@pytest.mark.parametrize("kind", ["decimal(38,38)", "decimal(38,10)", "decimal(1,0)"])
def test_a_number_that_would_lead_arrow_out_of_its_memory_is_a_misfit(text: str, kind: str) -> None:
    fitted = fit_texts(pa.array(["0", text, "0e-999999999"]), arrow_type(kind))
    assert (fitted.array.to_pylist(), list(fitted.misfits)) == ([0, None, 0], [1])


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), DECIMALS)
def test_a_double_becomes_the_decimal_that_it_is_written_as_or_is_a_misfit(number: float, kind: pa.DataType) -> None:
    fitted = fit_array(pa.array([number]), kind)
    (found,) = fitted.array.to_pylist()
    assert found is None or found == Decimal(repr(number))
    assert bool(fitted.misfits) == (found is None)


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


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ({"a": 1}, "bigint", "is an object, not a number"),
        ([1], "double", "is a list, not a number"),
        (True, "decimal(10,2)", "is a boolean, not a number"),
        (b"1", "bigint", "is binary, not a number"),
        ("1", "binary", "is text in a binary column"),
        (Decimal(1), "binary", "is a number in a binary column"),
    ],
)
def test_a_value_of_another_kind_is_told_in_plain_words(value: Any, kind: str, reason: str) -> None:
    assert fit_values([value], arrow_type(kind)).misfits == {0: reason}
