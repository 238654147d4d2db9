"""What a table's load mode means for reading and landing."""

from __future__ import annotations

from hakiri.model.source import CursorKind
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.quality import KeyRule

_COLUMN_KINDS = frozenset({CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC})


def key_rules(pipeline: PipelineSpec, table: TableSpec, primary_key: tuple[str, ...]) -> tuple[KeyRule, ...]:
    """Return the rules that quarantine rows without a key while they are read; none if they should stop the landing."""
    load = pipeline.load_of(table)
    if not load.quarantines_null_keys:
        return ()
    return tuple(KeyRule(field=column) for column in load.own_key or primary_key)


def cursor_of_table(pipeline: PipelineSpec, table: TableSpec, kind: CursorKind) -> str | None:
    """Return the declared cursor column; None if there is none, or if progress is not a column."""
    incremental = pipeline.incremental_of(table)
    return incremental.column if incremental and kind in _COLUMN_KINDS else None


def watermark_of(pipeline: PipelineSpec, table: TableSpec, kind: CursorKind) -> str | None:
    """Return the column whose maximum in the table is the start of the next read; None if a cursor is."""
    return pipeline.load_of(table).watermark if kind in _COLUMN_KINDS else None


def tells_versions(pipeline: PipelineSpec, table: TableSpec, key: tuple[str, ...], cursor: str | None) -> bool:
    """Return whether a repeated row is recognized by key and cursor, or by sequence, rather than by content."""
    return bool(key and cursor) or pipeline.load_of(table).has_sequence


def replaces_table(pipeline: PipelineSpec, table: TableSpec) -> bool:
    """Return whether each landing replaces all rows, so that only a whole table may land."""
    return pipeline.load_of(table).replaces_table
