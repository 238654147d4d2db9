"""A table of a SQL source that is open for reading, and the statements that every source sends for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hakiri.extract.connectors.declared import check_named
from hakiri.extract.connectors.sql.dialect import Dialect
from hakiri.extract.connectors.sql.predicate import Floor, UnknownSpan, condition
from hakiri.extract.errors import RequestWrong
from hakiri.model.span import Span
from hakiri.model.table import SourceTable, TableSchema

ROWS = "SELECT {selected} FROM {relation} WHERE {condition}"


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A described table in an open transaction."""

    connector: str
    schema: TableSchema
    relation: str
    """What follows FROM."""
    dialect: Callable[[], Dialect]
    """Returns the dialect for a new statement."""
    ask: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
    """Runs a query with the values of its dialect, and returns all rows."""

    def select(self, selected: str, span: Span, floor: Floor | None) -> tuple[str, Sequence[Any]]:
        """Return the query for the rows of a span at or above the floor, and its values.

        Raises RequestWrong for a kind of span that databases do not have.
        """
        dialect = self.dialect()
        try:
            where = condition(span, floor, dialect)
        except UnknownSpan as cause:
            reason = f"it has no {cause} to read"
            raise RequestWrong(connector=self.connector, table=self.schema.name, reason=reason) from cause
        return ROWS.format(selected=selected, relation=self.relation, condition=where), dialect.values

    def count(self, span: Span, floor: Floor | None) -> int:
        """Count the rows of a span at or above the floor."""
        counted: int = self.ask(*self.select("count(*)", span, floor))[0][0]
        return counted


def requested(connector: str, table: SourceTable, known: tuple[str, ...]) -> Mapping[str, str | None]:
    """Return the columns to read, each with its declared type; None for the source's type. Raises ColumnMissing."""
    check_named(connector, table, known)
    return {column.name: column.type for column in table.columns} or dict.fromkeys(known)


def described(
    table: SourceTable, columns: pa.Schema, *, own_key: tuple[str, ...], unordered: Callable[[str], str]
) -> TableSchema:
    """Return the description of a table from the columns that are read and the source's primary key.

    `unordered` tells why a cursor column sorts otherwise than in the landed table: see `TableSchema.unordered`.
    """
    key = table.primary_key or (own_key if set(own_key) <= set(columns.names) else ())
    cursor = table.cursor
    why = unordered(cursor) if cursor is not None and cursor in columns.names else ""
    return TableSchema(table, columns, key, own_key, why)
