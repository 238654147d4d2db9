"""Converts catalog rows to and from Arrow, for commits and for reading what changed since the last read.

Import it lazily: loading Arrow takes as long as all of `hakiri status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.catalog.delta.layout import ints, pack, texts
from hakiri.catalog.delta.replica import Changes
from hakiri.catalog.tables import Table, Value


def source(changes: Changes, revision: int) -> pa.Table:
    """Return the changed rows as the source of a MERGE."""
    schema = physical(changes.table).append(pa.field("is_gone", pa.bool_()))
    rows = [
        {**pack(changes.table, change.row), "revision": revision, "is_gone": change.is_gone}
        for change in changes.by_key.values()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def spark_source(table: Table, rows: Iterable[Sequence[Value | bool]]) -> pa.Table:
    """Return rows in the columns of a MERGE by Spark, which also has the head row and what it expects."""
    more = [("revision", pa.int64()), ("head", pa.string()), ("expected", pa.int64()), ("is_gone", pa.bool_())]
    kept = [(name, pa.string()) for name in texts(table)] + [(name, pa.int64()) for name in ints(table)]
    schema = pa.schema([*kept, *more])
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def physical(table: Table) -> pa.Schema:
    """Return the columns of the Delta table."""
    return pa.schema(
        [pa.field(name, pa.string()) for name in texts(table)]
        + [pa.field(name, pa.int64()) for name in (*ints(table), "revision")]
    )


def read_newer(table: Table, files: frozenset[str], revision: int) -> tuple[dict[str, list[Value]], int]:
    """Return the rows newer than the revision, column by column, and the number of all rows in the files.

    The bucket is part of a file's path and not a column of it.
    """
    schema = pa.schema([each for each in physical(table) if each.name != "bucket"])
    read = (pq.ParquetFile(uri).read(columns=schema.names, use_threads=False) for uri in sorted(files))
    # delta-rs writes either plain strings or string views.
    alike = [each.select(schema.names).cast(schema) for each in read]
    if not alike:
        return {name: [] for name in schema.names}, 0
    content = pa.concat_tables(alike)
    newer = content.filter(pc.greater(content["revision"], revision))
    return {name: newer[name].to_pylist() for name in newer.column_names}, content.num_rows
