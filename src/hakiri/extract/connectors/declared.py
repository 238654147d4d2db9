"""Translates the declaration of a table in the manifest to the request that connectors get."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.extract.errors import ColumnMissing
from hakiri.model.table import Column, SourceTable
from hakiri.model.types.arrow import to_arrow
from hakiri.model.types.text import parse_type
from hakiri.spec.feed import feed_load
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.validation_errors import guess

UTC_TIMESTAMP = pa.timestamp("us", tz="UTC")
PLAIN_TIMESTAMP = pa.timestamp("us")


def source_table(pipeline: PipelineSpec, table: TableSpec) -> SourceTable:
    """Return the request for a table."""
    incremental = pipeline.incremental_of(table)
    load = feed_load(pipeline, table)
    # In a feed of envelopes, the declared columns are those of the rows inside, not of the source.
    declared = () if load is not None and load.changes.is_enveloped else table.columns
    return SourceTable(
        name=table.name,
        query=table.query,
        columns=tuple(Column(column.name, column.type) for column in declared),
        # In a mirror, several changes have the same key.
        primary_key=() if load is not None else table.primary_key,
        cursor=incremental.column if incremental else None,
    )


def sorts_otherwise(at_source: str, kind: pa.DataType) -> str:
    """Return why a column cannot be a cursor: the source sorts it differently (`TableSchema.unordered`)."""
    return f"it is {at_source} at the source and lands as {kind}, which sorts otherwise"


def has_numbers(array: pa.Array) -> bool:
    """Whether texts have numbers among them; what begins with a zero is a code that is as long as all others."""
    return bool(pa.types.is_string(array.type) and pc.any(pc.match_substring_regex(array, _NUMBER)).as_py())


_NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type of a declared column type: `decimal(10,2)`, `array<struct<a:int>>`."""
    return to_arrow(parse_type(text))


def check_named(connector: str, table: SourceTable, known: tuple[str, ...]) -> None:
    """Raise ColumnMissing for the first requested column that the source does not have."""
    asked = [*(column.name for column in table.columns), *table.primary_key, *filter(None, [table.cursor])]
    check_columns(connector, table, asked, known)


def check_columns(connector: str, table: SourceTable, asked: list[str], known: tuple[str, ...]) -> None:
    """Raise ColumnMissing for the first of these columns that is not known."""
    for name in asked:
        if name not in known:
            raise ColumnMissing(
                connector=connector, table=table.name, column=name, known=known, guess=guess(name, known)
            )
