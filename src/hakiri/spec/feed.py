"""A change feed's columns have one meaning, whoever looks: which are the row's, which order it, which tell its end."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hakiri.spec.lines import KeyPath
from hakiri.spec.load import ChangeFormat, LoadMode, LoadSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec

LSN = ("lsn",)
"""The fields of an envelope's `source` that order the changes of a PostgreSQL server."""
BINLOG = ("file", "pos", "row")
"""Those of a MySQL server."""


def feed_load(pipeline: PipelineSpec, table: TableSpec) -> LoadSpec | None:
    """How the table mirrors changes; None where it holds the rows that are read."""
    load = pipeline.load_of(table)
    return load if load.mode is LoadMode.CDC_MIRROR else None


def is_enveloped(load: LoadSpec) -> bool:
    """Whether the source's columns are those of an envelope around the rows."""
    return load.mode is LoadMode.CDC_MIRROR and load.changes.format is ChangeFormat.DEBEZIUM


def mirror_key(table: TableSpec, load: LoadSpec) -> tuple[str, ...]:
    """What tells the rows of the mirror apart."""
    return load.upsert_key or table.primary_key


def position_column(field: str) -> str:
    """The column that a field of an envelope's `source` lands in."""
    return f"_hakiri_{field}"


def sequence_columns(load: LoadSpec, names: Collection[str]) -> tuple[str, ...]:
    """The columns, of those there are, that order the changes of a key."""
    if not is_enveloped(load):
        return load.sequence_by
    fields = load.sequence_by or (LSN if position_column(*LSN) in names else BINLOG)
    return tuple(map(position_column, fields))


def columns_of_feed(load: LoadSpec, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Each column of a plain feed that the load names, with where it does."""
    if load.mode is LoadMode.CDC_MIRROR and not is_enveloped(load):
        yield from (((*path, "sequence_by"), column) for column in load.sequence_by)
        yield (*path, "changes", "op"), load.changes.op
        yield from (((*path, "changes", "old_key"), column) for column in load.changes.old_key)
