"""Tables that mirror a change feed: their key, and the columns that order the changes."""

from __future__ import annotations

from collections.abc import Collection

from hakiri.spec.load import CdcMirrorLoad, ChangesSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec

LSN = ("lsn",)
"""The fields of an envelope's `source` that order the changes of a PostgreSQL server."""
BINLOG = ("file", "pos", "row")
"""The fields that order the changes of a MySQL server."""


def feed_load(pipeline: PipelineSpec, table: TableSpec) -> CdcMirrorLoad | None:
    """Return the load of a table that mirrors changes; None for any other table."""
    load = pipeline.load_of(table)
    return load if isinstance(load, CdcMirrorLoad) else None


def mirror_key(table: TableSpec, load: CdcMirrorLoad) -> tuple[str, ...]:
    """Return the columns that identify a row of the mirror."""
    return load.upsert_key or table.primary_key


def position_column(field: str) -> str:
    """Return the column in which a field of an envelope's `source` lands."""
    return f"_hakiri_{field}"


def sequence_columns(changes: ChangesSpec, sequence_by: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """Return which of these columns order the changes of a key."""
    if not changes.is_enveloped:
        return sequence_by
    fields = sequence_by or (LSN if position_column(*LSN) in names else BINLOG)
    return tuple(map(position_column, fields))
