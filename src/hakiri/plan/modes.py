"""What a table's load means for what has to be read and when it may land."""

from __future__ import annotations

from hakiri.model.source import CursorKind
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.quality import KeyRule

_COLUMN_KINDS = frozenset({CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC})


def key_rules(pipeline: PipelineSpec, table: TableSpec, primary_key: tuple[str, ...]) -> tuple[KeyRule, ...]:
    """What sets rows without a key aside while they are read; nothing where they are to stop the landing."""
    load = pipeline.load_of(table)
    if not load.quarantines_null_keys:
        return ()
    return tuple(KeyRule(field=column) for column in load.own_key or primary_key)


def cursor_of_table(pipeline: PipelineSpec, table: TableSpec, kind: CursorKind) -> str | None:
    """The column that tells what is new; None where none is declared, or where progress is not a column at all."""
    incremental = pipeline.incremental_of(table)
    return incremental.column if incremental and kind in _COLUMN_KINDS else None


def watermark_of(pipeline: PipelineSpec, table: TableSpec, kind: CursorKind) -> str | None:
    """The column whose greatest value in the table says where the next read starts; None where a cursor does."""
    return pipeline.load_of(table).watermark if kind in _COLUMN_KINDS else None


def tells_versions(pipeline: PipelineSpec, table: TableSpec, key: tuple[str, ...], cursor: str | None) -> bool:
    """Whether a row that lands again is known by more than its content: by its key and its cursor, or its sequence."""
    return bool(key and cursor) or pipeline.load_of(table).has_sequence


def replaces_table(pipeline: PipelineSpec, table: TableSpec) -> bool:
    """Whether each landing stands in the place of the last one, so that only a whole table may land."""
    return pipeline.load_of(table).replaces_table
