"""Each connector is judged over the same rows, put into a source of its own."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.span import Span, WholeTable
from hakiri.model.table import Column, SourceTable

ODD = 'Größe "in.cm" x'
COLUMNS = ("id", ODD, "seen", "note", "amount")
CURSOR = "seen"
PIECE_ROWS = 40


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
    rows: list[dict[str, Any]] = field(default_factory=rows)
    missing: SourceTable | None = None
    """A table the source does not have."""
    absent: Connector | None = None
    """The same connector where there is no source."""
    breaking: tuple[Connector, SourceTable, Span] | None = None
    """A part of a table whose reading fails after some rows."""


@dataclass(frozen=True)
class Place:
    """Where a stand may be built."""

    folder: Path
    postgres_url: Callable[[], str]


@dataclass(frozen=True)
class Subject:
    name: str
    build: Callable[[Place], Stand]


def sqlite_stand(place: Place) -> Stand:
    path = sqlite_file(place.folder, "PRIMARY KEY (id)")
    connector = open_connector("sqlite", {"path": str(path), "batch_rows": 64, "piece_rows": PIECE_ROWS})
    # 250 rows in, an absolute value that no integer can hold.
    broken = "SELECT id, iif(id = 5, abs(-9223372036854775807 - 1), 0) AS seen FROM things ORDER BY id DESC"
    whole = (Column("id"), Column("seen", "bigint"))
    return Stand(
        connector,
        SourceTable("things", cursor=CURSOR),
        missing=SourceTable("thing"),
        absent=open_connector("sqlite", {"path": str(place.folder / "nothing.db")}),
        breaking=(connector, SourceTable("broken", query=broken, columns=whole), WholeTable()),
    )


def sqlite_keyless_stand(place: Place) -> Stand:
    path = sqlite_file(place.folder, "CHECK (TRUE)")
    connector = open_connector("sqlite", {"path": str(path), "batch_rows": 7, "piece_rows": PIECE_ROWS})
    return Stand(connector, SourceTable("things", cursor=CURSOR))


def sqlite_view_stand(place: Place) -> Stand:
    path = sqlite_file(place.folder, "CHECK (TRUE)")
    connector = open_connector("sqlite", {"path": str(path), "piece_rows": PIECE_ROWS})
    return Stand(connector, SourceTable("stuff", query="SELECT * FROM things -- all of it", cursor=CURSOR))


def csv_stand(place: Place) -> Stand:
    return _files_stand(place, "csv.gz", lambda path, some: path.write_bytes(gzip.compress(_csv(some))))


def jsonl_stand(place: Place) -> Stand:
    return _files_stand(place, "jsonl.zst", lambda path, some: path.write_bytes(_zstd(_jsonl(some))))


def parquet_stand(place: Place) -> Stand:
    schema = pa.schema([("id", "int64"), (ODD, "string"), ("seen", "int64"), ("note", "string"), ("amount", "double")])
    return _files_stand(
        place, "parquet", lambda path, some: parquet.write_table(pa.Table.from_pylist(some, schema), path)
    )


def _files_stand(place: Place, suffix: str, write: Callable[[Path, list[dict[str, Any]]], Any]) -> Stand:
    folder = place.folder / "data" / "things"
    folder.mkdir(parents=True)
    for start in range(0, 300, 100):
        write(folder / f"part-{start}.{suffix}", rows()[start : start + 100])
    (place.folder / "broken").mkdir()
    broken = place.folder / "broken" / "things.csv.gz"
    broken.write_bytes(gzip.compress(b"seen,x\n" + b"1,%b\n" % (b"x" * 90) * 100_000, compresslevel=0)[:-1_000])
    breaking = open_connector("files", {"path": str(broken.parent)})
    table = SourceTable("things", cursor=CURSOR)
    return Stand(
        open_connector("files", {"path": str(folder.parent), "batch_rows": 64}),
        table,
        missing=SourceTable("thing"),
        absent=open_connector("files", {"path": str(place.folder / "nothing")}),
        breaking=(breaking, table, WholeTable()),
    )


def _csv(some: list[dict[str, Any]]) -> bytes:
    lines = [COLUMNS, *(tuple(row.values()) for row in some)]
    return "".join(",".join(map(_field, line)) + "\r\n" for line in lines).encode()


def _field(value: Any) -> str:
    return "" if value is None else str(value) if not isinstance(value, str) else '"' + value.replace('"', '""') + '"'


def _jsonl(some: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in some).encode()


def _zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)  # type: ignore[no-any-return]


def sqlite_file(folder: Path, constraint: str) -> Path:
    path = folder / "things.db"
    connection = sqlite3.connect(path)
    odd = ODD.replace('"', '""')
    connection.execute(f'CREATE TABLE things (id BIGINT, "{odd}" TEXT, seen INT, note TEXT, amount REAL, {constraint})')
    connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?)", [tuple(row.values()) for row in rows()])
    connection.commit()
    connection.close()
    return path
