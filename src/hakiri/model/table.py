"""A table of a source has one form while it is asked for, and one once the source has described it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column that was asked for; its type is a Spark SQL type, or None where the source shall tell."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as a pipeline asks for it."""

    name: str
    query: str | None = None
    """A query of the source that stands for the table."""
    columns: tuple[Column, ...] = ()
    """The columns to read; all of them when empty."""
    primary_key: tuple[str, ...] = ()
    """The key the pipeline declares; the source's own when empty."""
    cursor: str | None = None
    """The column that tells what is new."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table as its source describes it."""

    table: SourceTable
    columns: pa.Schema
    """Names and types in the source's order; what a connector notes in field metadata is for itself alone."""
    primary_key: tuple[str, ...] = ()
    """What tells its rows apart: the key that the pipeline declares, or else the source's own."""
    own_key: tuple[str, ...] = ()
    """The primary key that the source declares; empty where it declares none."""
    unordered: str = ""
    """Why the cursor's values sort otherwise at the source than they do as `columns` has them; empty where not so."""
    standing: str = field(default="", compare=False)
    """Where the source stood when it was surveyed; a connector refuses to read what is older."""
    seen: pa.Schema | None = field(default=None, compare=False)
    """The columns with the null type wherever no value was seen, and `columns` has text; None where all is declared."""

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns.names)

    def select(self, names: tuple[str, ...]) -> pa.Schema:
        """The fields with these names, in this order; KeyError for a name that is not there."""
        import pyarrow as pa

        return pa.schema([self.columns.field(name) for name in names])
