"""A connector that does everything the port allows and nobody expects, and one thing it forbids when told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from conformance.connector.stands import COLUMNS, CURSOR, Stand, rows
from hakiri.errors import SourceError
from hakiri.extract.connectors.declared import check_columns, check_named
from hakiri.extract.errors import SourceFailed, SourceUnreachable, TableMissing
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Piece, RateBudget, Survey
from hakiri.model.span import Partition, Span, WholeTable
from hakiri.model.table import SourceTable, TableSchema

TYPES = (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.float64())
ROWS = rows()


class Mood(Enum):
    PLAIN = "as the port allows"
    SLOW = "one row at a time, the first after a while"
    GROWING = "later batches have a column the description lacks"
    BREAKING = "fails midway"
    ABSENT = "nobody answers"
    LYING = "counts one row too many"
    LOSING = "surveys all but the rows without a cursor"


@dataclass(frozen=True)
class HostileConnector:
    """300 rows in memory, split into three partitions and the rows that belong to none."""

    mood: Mood

    def hint(self) -> BackfillHint:
        return BackfillHint(
            cursor_kind=CursorKind.PARTITIONED_MONOTONIC,
            safe_parallelism=1,
            partition_keys=("note",),
            rate_budget=RateBudget(requests=10, seconds=1),
        )

    def probe(self, table: SourceTable) -> str:
        self._see(table)
        return "hostile"

    def describe(self, table: SourceTable) -> TableSchema:
        self._see(table)
        check_named("hostile", table, COLUMNS)
        asked = [column.name for column in table.columns] or list(COLUMNS)
        known = dict(zip(COLUMNS, TYPES, strict=True))
        return TableSchema(table, pa.schema([(name, known[name]) for name in asked]), ("id",))

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        notes = sorted({row["note"] for row in ROWS if row["note"] is not None})
        spans: list[Span] = [Partition((("note", note),)) for note in notes]
        if self.mood is not Mood.LOSING:
            spans.append(Partition((("note", None),)))
        seen = [row["seen"] for row in ROWS if row["seen"] is not None]
        pieces = tuple(Piece(span, rows=self.count(schema, span, since=since)) for span in spans)
        return Survey(pieces, low=min(seen), high=max(seen), is_exact=True)

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        self._see(schema.table)
        check_columns("hostile", schema.table, list(columns or ()), schema.names)
        fields = schema.select(columns or schema.names)
        found = self._rows(span, since)
        size = 1 if self.mood is Mood.SLOW else 9
        for start in range(0, len(found), size):
            if self.mood is Mood.BREAKING and start > 20:
                raise SourceFailed(connector="hostile", table=schema.name, reason="it changed its mind")
            if self.mood is Mood.SLOW and start == 0:
                threading.Event().wait(0.001)
            yield self._batch(found[start : start + size], fields, grown=start > 0)

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:
        self._see(schema.table)
        return len(self._rows(span, since)) + (self.mood is Mood.LYING)

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        if isinstance(failure, SourceError):
            return failure
        return SourceFailed(connector="hostile", table=table.name)

    def _see(self, table: SourceTable) -> None:
        if self.mood is Mood.ABSENT:
            raise SourceUnreachable(connector="hostile", reason="nobody answers")
        if table.name != "things":
            raise TableMissing(connector="hostile", table=table.name, guess="things")

    def _rows(self, span: Span, since: KeyValue | None) -> list[dict[str, Any]]:
        match span:
            case WholeTable():
                found = ROWS
            case Partition():
                found = [row for row in ROWS if all(row[name] == value for name, value in span.keys)]
            case _:
                raise SourceFailed(connector="hostile", reason="it has no such part")
        return [row for row in found if since is None or row[CURSOR] is None or row[CURSOR] >= since]

    def _batch(self, found: list[dict[str, Any]], fields: pa.Schema, *, grown: bool) -> pa.RecordBatch:
        if self.mood is Mood.GROWING and grown:
            fields = fields.append(pa.field("new since", pa.string()))
        return pa.RecordBatch.from_pylist(found, schema=fields)


def hostile_stand(mood: Mood) -> Stand:
    return Stand(
        HostileConnector(mood),
        SourceTable("things", cursor=CURSOR),
        missing=SourceTable("thing"),
        likely="things",
        absent=HostileConnector(Mood.ABSENT),
        breaking=(HostileConnector(Mood.BREAKING), SourceTable("things", cursor=CURSOR)),
    )
