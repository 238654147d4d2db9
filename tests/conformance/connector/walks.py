"""Sources that are walked by page tokens and by positions in a log, over rows in a file that may grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.connector.stands import COLUMNS, CURSOR, TYPES, Place, Stand, rows
from hakiri.errors import SourceError
from hakiri.extract.connectors.declared import check_columns, check_named
from hakiri.extract.connectors.token import token_batch
from hakiri.extract.errors import SourceFailed, SourceUnreachable, TableMissing
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import PageToken, Partition, Span, WholeTable
from hakiri.model.table import SourceTable, TableSchema

TABLE = SourceTable("things")


def write_rows(file: Path, found: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in found))


@dataclass(frozen=True)
class _Walked:
    """Rows of a file, one JSON object a line."""

    file: Path
    page_rows: int = 64
    breaks: bool = False

    def probe(self, table: SourceTable) -> str:
        self._see(table)
        return "a file"

    def describe(self, table: SourceTable) -> TableSchema:
        self._see(table)
        check_named("walked", table, COLUMNS)
        asked = [column.name for column in table.columns] or list(COLUMNS)
        return TableSchema(table, pa.schema([TYPES.field(name) for name in asked]), ("id",))

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        if isinstance(failure, SourceError):
            return failure
        return SourceFailed(connector="walked", table=table.name)

    def _see(self, table: SourceTable) -> None:
        if not self.file.exists():
            raise SourceUnreachable(connector="walked", reason="there is no file")
        if table.name != TABLE.name:
            raise TableMissing(connector="walked", table=table.name, guess=TABLE.name)

    def _rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def _batches(
        self, schema: TableSchema, columns: tuple[str, ...] | None, found: list[dict[str, Any]]
    ) -> Iterator[pa.RecordBatch]:
        self._see(schema.table)
        check_columns("walked", schema.table, list(columns or ()), schema.names)
        fields = schema.select(columns or schema.names)
        for start in range(0, len(found), self.page_rows):
            if self.breaks and start:
                raise SourceFailed(connector="walked", table=schema.name, reason="the page is torn")
            yield pa.RecordBatch.from_pylist(found[start : start + self.page_rows], schema=fields)


@dataclass(frozen=True)
class PagesConnector(_Walked):
    """Pages that know only the one after them: a token is `row 128`, and nobody knows how many there are."""

    pages_a_read: int = 1_000

    def hint(self) -> BackfillHint:
        return BackfillHint(CursorKind.OPAQUE_TOKEN, safe_parallelism=1)

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        self._see(schema.table)
        return Survey((Piece(PageToken(None if since is None else str(since))),))

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        start = self._start(span, since)
        found = self._rows()[start:][: self.page_rows * self.pages_a_read]
        yield from self._batches(schema, columns, found)
        yield token_batch(f"row {start + len(found)}")

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> None:  # noqa: ARG002
        return None

    def _start(self, span: Span, since: KeyValue | None) -> int:
        token = span.token if isinstance(span, PageToken) else since
        return int(str(token).removeprefix("row ")) if token else 0


@dataclass(frozen=True)
class LogConnector(_Walked):
    """A log with a stream for every note, all on one clock, `seen`; a read brings the position that it came to."""

    def hint(self) -> BackfillHint:
        return BackfillHint(CursorKind.SNAPSHOT_ID, safe_parallelism=4, partition_keys=("note",))

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:  # noqa: ARG002
        self._see(schema.table)
        streams = dict.fromkeys(row["note"] for row in self._rows())
        return Survey(tuple(Piece(Partition((("note", stream),))) for stream in streams))

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        everything = self._rows()
        found = [row for row in everything if _is_in(row, span) and _is_at_or_above(row, since)]
        yield from self._batches(schema, columns, found)
        positions = [row[CURSOR] for row in everything if row[CURSOR] is not None]
        if positions:
            yield token_batch(max(positions))

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:  # noqa: ARG002
        return sum(_is_in(row, span) and _is_at_or_above(row, since) for row in self._rows())


def pages_stand(place: Place) -> Stand:
    file = place.folder / "pages.jsonl"
    write_rows(file, rows())
    number = {row["id"]: place for place, row in enumerate(rows())}
    return Stand(
        PagesConnector(file),
        TABLE,
        missing=SourceTable("thing"),
        likely="things",
        absent=PagesConnector(place.folder / "nothing"),
        breaking=(PagesConnector(file, breaks=True), TABLE),
        floor=lambda value: f"row {value * 30}",
        is_above=lambda row, token: number[row["id"]] >= int(str(token).removeprefix("row ")),
    )


def log_stand(place: Place) -> Stand:
    file = place.folder / "log.jsonl"
    write_rows(file, rows())
    return Stand(
        LogConnector(file),
        TABLE,
        missing=SourceTable("thing"),
        likely="things",
        absent=LogConnector(place.folder / "nothing"),
        breaking=(LogConnector(file, breaks=True), TABLE),
        is_above=_is_at_or_above,
    )


def _is_in(row: dict[str, Any], span: Span) -> bool:
    return isinstance(span, WholeTable) or (
        isinstance(span, Partition) and all(row[name] == value for name, value in span.keys)
    )


def _is_at_or_above(row: dict[str, Any], since: KeyValue | None) -> bool:
    return since is None or row[CURSOR] is None or bool(row[CURSOR] >= since)
