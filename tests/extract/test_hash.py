"""The row hash is what the documents say, for any row, in any batch, on any day."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.row_oracle import oracle_hash, record
from extract.row_strategies import batches, kinds, values
from hakiri.extract.encoding import encode_rows
from hakiri.extract.hash import content_of, row_hashes
from hakiri.extract.landing_types import to_landing
from hakiri.model.staged import PROVENANCE, Content

GOLDEN = Path(__file__).parents[2] / "fixtures" / "row_hash" / "expected.json"
FEW = settings(max_examples=40, deadline=None)
MAP = pa.map_(pa.string(), pa.int64())
CASES: dict[str, dict[str, tuple[Any, pa.DataType]]] = {
    "no value at all": {"a": (None, pa.string())},
    "the empty text": {"a": ("", pa.string())},
    "a text": {"a": ("Grüße, 世界", pa.string())},
    "an integer": {"a": (1, pa.int64())},
    "the text of an integer": {"a": ("1", pa.string())},
    "a truth": {"a": (True, pa.bool_())},
    "a double": {"a": (0.1, pa.float64())},
    "a float": {"a": (0.1, pa.float32())},
    "zero": {"a": (0.0, pa.float64())},
    "not a number": {"a": (float("nan"), pa.float64())},
    "a decimal": {"a": (Decimal("1.50"), pa.decimal128(10, 2))},
    "the decimal with another scale": {"a": (Decimal("1.5"), pa.decimal128(10, 1))},
    "bytes": {"a": (b"\x00\xff", pa.binary())},
    "a day": {"a": (date(2026, 1, 5), pa.date32())},
    "an instant": {"a": (datetime(2026, 1, 5, 7, 30, tzinfo=UTC), pa.timestamp("us", tz="UTC"))},
    "a plain timestamp": {"a": (datetime(2026, 1, 5, 7, 30), pa.timestamp("us"))},
    "an empty list": {"a": ([], pa.list_(pa.int64()))},
    "a list with a gap": {"a": ([1, None, 3], pa.list_(pa.int64()))},
    "a struct": {"a": ({"x": 1, "y": None}, pa.struct([("x", pa.int64()), ("y", pa.string())]))},
    "a map": {"a": ([("k", 1), ("j", None)], MAP)},
    "two columns": {"b": (2, pa.int64()), "a": (1, pa.int64())},
    "two columns, swapped": {"b": (1, pa.int64()), "a": (2, pa.int64())},
}


def one_row(cells: dict[str, tuple[Any, pa.DataType]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([value], type=kind) for value, kind in cells.values()], names=list(cells)
    )


def hashed(**cells: tuple[Any, pa.DataType]) -> str:
    return str(row_hashes(one_row(cells))[0].as_py())


def test_the_hashes_are_those_of_every_release_before() -> None:
    """A hash that changes makes every landed row look new. This file is never regenerated."""
    found = {name: hashed(**cells) for name, cells in CASES.items()}
    assert found == json.loads(GOLDEN.read_text())


def test_no_two_of_the_cases_are_taken_for_each_other() -> None:
    assert len({hashed(**cells) for cells in CASES.values()}) == len(CASES)


@FEW
@given(batches())
def test_a_row_hashes_as_documented(batch: pa.RecordBatch) -> None:
    assert row_hashes(batch).to_pylist() == [oracle_hash(row, batch.schema) for row in batch.to_pylist()]


@FEW
@given(batches(), st.data())
def test_neither_batch_borders_nor_column_order_matter(batch: pa.RecordBatch, data: st.DataObject) -> None:
    shuffled = batch.select(data.draw(st.permutations(batch.schema.names)))
    cut = data.draw(st.integers(0, batch.num_rows))
    halves = [shuffled.slice(0, cut), shuffled.slice(cut)]
    assert [one for half in halves for one in row_hashes(half).to_pylist()] == row_hashes(batch).to_pylist()


@FEW
@given(st.data())
def test_different_values_have_different_encodings(data: st.DataObject) -> None:
    one_kind, other_kind = data.draw(kinds()), data.draw(kinds())
    one, other = data.draw(values(one_kind)), data.draw(values(other_kind))
    encodings = [encode_rows(one_row({"a": cell}))[0].as_py() for cell in ((one, one_kind), (other, other_kind))]
    assert (encodings[0] == encodings[1]) == (record([("a", one_kind, one)]) == record([("a", other_kind, other)]))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
ROWS = st.dictionaries(TEXTS.filter(bool), st.none() | TEXTS, max_size=4)


def present(row: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in row.items() if value is not None}


@FEW
@given(ROWS, ROWS)
def test_distinct_rows_differ_and_equal_rows_do_not(one: dict[str, str | None], other: dict[str, str | None]) -> None:
    hashes = [
        hashed(a=(None, pa.string()), **{k: (v, pa.string()) for k, v in row.items() if k != "a"})
        for row in (one, other)
    ]
    kept = [present({**row, "a": None}) for row in (one, other)]
    assert (hashes[0] == hashes[1]) == (kept[0] == kept[1])


def test_a_table_that_gains_a_column_keeps_its_hashes() -> None:
    assert hashed(a=(1, pa.int64())) == hashed(a=(1, pa.int64()), b=(None, pa.string()))


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [(pa.int8(), pa.int64()), (pa.float32(), pa.float64()), (pa.decimal128(5, 2), pa.decimal128(38, 2))],
    ids=["integers", "floats", "decimals"],
)
def test_a_column_that_widens_keeps_its_hashes(narrow: pa.DataType, wide: pa.DataType) -> None:
    value = Decimal("1.00") if pa.types.is_decimal(narrow) else 1
    assert hashed(a=(value, narrow)) == hashed(a=(value, wide))


def test_there_is_one_zero_and_one_nan() -> None:
    assert hashed(a=(0.0, pa.float64())) == hashed(a=(-0.0, pa.float64()))
    odd = pa.array([0x7FF8000000000001], pa.int64()).view(pa.float64())
    assert row_hashes(pa.RecordBatch.from_arrays([odd], names=["a"]))[0].as_py() == hashed(
        a=(float("nan"), pa.float64())
    )


def test_the_order_in_a_map_does_not_matter_and_in_a_list_it_does() -> None:
    assert hashed(a=([("x", 1), ("y", 2)], MAP)) == hashed(a=([("y", 2), ("x", 1)], MAP))
    numbers = pa.list_(pa.int64())
    assert hashed(a=([1, 2], numbers)) != hashed(a=([2, 1], numbers))


def test_provenance_is_not_content() -> None:
    told = {name: ("x", pa.string()) for name in PROVENANCE}
    assert hashed(a=(1, pa.int64()), **told) == hashed(a=(1, pa.int64()))


def test_unsigned_numbers_hash_as_they_land() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([200], pa.uint8())], names=["a"])
    assert row_hashes(to_landing(batch, table="t"))[0].as_py() == hashed(a=(200, pa.int64()))


@FEW
@given(st.lists(st.integers(-3, 3), max_size=20), st.randoms(use_true_random=False), st.integers(0, 20))
def test_content_knows_rows_and_how_often_and_no_order(numbers: list[int], random: Any, cut: int) -> None:
    def content(values: list[int]) -> Content:
        return content_of(row_hashes(pa.RecordBatch.from_pydict({"a": pa.array(values, pa.int64())})))

    shuffled = random.sample(numbers, len(numbers))
    assert content(numbers) == content(shuffled) == content(shuffled[:cut]) + content(shuffled[cut:])
    assert content([*numbers, 1]) != content(numbers)
