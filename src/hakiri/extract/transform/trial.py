"""Runs a transform on a few rows of its source, to see what it does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.landing_types import to_landing
from hakiri.extract.quarantine_rows import plain
from hakiri.extract.transform.reshape import Reshape
from hakiri.model.query_result import QueryResult
from hakiri.model.table import TableSchema


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows before and after a transform, with counts."""

    before: pa.Table
    after: pa.Table
    filtered: int
    merged: int
    added: int

    @property
    def told(self) -> str:
        """Return the counts as text, to follow the word `after`."""
        counts = {"filtered": self.filtered, "merged": self.merged, "added": self.added}
        return "".join(f", {count:,} {kind}" for kind, count in counts.items() if count)


def try_reshape(connector: Connector, schema: TableSchema, reshape: Reshape, *, rows: int) -> Trial:
    """Apply the transform to the first rows of a table. Writes nothing; a repeat reads again.

    Raises SourceError and ExtractError.
    """
    taken = _first(connector, schema, rows)
    found = reshape.open()(taken)
    after = to_landing(found.rows, table=schema.name)
    return Trial(taken, pa.Table.from_batches([after]), found.filtered, found.merged, found.added)


def as_answer(rows: pa.Table) -> QueryResult:
    """Convert rows to values that text and JSON can represent."""
    return QueryResult(tuple(rows.column_names), iter([tuple(map(plain, row.values())) for row in rows.to_pylist()]))


def _first(connector: Connector, schema: TableSchema, rows: int) -> pa.Table:
    held = [_landing(pa.RecordBatch.from_pylist([], schema=schema.columns), schema)]
    with closing(_batches(connector, schema)) as batches:
        for batch in batches:
            held.append(_landing(batch.slice(0, rows), schema))
            rows -= batch.num_rows
            if rows <= 0:
                break
    return pa.concat_tables(held, promote_options="default")


def _batches(connector: Connector, schema: TableSchema) -> Generator[pa.RecordBatch, None, None]:
    for piece in connector.survey(schema).pieces:
        for batch in connector.read(schema, piece.span):
            if kind_of(batch) is BatchKind.ROWS:
                yield batch


def _landing(batch: pa.RecordBatch, schema: TableSchema) -> pa.Table:
    return pa.Table.from_batches([to_landing(batch, table=schema.name)])
