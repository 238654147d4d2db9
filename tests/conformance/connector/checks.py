"""What is true of every connector, as functions that raise where it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from conformance.connector.stands import Stand
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.model.key import KeyValue
from hakiri.model.span import WholeTable
from hakiri.model.table import TableSchema


def plain(found: Iterable[dict[str, Any]], names: Iterable[str]) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset, so that neither order nor a lost duplicate is overlooked."""
    wanted = list(names)
    return Counter(tuple(row[name] for name in wanted) for row in found)


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches if kind_of(batch) is BatchKind.ROWS for row in batch.to_pylist()]


def expected(stand: Stand, since: Any = None) -> list[dict[str, Any]]:
    cursor = stand.table.cursor
    is_above = stand.is_above or (lambda row, floor: row[cursor] is None or row[cursor] >= floor)
    return [row for row in stand.rows if since is None or is_above(row, since)]


def check_pieces_cover(stand: Stand, schema: TableSchema, since: KeyValue | None = None) -> None:
    """The pieces of a survey hold every row exactly once."""
    found: list[dict[str, Any]] = []
    for piece in stand.connector.survey(schema, since=since).pieces:
        found += rows_of(stand.connector.read(schema, piece.span, since=since))
    assert plain(found, schema.names) == plain(expected(stand, since), schema.names)


def check_counts_agree(stand: Stand, schema: TableSchema, since: KeyValue | None = None) -> None:
    """A count is what a read gives, for the whole and for each piece."""
    spans = [WholeTable(), *(piece.span for piece in stand.connector.survey(schema, since=since).pieces)]
    for span in spans:
        counted = stand.connector.count(schema, span, since=since)
        read = sum(
            batch.num_rows
            for batch in stand.connector.read(schema, span, since=since)
            if kind_of(batch) is not BatchKind.REMARKS
        )
        assert counted in (None, read), f"{span}: counted {counted}, read {read}"
