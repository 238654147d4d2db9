"""The SQLite connector and its settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Frozen, Int, Number


class SqliteConfig(Frozen):
    """The `source.config` of a SQLite source."""

    path: Annotated[str, Field(min_length=1)]
    """The database file; relative paths start at the project."""
    busy_timeout_seconds: Annotated[Number, Field(ge=0)] = 5.0
    """How long a read waits for a writer that has locked the file."""
    batch_rows: Annotated[Int, Field(ge=1, le=1_000_000)] = 10_000
    """The most rows of a batch."""
    piece_rows: Annotated[Int, Field(ge=1)] = 50_000
    """The approximate number of rows per piece of a survey."""


DECLARATION = Declaration(
    cursor_kind=CursorKind.MONOTONIC,
    config=SqliteConfig,
    connector="hakiri.extract.connectors.sqlite.connector:SqliteConnector",
    local_paths=("path",),
    declares_keys=True,
)
