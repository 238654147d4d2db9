"""Sources that live: tables of a database and folders of files, each known to the simulation row by row."""

from __future__ import annotations

import io
import json
import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import psycopg

Row = dict[str, Any]

MODES = ("append", "upsert", "truncate", "blue_green", "incremental_watermark", "cdc_mirror")
DATABASES = ("sqlite", "postgres")
FORMATS = ("jsonl", "csv", "parquet")
REPLACING = ("truncate", "blue_green")
LAG = 5
"""Seconds that a read goes back behind its cursor, where it does."""
TYPES = {"id": "bigint", "seen": "timestamp", "note": "text", "n": "integer"}
LANDED_TYPES = {"id": "bigint", "seen": "timestamp_ntz", "note": "string", "n": "bigint", "lsn": "bigint"}
"""The types of columns whose files tell none."""
INT = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is simulated: a source, and how its table is landed."""

    source: str
    mode: str
    has_key: bool = True
    has_cursor: bool = True
    lag: int = 0
    cursor_type: str = "timestamp"
    names_key: bool = True
    """Whether the manifest names the key, or leaves that to the source."""
    key_columns: tuple[str, ...] = ("id",)
    cursor_column: str = "seen"

    def __str__(self) -> str:
        key = "key" if self.names_key else "key of the source"
        cursor = f"{'' if self.cursor_type == 'timestamp' else self.cursor_type + ' '}cursor"
        parts = [key if self.has_key else "no key", cursor if self.has_cursor else ""]
        return ", ".join(filter(None, [self.source, self.mode, *parts, f"lag {self.lag} s" if self.lag else ""]))

    @property
    def cursor(self) -> str | None:
        return self.cursor_column if self.has_cursor else None

    @property
    def key(self) -> tuple[str, ...]:
        return self.key_columns if self.has_key else ()

    @property
    def is_of_files(self) -> bool:
        return self.source in FORMATS


def kinds() -> list[Kind]:
    """Every kind that means something."""
    feeds = [Kind(source, "cdc_mirror", has_cursor=False) for source in (*DATABASES, "jsonl", "csv")]
    files = [
        Kind(source, mode, has_key, has_cursor=False)
        for source in FORMATS
        for mode, has_key in (
            ("append", True),
            ("append", False),
            ("upsert", True),
            *((one, True) for one in REPLACING),
        )
    ]
    tables = [one for source in DATABASES for one in _kinds_of_tables(source)]
    return [*tables, *files, *feeds]


def _kinds_of_tables(source: str) -> Iterator[Kind]:
    for has_key in (True, False):
        for mode in ("append", "upsert") if has_key else ("append",):
            yield Kind(source, mode, has_key, has_cursor=False)
            yield Kind(source, mode, has_key)
            yield Kind(source, mode, has_key, lag=LAG)
            yield Kind(source, mode, has_key, cursor_type="double")
        yield Kind(source, "incremental_watermark", has_key)
        yield Kind(source, "incremental_watermark", has_key, cursor_type="double")
    yield from (Kind(source, mode, has_cursor=False) for mode in REPLACING)
    yield from (Kind(source, mode, names_key=False) for mode in ("append", "upsert"))


class Odd(str):
    """A cursor value that its source spells like this, and that lands as NULL."""

    __slots__ = ()


ODD_TIMES = (Odd("infinity"), Odd("-infinity"), Odd("20000-01-01"), Odd("0044-03-15 BC"))


@dataclass
class Database:
    """A table of SQLite or PostgreSQL. Each row has a number of its own, `id`, whether or not that is a key."""

    kind: Kind
    root: Path
    url: str = ""
    table: str = field(default_factory=lambda: f"life_{uuid4().hex[:8]}")
    types: dict[str, str] = field(default_factory=lambda: dict(TYPES))
    stored: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns: dict[str, Any] = {}
        """Each column, and what rows get in it when it is added."""
        self.key = ("id",) if self.kind.has_key else ()
        if self.kind.cursor_type == "double":
            self.types["seen"] = "double precision" if self.url else "double"
        self._make(self.types)

    def rows(self) -> list[Row]:
        return [dict(row) for row in self.stored]

    def insert(self, rows: Sequence[Row]) -> None:
        self.stored += [dict(row) for row in rows]
        self._run(*(self._insertion(row) for row in rows))

    def remake(self, rows: Sequence[Row]) -> None:
        """Put another table in the place of this one, with the columns of these rows."""
        self._run(f"DROP TABLE {self.table}")
        self._make({name: self.types.get(name, "text") for name in (rows[0] if rows else self.columns)})
        self.stored = []
        self.insert(rows)

    def change(self, key: int, row: Row) -> None:
        self.stored = [{**one, **row} if one["id"] == key else one for one in self.stored]
        updates = ", ".join(f"{name} = {self._mark}" for name in row)
        values = [self._value(value) for value in row.values()]
        self._run((f"UPDATE {self.table} SET {updates} WHERE id = {key}", values))

    def delete(self, keys: Sequence[int]) -> None:
        self.stored = [one for one in self.stored if one["id"] not in keys]
        self._run(*(f"DELETE FROM {self.table} WHERE id = {key}" for key in keys))

    def add(self, name: str, default: str | None) -> None:
        told = f" DEFAULT '{default}'" if default is not None else ""
        self._run(f"ALTER TABLE {self.table} ADD COLUMN {name} text{told}")
        self.columns[name] = default
        self.stored = [{**one, name: default} for one in self.stored]

    def drop(self, name: str) -> None:
        self._run(f"ALTER TABLE {self.table} DROP COLUMN {name}")
        del self.columns[name]
        self.stored = [{other: value for other, value in one.items() if other != name} for one in self.stored]

    def rename(self, name: str, new: str) -> None:
        self._run(f"ALTER TABLE {self.table} RENAME COLUMN {name} TO {new}")
        self.columns = renamed(self.columns, {name: new})
        self.stored = [renamed(one, {name: new}) for one in self.stored]

    def retype(self, kind: str) -> None:
        """Let `n` be another kind of number, of rows whose value fits it; SQLite has no such statement."""
        self.types["n"] = kind
        if kind == "integer":
            self.stored = [{**one, "n": one["n"] if one["n"] in INT else None} for one in self.stored]
        fitting = f"CASE WHEN n BETWEEN {INT.start} AND {INT.stop - 1} THEN n END" if kind == "integer" else "n"
        self._run(f"ALTER TABLE {self.table} ALTER COLUMN n TYPE {kind} USING {fitting}")

    def rekey(self, key: tuple[str, ...]) -> None:
        """Let other columns be the primary key."""
        self.key = key
        self.remake(self.stored)

    def selectable(self) -> list[str]:
        return list(self.columns)

    def address(self) -> str:
        return 'url = "${secret:LIFE_DSN}"' if self.url else 'path = "life.sqlite"'

    def _make(self, types: Mapping[str, str]) -> None:
        self.columns = dict.fromkeys(types)
        columns = ", ".join(f"{name} {one}" for name, one in types.items())
        key = f", PRIMARY KEY ({', '.join(self.key)})" if self.key else ""
        self._run(f"CREATE TABLE {self.table} ({columns}{key})")

    def _insertion(self, row: Row) -> tuple[str, list[Any]]:
        marks = ", ".join([self._mark] * len(row))
        statement = f"INSERT INTO {self.table} ({', '.join(row)}) VALUES ({marks})"
        return statement, [self._value(value) for value in row.values()]

    @property
    def _mark(self) -> str:
        return "%s" if self.url else "?"

    def _value(self, value: Any) -> Any:
        if isinstance(value, Odd):
            return str(value)
        if not isinstance(value, datetime):
            return value
        plain = value.replace(tzinfo=None)
        return plain if self.url else plain.isoformat(sep=" ")

    def _run(self, *statements: str | tuple[str, list[Any]]) -> None:
        with self._opened() as connection, connection:
            for one in statements:
                text, values = one if isinstance(one, tuple) else (one, [])
                connection.execute(text, values or None) if self.url else connection.execute(text, values)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        opened: Any = psycopg.connect(self.url) if self.url else sqlite3.connect(self.root / "life.sqlite", timeout=60)
        with closing(opened):
            yield opened


@dataclass
class Files:
    """A folder of files; every insert is a file, changes and deletes rewrite the files they concern."""

    kind: Kind
    root: Path
    table: str = "life"

    def __post_init__(self) -> None:
        self.columns: dict[str, Any] = dict.fromkeys(TYPES)
        self.files: dict[str, list[Row]] = {}
        self._numbers = count()
        self._folder.mkdir(parents=True)

    def rows(self) -> list[Row]:
        return [row for rows in self.read().values() for row in rows]

    def read(self) -> dict[str, list[Row]]:
        """The files, each row with every column that some file has."""
        columns = self.selectable()
        return {
            name: [{one: row.get(one) for one in columns} for row in rows] for name, rows in sorted(self.files.items())
        }

    def selectable(self) -> list[str]:
        """The columns that a manifest can name."""
        return list(dict.fromkeys(name for rows in self.files.values() for row in rows for name in row) or TYPES)

    def insert(self, rows: Sequence[Row]) -> None:
        self._write(f"{next(self._numbers):05}.{self.kind.source}", list(rows))

    def remove(self, name: str) -> None:
        del self.files[name]
        (self._folder / name).unlink()

    def rename_file(self, name: str) -> None:
        """Give a file the next name, as a new file would have it."""
        rows = self.files[name]
        self.remove(name)
        self.insert(rows)

    def replace(self, name: str, rows: Sequence[Row]) -> None:
        """Put other rows under the same name."""
        self._write(name, list(rows))

    def change(self, key: int, row: Row) -> None:
        for name, rows in list(self.files.items()):
            if any(one["id"] == key for one in rows):
                self._write(name, [{**one, **row} if one["id"] == key else one for one in rows])

    def delete(self, keys: Sequence[int]) -> None:
        for name, rows in list(self.files.items()):
            if any(one["id"] in keys for one in rows):
                self._write(name, [one for one in rows if one["id"] not in keys])

    def add(self, name: str, default: str | None) -> None:
        self.columns[name] = default

    def drop(self, name: str) -> None:
        del self.columns[name]

    def address(self) -> str:
        return 'path = "data"'

    def _write(self, name: str, rows: list[Row]) -> None:
        self.files[name] = rows
        (self._folder / name).write_bytes(as_bytes(rows, self.kind.source))

    @property
    def _folder(self) -> Path:
        return self.root / "data" / self.table


@dataclass
class Feed:
    """A log of changes. Some are written late, some twice: a mirror goes by their sequence, `lsn`, alone."""

    kind: Kind
    root: Path
    url: str = ""

    def __post_init__(self) -> None:
        self.written: list[Row] = []
        """The changes that the log has, in the order in which they were written."""
        self.columns = dict.fromkeys(TYPES)
        self._late: list[Row] = []
        self._stored: list[Row] = []
        self._sequence = count(1)
        columns = {"lsn": "bigint", "op": "text", **TYPES}
        self._log: Any = Files(self.kind, self.root)
        if not self.kind.is_of_files:
            log = Kind(self.kind.source, "append", has_key=False)
            self._log = Database(log, self.root, self.url, types=columns)
        self.table: str = self._log.table

    def rows(self) -> list[Row]:
        return [dict(row) for row in self._stored]

    def insert(self, rows: Sequence[Row]) -> None:
        self._stored += rows
        self._tell("insert", rows)

    def change(self, key: int, row: Row) -> None:
        changed = [{**one, **row} for one in self._stored if one["id"] == key]
        self._stored = [one for one in self._stored if one["id"] != key]
        if row.get("id", key) != key:
            self._tell("delete", [{"id": key}])
        self._stored += changed
        self._tell("update", changed)

    def delete(self, keys: Sequence[int]) -> None:
        self._stored = [one for one in self._stored if one["id"] not in keys]
        self._tell("delete", [{"id": key} for key in keys])

    def truncate(self) -> None:
        self._stored = []
        self._tell("truncate", [{}])

    def selectable(self) -> list[str]:
        return ["lsn", "op", *self.columns]

    def address(self) -> str:
        return str(self._log.address())

    def _tell(self, op: str, rows: Sequence[Row]) -> None:
        """Write changes down, but for some that come with a later one; now and then with an old one once more."""
        nothing = dict.fromkeys(TYPES)
        changes = [{"lsn": next(self._sequence), "op": op, **nothing, **row} for row in rows]
        dice = seeded(changes[-1]["lsn"] if changes else 0)
        waiting = [*self._late, *changes]
        self._late = [one for one in waiting if dice.random() < 0.2]
        out = [one for one in waiting if one not in self._late]
        if self.written and dice.random() < 0.3:
            out.append(dice.choice(self.written))
        if out:
            self.written += out
            self._log.insert(out)


def seeded(seed: int | str) -> random.Random:
    """Dice that fall the same way whenever they are thrown."""
    return random.Random(seed)  # noqa: S311 no secret is made of it


def renamed(row: Mapping[str, Any], names: Mapping[str, str]) -> Row:
    return {names.get(name, name): value for name, value in row.items()}


def as_bytes(rows: Sequence[Row], form: str) -> bytes:
    """A file with these rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row)) or list(TYPES)
    if form == "parquet":
        types: dict[str, Any] = {"id": pl.Int64, "seen": pl.Datetime("us"), "n": pl.Int64}
        data = [{**row, "seen": _naive(row["seen"])} for row in rows]
        out = io.BytesIO()
        pl.DataFrame(data, schema={name: types.get(name, pl.String) for name in columns}).write_parquet(out)
        return out.getvalue()
    told = [{name: _text(value) for name, value in row.items()} for row in rows]
    if form == "jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in told).encode()
    lines = [",".join(columns), *(",".join(_field(row.get(name)) for name in columns) for row in told)]
    return "".join(f"{line}\n" for line in lines).encode()


def _field(value: Any) -> str:
    """A field of CSV: one in quotes is never NULL, and an empty one without quotes is."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else str(value)


def _naive(value: datetime | None) -> datetime | None:
    return value and value.replace(tzinfo=None)


def _text(value: Any) -> Any:
    return value.replace(tzinfo=None).isoformat(sep=" ") if isinstance(value, datetime) else value


def instant(value: Any) -> Any:
    """One form of a cursor value, whoever tells it."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
