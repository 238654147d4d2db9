"""What SQL sources share works for a dialect that is none of theirs: other quotation marks, keys fetched as text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.predicate import Floor
from hakiri.extract.connectors.sql.survey import count_pieces, counted_keys, cursor_bounds, sampled_keys, share_rows
from hakiri.extract.connectors.sql.table import OpenTable
from hakiri.extract.errors import RequestWrong
from hakiri.model.key import Key, KeyValue
from hakiri.model.span import KeyRange, PageToken, WholeTable, cut
from hakiri.model.table import SourceTable, TableSchema

ODD = "a `b` c"
COLUMNS = (ODD, "seen")
ROWS = [(number // 3, None if number % 10 == 0 else number % 4) for number in range(90)] + [(None, 2), (None, None)]


@dataclass(slots=True)
class Backticks:
    """The syntax of MySQL, as far as SQLite understands it."""

    values: list[Any] = field(default_factory=list)

    def quoted(self, name: str) -> str:
        return quoted(name, "`")

    def key(self, column: str) -> str:
        return self.quoted(column)

    def bind(self, column: str, value: KeyValue) -> str:  # noqa: ARG002
        self.values.append(value)
        return "?"

    def bounded(self, column: str) -> str:
        return f"{self.quoted(column)} < 3"

    def below(self, column: str) -> str:  # noqa: ARG002
        return ""

    def position(self, bound: int, *, at_least: bool) -> str:
        raise NotImplementedError

    def fetched(self, expression: str) -> str:
        return f"CAST({expression} AS TEXT)"

    def extremes(self, column: str) -> str:
        return f"CAST(min({self.key(column)}) AS TEXT), CAST(max({self.key(column)}) AS TEXT)"

    def value(self, column: str, found: str) -> KeyValue:  # noqa: ARG002
        return int(found)


@pytest.fixture
def table() -> Iterator[OpenTable]:
    connection = sqlite3.connect(":memory:")
    names = ", ".join(quoted(name, "`") for name in COLUMNS)
    connection.execute(f"CREATE TABLE things ({names})")
    connection.executemany("INSERT INTO things VALUES (?, ?)", ROWS)
    schema = TableSchema(SourceTable("things", cursor="seen"), pa.schema([(name, pa.int64()) for name in COLUMNS]))

    def ask(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return connection.execute(sql, values).fetchall()

    yield OpenTable("things", schema, "things", partial(Backticks), ask)
    connection.close()


@pytest.mark.parametrize("columns", [(ODD,), (ODD, "seen")])
@pytest.mark.parametrize("rows", [1, 7, 40, 1_000])
def test_pieces_at_counted_keys_have_every_row_once_and_are_no_larger_than_asked_but_for_ties(
    table: OpenTable, columns: tuple[str, ...], rows: int
) -> None:
    survey = count_pieces(table, cut(columns, counted_keys(table, columns, rows), with_nulls=True), None, row_bytes=8)
    sizes = [piece.rows or 0 for piece in survey.pieces]
    assert sum(sizes) == len(ROWS)
    assert survey.is_exact
    first_has_nulls = 2 + sum(seen is None for _, seen in ROWS[:90]) if len(columns) > 1 else 2
    assert max([sizes[0] - first_has_nulls, *sizes[1:]]) <= max(rows, 3)


def test_keys_of_a_sample_of_all_rows_split_them_evenly(table: OpenTable) -> None:
    points = sampled_keys(table, (ODD,), None, 9, "things")
    assert points == [(number // 3,) for number in range(9, 89, 10)]
    spans = cut((ODD,), points, with_nulls=True)
    assert sum(table.count(span, None) for span in spans) == len(ROWS)


def test_a_sample_has_the_rows_above_a_floor_only(table: OpenTable) -> None:
    points = sampled_keys(table, (ODD,), Floor(ODD, 20), 3, "things")
    assert [point for point in points if point < (20,)] == []
    assert len(points) == 2


def test_estimated_rows_are_shared_out_without_a_rest(table: OpenTable) -> None:
    spans = cut((ODD,), [(10,), (20,)], with_nulls=True)
    survey = share_rows(table, spans, 100, row_bytes=3, is_exact=True)
    assert [piece.rows for piece in survey.pieces] == [33, 33, 34]
    assert [piece.bytes for piece in survey.pieces] == [99, 99, 102]
    assert not survey.is_exact, "the pieces are estimates even if the table was counted"


def test_bounds_are_those_of_valid_cursor_values(table: OpenTable) -> None:
    assert cursor_bounds(table) == (0, 2)


def test_a_floor_reads_rows_without_a_cursor_value_each_time(table: OpenTable) -> None:
    above = [seen for _, seen in ROWS if seen is None or seen >= 3]
    assert table.count(WholeTable(), Floor("seen", 3)) == len(above)


def test_rows_with_a_null_in_a_key_are_in_the_range_that_takes_them(table: OpenTable) -> None:
    low: Key = (10, 0)
    inside = KeyRange((ODD, "seen"), low)
    nulls = sum(None in row for row in ROWS)
    assert table.count(KeyRange((ODD, "seen"), low, with_nulls=True), None) == table.count(inside, None) + nulls


def test_a_span_that_no_database_has_is_refused(table: OpenTable) -> None:
    with pytest.raises(RequestWrong, match="it has no PageToken to read"):
        table.count(PageToken("next"), None)
