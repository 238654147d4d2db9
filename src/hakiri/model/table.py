"""Tables of a source: as requested by a pipeline, and as described by the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A requested column; its type is a Spark SQL type, or None for the source's type."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as requested by a pipeline."""

    name: str
    query: str | None = None
    """A query that is read instead of the table."""
    columns: tuple[Column, ...] = ()
    """The columns to read; empty for all."""
    primary_key: tuple[str, ...] = ()
    """The key declared by the pipeline; empty for the source's key."""
    cursor: str | None = None
    """The column by which new rows are found."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table as described by its source."""

    table: SourceTable
    columns: pa.Schema
    """Names and types in the source's order; field metadata is private to the connector."""
    primary_key: tuple[str, ...] = ()
    """The key declared by the pipeline, or else the source's key."""
    own_key: tuple[str, ...] = ()
    """The primary key at the source; empty if there is none."""
    unordered: str = ""
    """Why the cursor sorts differently at the source than in the type of `columns`; empty if it does not."""
    standing: str = field(default="", compare=False)
    """The position of the source when it was surveyed; a connector refuses to read an older state."""
    seen: pa.Schema | None = field(default=None, compare=False)
    """The columns with the null type wherever no value was seen, and `columns` has text; None where all is declared."""

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns.names)

    def select(self, names: tuple[str, ...]) -> pa.Schema:
        """Return the fields with these names, in this order. Raises KeyError for an unknown name."""
        import pyarrow as pa

        return pa.schema([self.columns.field(name) for name in names])
