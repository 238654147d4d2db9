"""A change feed's columns have one meaning, whoever looks: which are the row's, which order it, which tell its end."""

from __future__ import annotations

from collections.abc import Collection

from hakiri.spec.load import CdcMirrorLoad, ChangesSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec

LSN = ("lsn",)
"""The fields of an envelope's `source` that order the changes of a PostgreSQL server."""
BINLOG = ("file", "pos", "row")
"""Those of a MySQL server."""


def feed_load(pipeline: PipelineSpec, table: TableSpec) -> CdcMirrorLoad | None:
    """How the table mirrors changes; None where it holds the rows that are read."""
    load = pipeline.load_of(table)
    return load if isinstance(load, CdcMirrorLoad) else None


def mirror_key(table: TableSpec, load: CdcMirrorLoad) -> tuple[str, ...]:
    """What tells the rows of the mirror apart."""
    return load.upsert_key or table.primary_key


def position_column(field: str) -> str:
    """The column that a field of an envelope's `source` lands in."""
    return f"_hakiri_{field}"


def sequence_columns(changes: ChangesSpec, sequence_by: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """The columns, of those there are, that order the changes of a key."""
    if not changes.is_enveloped:
        return sequence_by
    fields = sequence_by or (LSN if position_column(*LSN) in names else BINLOG)
    return tuple(map(position_column, fields))
