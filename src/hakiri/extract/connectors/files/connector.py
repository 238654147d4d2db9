"""Implements the connector for a folder of files; each file is a piece."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.errors import Place, SourceError
from hakiri.extract.connectors.declared import arrow_type, check_columns, check_named, has_numbers
from hakiri.extract.connectors.files import FilesConfig, Format
from hakiri.extract.connectors.files.file_version import Front
from hakiri.extract.connectors.files.parquet import open_parquet
from hakiri.extract.connectors.files.rows import (
    Wanted,
    csv_rows,
    csv_schema,
    jsonl_rows,
    jsonl_schema,
    parquet_rows,
    parquet_schema,
)
from hakiri.extract.connectors.files.spelling import without_respelled
from hakiri.extract.connectors.files.store import MEND, NAME, Found, Store, classified
from hakiri.extract.connectors.infer import settled, widened
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.errors import BadValue, RequestWrong
from hakiri.model.cursor import EXACT_REAL
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import OneFile, Span, WholeTable
from hakiri.model.table import SourceTable, TableSchema

_Answer = TypeVar("_Answer")

SAFE_PARALLELISM = 8
SAMPLE_FILES = 16
SAMPLE_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class FilesConnector:
    """Files below one path. A file is read only in the version that was surveyed."""

    config: FilesConfig
    place: Place | None = None
    """The line of the manifest that names the folder."""

    def written(self, where: Callable[[str], Place]) -> Connector:
        return replace(self, place=where("path"))

    def hint(self) -> BackfillHint:
        return BackfillHint(cursor_kind=CursorKind.MONOTONIC, safe_parallelism=SAFE_PARALLELISM)

    def probe(self, table: SourceTable) -> str:
        found = self._files(table)
        return f"{len(found)} {'file' if len(found) == 1 else 'files'}"

    def describe(self, table: SourceTable) -> TableSchema:
        asked = {column.name: column.type for column in table.columns}
        kinds: dict[str, pa.DataType] = {}
        for file in _sample(self._files(table)):
            schema = self._schema(table, file, list(asked))
            if not asked and file.format != "jsonl":  # JSON lines may have new keys in every line
                Wanted(pa.schema(list(kinds.items())), True, file.path, table.name).require_one_of(schema.names)
            for field in without_respelled(pa.struct(list(kinds.items())), pa.struct(list(schema))):
                kinds[field.name] = widened(kinds[field.name], field.type) if field.name in kinds else field.type
        if kinds:  # without any rows no columns are known, so none is missing
            check_named(NAME, table, tuple(kinds))
        wanted = asked or dict.fromkeys(kinds)
        seen = {name: arrow_type(told) if told else kinds.get(name, pa.null()) for name, told in wanted.items()}
        fields = [(name, kind if wanted[name] else settled(kind)) for name, kind in seen.items()]
        found = TableSchema(table, pa.schema(fields), table.primary_key, seen=pa.schema(list(seen.items())))
        return replace(found, unordered=self._why_unordered(found, is_declared=bool(asked.get(table.cursor or ""))))

    def _why_unordered(self, schema: TableSchema, *, is_declared: bool) -> str:
        """Why an undeclared cursor is no cursor: it is text with numbers in it, as far as the sampled files tell."""
        cursor = schema.table.cursor
        if is_declared or cursor not in schema.names or not pa.types.is_string(schema.columns.field(cursor).type):
            return ""
        for found in _sample(self._files(schema.table)):
            with closing(self._rows(schema, found)) as batches:
                rows = next((batch for batch in batches if kind_of(batch) is BatchKind.ROWS), None)
            if rows is not None and has_numbers(rows.column(cursor)):
                return f"it is text with numbers in it, of which 10 comes before 9 ({found.path})"
        return ""

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:  # noqa: ARG002 files have no cursor statistics
        table = schema.table
        surveyed = self._asked(table, lambda: Store(self.config).survey(table))
        return Survey(tuple(Piece(span, self._row_count(table, found), found.size) for found, span in surveyed))

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_columns(NAME, schema.table, list(columns or ()), schema.names)
        for found in self._of_span(schema.table, span):
            for batch in self._rows(schema, found):
                kept = _above(batch, schema, since)
                if columns and kind_of(kept) is BatchKind.ROWS:
                    kept = kept.select([*columns, *(name for name in kept.schema.names if name not in schema.names)])
                if kept.num_rows:
                    yield kept

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:
        return sum(batch.num_rows for batch in self.read(schema, span, since=since))

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return classified(failure, table, self.config, place=self.place)

    def _files(self, table: SourceTable) -> list[Found]:
        return self._asked(table, lambda: Store(self.config).files(table))

    def _asked(self, table: SourceTable, ask: Callable[[], _Answer]) -> _Answer:
        try:
            return ask()
        except Exception as cause:
            raise self.classify(cause, table) from cause

    def _of_span(self, table: SourceTable, span: Span) -> list[Found]:
        match span:
            case WholeTable():
                return self._files(table)
            case OneFile():
                with self._translated(table, span.path):
                    return [Store(self.config).same(span, table)]
            case _:
                reason = f"it has no {type(span).__name__} to read"
                raise RequestWrong(connector=NAME, table=table.name, reason=reason)

    def _schema(self, table: SourceTable, found: Found, asked: list[str]) -> pa.Schema:
        store = Store(self.config)
        wanted = Wanted(pa.schema([]), not asked, found.path, table.name, tuple(asked))
        with self._translated(table, found.path):
            if found.format == "parquet":
                with store.random(found) as opened:
                    return parquet_schema(opened, wanted)
            with store.stream(found) as stream:
                front = Front(stream)
                if found.format == "csv":
                    return csv_schema(front, self.config, wanted, SAMPLE_ROWS)
                return jsonl_schema(front, self.config, SAMPLE_ROWS)

    def _row_count(self, table: SourceTable, found: Found) -> int | None:
        if found.format != "parquet":
            return None
        with self._translated(table, found.path), Store(self.config).random(found) as opened:
            counted: int = open_parquet(opened).metadata.num_rows
            return counted

    def _rows(self, schema: TableSchema, found: Found) -> Generator[pa.RecordBatch]:
        store = Store(self.config)
        asked = tuple(column.name for column in schema.table.columns)
        wanted = Wanted(schema.columns, not asked, found.path, schema.name, asked)
        with self._translated(schema.table, found.path), store.surveyed(found, schema.table) as opened:
            yield from _ROWS[found.format](opened, self.config, wanted)

    @contextmanager
    def _translated(self, table: SourceTable, file: str) -> Iterator[None]:
        try:
            yield
        except UnicodeError as cause:
            reason = "it is not in the declared encoding, or lacks the byte order mark of it"
            raise BadValue(connector=NAME, table=table.name, reason=reason, where=file, advice=MEND) from cause
        except (OSError, pa.ArrowException) as cause:
            raise classified(cause, table, self.config, file=file, place=self.place) from cause


_ROWS: dict[Format, Callable[[Any, FilesConfig, Wanted], Iterator[pa.RecordBatch]]] = {
    "csv": csv_rows,
    "jsonl": jsonl_rows,
    "parquet": parquet_rows,
}


def _sample(found: list[Found]) -> list[Found]:
    """Pick files evenly from the list, including the first and the last."""
    step = max(1, -(-len(found) // SAMPLE_FILES))
    return [*found[:-1:step], found[-1]]


def _above(batch: pa.RecordBatch, schema: TableSchema, since: KeyValue | None) -> pa.RecordBatch:
    """Return the rows at or above the floor, and those without a valid cursor value."""
    cursor = schema.table.cursor
    if since is None or cursor is None or kind_of(batch) is not BatchKind.ROWS:
        return batch
    values = batch.column(cursor)
    try:
        floor = pa.scalar(since, values.type)
    except (pa.ArrowException, TypeError, ValueError) as cause:
        reason = f"the floor of `{cursor}` is no {values.type}"
        raise RequestWrong(connector=NAME, table=schema.name, reason=reason) from cause
    is_below = pc.less(values, floor)
    if pa.types.is_floating(values.type):
        is_below = pc.and_(is_below, pc.less_equal(pc.abs(values), float(EXACT_REAL)))
    return batch.filter(pc.invert(pc.fill_null(is_below, False)))
