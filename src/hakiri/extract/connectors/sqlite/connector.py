"""Implements the connector for SQLite files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hakiri.errors import Place, SourceError
from hakiri.extract.connectors.declared import arrow_type, check_columns, sorts_otherwise
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.misfits import Origin, separate
from hakiri.extract.connectors.sql.predicate import floor_of
from hakiri.extract.connectors.sql.table import described, requested
from hakiri.extract.connectors.sqlite import SqliteConfig
from hakiri.extract.connectors.sqlite.database import NAME, classified, open_table, opened, relation
from hakiri.extract.connectors.sqlite.survey import survey
from hakiri.extract.connectors.sqlite.types import declared_type, fit_column, storage_class, stored_type, why_unordered
from hakiri.extract.errors import TableMissing
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Survey
from hakiri.model.span import Span
from hakiri.model.table import SourceTable, TableSchema
from hakiri.model.types import Type
from hakiri.model.types.arrow import to_arrow
from hakiri.spec.validation_errors import guess

SAFE_PARALLELISM = 4
BATCH_BYTES = 16 << 20
SAMPLE_ROWS = 1_000

COLUMNS = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
ENCODING = "PRAGMA encoding"
SEEN = "SELECT 1 FROM {table} LIMIT 0"
SAMPLE = "SELECT {column} FROM {table} LIMIT {rows}"
OTHER_STORAGE = "SELECT typeof({column}) FROM {table} WHERE typeof({column}) NOT IN ('null', ?) LIMIT 1"
# The first column of a primary key has an index, or is the rowid.
INDEXED = """
    SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(:table) WHERE name = :column AND pk = 1) OR EXISTS (
        SELECT 1 FROM pragma_index_list(:table) AS l JOIN pragma_index_info(l.name) AS i
        WHERE l.partial = 0 AND i.seqno = 0 AND i.name = :column)
    FROM sqlite_master WHERE type = 'table' AND name = :table COLLATE NOCASE"""
TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"


@dataclass(frozen=True, slots=True)
class SqliteConnector:
    """A SQLite file. Each verb reads one snapshot; two verbs may see different ones."""

    config: SqliteConfig
    place: Place | None = None
    """The line of the manifest that names the file."""

    def written(self, where: Callable[[str], Place]) -> Connector:
        return replace(self, place=where("path"))

    def hint(self) -> BackfillHint:
        return BackfillHint(cursor_kind=CursorKind.MONOTONIC, safe_parallelism=SAFE_PARALLELISM)

    def probe(self, table: SourceTable) -> str:
        with self._opened(table) as connection:
            _columns(connection, table)
            connection.execute(SEEN.format(table=relation(table)))
        return f"SQLite {sqlite3.sqlite_version}"

    def describe(self, table: SourceTable) -> TableSchema:
        with self._opened(table) as connection:
            listed = _columns(connection, table)
            declared = {name: kind for name, kind, _ in listed}
            asked = requested(NAME, table, tuple(declared))
            own = {name: declared_type(kind) for name, kind in declared.items()}
            fields = [
                (name, arrow_type(kind) if kind else to_arrow(own[name] or _sampled(connection, table, name)))
                for name, kind in asked.items()
            ]
            schema = pa.schema(fields)
            return described(
                table,
                schema,
                own_key=tuple(name for name, _, place in sorted(listed, key=lambda column: column[2]) if place),
                unordered=lambda cursor: _why_unordered(connection, table, declared[cursor], schema.field(cursor).type),
            )

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        with self._opened(schema.table) as connection:
            return survey(connection, schema, floor_of(schema, since), self.config.piece_rows)

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_columns(NAME, schema.table, list(columns or ()), schema.names)
        fields = schema.select(columns or schema.names)
        selected = ", ".join(map(quoted, fields.names))
        with self._opened(schema.table) as connection:
            rows = connection.execute(*open_table(connection, schema).select(selected, span, floor_of(schema, since)))
            ordinal = 1
            while taken := _take(rows, self.config.batch_rows):
                yield from _batches(taken, fields, Origin(schema.name, ordinal, schema.primary_key))
                ordinal += len(taken)

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:
        with self._opened(schema.table) as connection:
            return open_table(connection, schema).count(span, floor_of(schema, since))

    def is_indexed(self, schema: TableSchema, column: str) -> bool | None:
        if schema.table.query is not None:
            return None
        with self._opened(schema.table) as connection:
            asked = {"table": _name(schema.table), "column": column}
            found = connection.execute(INDEXED, asked).fetchone()
            return bool(found[0]) if found else None

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return classified(failure, table, self.config.path)

    def _opened(self, table: SourceTable) -> Any:
        return opened(self.config.path, self.config.busy_timeout_seconds, table, self.place)


def _name(table: SourceTable) -> str:
    return relation(table).rpartition(".")[2].strip('"')


def _columns(connection: sqlite3.Connection, table: SourceTable) -> list[tuple[str, str, int]]:
    """Return name, declared type and place in the primary key of each column."""
    if found := connection.execute(COLUMNS, [_name(table)]).fetchall():
        return found
    known = [known for (known,) in connection.execute(TABLES)]
    raise TableMissing(connector=NAME, table=table.name, guess=guess(table.name, known))


def _sampled(connection: sqlite3.Connection, table: SourceTable, column: str) -> Type:
    sql = SAMPLE.format(column=quoted(column), table=relation(table), rows=SAMPLE_ROWS)
    found = connection.execute(sql)
    return stored_type(value for (value,) in found)


def _why_unordered(connection: sqlite3.Connection, table: SourceTable, declared: str, kind: pa.DataType) -> str:
    """Return why the cursor sorts differently than in the landed table, by its type, encoding or stored values."""
    if reason := why_unordered(declared, kind):
        return reason
    (encoding,) = connection.execute(ENCODING).fetchone()
    if pa.types.is_string(kind) and encoding != "UTF-8":
        return sorts_otherwise(f"text in {encoding}", kind)
    if not (wanted := storage_class(declared, kind)):
        return ""
    sql = OTHER_STORAGE.format(column=quoted(table.cursor or ""), table=relation(table))
    found = connection.execute(sql, [wanted]).fetchone()
    return sorts_otherwise(f"stored as {found[0]} in some rows", kind) if found else ""


def _take(rows: sqlite3.Cursor, most: int) -> list[tuple[Any, ...]]:
    """Fetch the rows of the next batch; fewer if they are long."""
    taken: list[tuple[Any, ...]] = []
    size = 0
    while len(taken) < most and size < BATCH_BYTES and (row := rows.fetchone()):
        taken.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
    return taken


def _batches(rows: Sequence[Any], fields: pa.Schema, origin: Origin) -> Iterator[pa.RecordBatch]:
    """Yield the rows that fit as one batch, and the others as a batch of quarantined rows."""
    fitted = [fit_column(values, field.type) for values, field in zip(zip(*rows, strict=True), fields, strict=True)]
    batch = pa.RecordBatch.from_arrays([column.array for column in fitted], schema=fields)
    misfits = dict(zip(fields.names, (column.misfits for column in fitted), strict=True))
    yield from separate(batch, misfits, origin, lambda index: dict(zip(fields.names, rows[index], strict=True)))
