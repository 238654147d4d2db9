"""A table of a manifest becomes the table a connector is asked for."""

from __future__ import annotations

from hakiri.model.table import Column, SourceTable
from hakiri.spec.pipeline import PipelineSpec, TableSpec


def source_table(spec: PipelineSpec, table: TableSpec) -> SourceTable:
    """What to ask the source for; the table's own cursor wins over the pipeline's."""
    incremental = table.incremental or spec.incremental
    return SourceTable(
        name=table.name,
        query=table.query,
        columns=tuple(Column(column.name, column.type) for column in table.columns),
        primary_key=table.primary_key,
        cursor=incremental.column if incremental else None,
    )
