"""Each connector is judged over the same rows, put into a source of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hakiri.extract.connectors.port import Connector
from hakiri.model.key import KeyValue
from hakiri.model.table import SourceTable

ODD = 'Größe "in.cm" x'
COLUMNS = ("id", ODD, "seen", "note", "amount")
CURSOR = "seen"
TYPES = pa.schema([("id", "int64"), (ODD, "string"), ("seen", "int64"), ("note", "string"), ("amount", "double")])


def rows() -> list[dict[str, Any]]:
    """300 rows: a skewed key, a cursor with ties and NULLs, a column with an odd name, NULLs and line breaks."""
    return [
        {
            "id": number if number < 200 else number * 1_000_003,
            ODD: None if number % 5 == 0 else f"{number} \"'`;\n--é",
            "seen": None if number % 7 == 0 else number // 30,
            "note": None if number % 3 == 0 else "x" * (number % 50),
            "amount": None if number % 11 == 0 else number / 8,
        }
        for number in range(300)
    ]


@dataclass(frozen=True)
class Stand:
    """A connector in front of a source that holds `rows`."""

    connector: Connector
    table: SourceTable
    missing: SourceTable
    """A table the source does not have."""
    likely: str
    """The one it has that was most likely meant."""
    absent: Connector
    """The same connector where there is no source."""
    breaking: tuple[Connector, SourceTable]
    """A table whose reading fails after some rows."""
    rows: list[dict[str, Any]] = field(default_factory=rows)
    floor: Callable[[int], KeyValue] = int
    """What stands for a value of `seen` where a later read is to begin: the value itself, or a token."""
    is_above: Callable[[dict[str, Any], Any], bool] | None = None
    """Whether such a read gives the row; without it, the column of the cursor tells."""


@dataclass(frozen=True)
class Place:
    """Where a stand may be built."""

    folder: Path
    postgres_url: Callable[[], str]
    s3_endpoint: Callable[[], str]


@dataclass(frozen=True)
class Subject:
    name: str
    build: Callable[[Place], Stand]
