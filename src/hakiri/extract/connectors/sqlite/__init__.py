"""A SQLite file is a source."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hakiri.extract.connectors.registry import Declaration
from hakiri.model.source import CursorKind
from hakiri.spec.frozen import Frozen, Int, Number


class SqliteConfig(Frozen):
    """Which database, and how patient we are."""

    path: Annotated[str, Field(min_length=1)]
    """The database file; a relative path starts at the project."""
    busy_timeout_seconds: Annotated[Number, Field(ge=0)] = 5.0
    """How long a read waits for a writer that holds the file."""
    batch_rows: Annotated[Int, Field(ge=1, le=1_000_000)] = 10_000
    """How many rows a batch has at the most."""
    piece_rows: Annotated[Int, Field(ge=1)] = 50_000
    """About how many rows lie between two places where a survey would cut the table."""


DECLARATION = Declaration(
    cursor_kind=CursorKind.MONOTONIC,
    config=SqliteConfig,
    connector="hakiri.extract.connectors.sqlite.connector:SqliteConnector",
    local_paths=("path",),
    declares_keys=True,
)
