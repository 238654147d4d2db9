"""Simulate the everyday life of a source: random events between applies, and an oracle of what each mode promises.

A history is a list of steps. Each step has a name and a seed of its own, and does what it can with what is there. So
any part of a history is a history as well, and one that fails can be cut down to the few steps that matter.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import polars as pl
import psycopg

from flow.stand import Stand
from hakiri.model import crash_points as boundary
from hakiri.model.crash_points import Boundary
from hakiri.model.staged import PROVENANCE

Row = dict[str, Any]

MODES = ("append", "upsert", "truncate", "blue_green", "incremental_watermark")
SOURCES = ("sqlite", "postgres", "files")
REPLACING = ("truncate", "blue_green")
START = datetime(2026, 1, 1, tzinfo=UTC)
LAG = 5
"""Seconds that a read goes back behind its cursor, where it does."""
DEATHS = (
    Boundary.PLANNED,
    Boundary.LANDING_RESERVED,
    Boundary.BEFORE_COMMIT,
    Boundary.AFTER_COMMIT,
    Boundary.LANDING_FINISHED,
    Boundary.SNAPSHOT_RECORDED,
)
"""Where an apply is cut off: what a driver passes itself, so that no other process has to die."""
TYPES = {"id": "bigint", "seen": "timestamp", "note": "text", "n": "integer"}
ODD_TEXTS = ("", "ä\u0301 \U0001f600", "a'b\"c`d", "${x}", "null", " ", "line\nline", "\\")
ODD_NUMBERS = (0, -1, 2**31 - 1, -(2**31))


@dataclass(frozen=True, slots=True)
class Kind:
    """What is simulated: a source, and how its table is landed."""

    source: str
    mode: str
    has_key: bool = True
    has_cursor: bool = True
    lag: int = 0

    def __str__(self) -> str:
        key, cursor = "key" if self.has_key else "no key", "cursor" if self.has_cursor else ""
        return ", ".join(filter(None, [self.source, self.mode, key, cursor, f"lag {self.lag} s" if self.lag else ""]))

    @property
    def cursor(self) -> str | None:
        return "seen" if self.has_cursor else None


def kinds() -> list[Kind]:
    """Every kind that means something."""
    found = [
        Kind(source, mode, has_key, has_cursor, lag)
        for source in SOURCES
        for mode in MODES
        for has_key in (True, False)
        for has_cursor in (True, False)
        for lag in (0, LAG)
    ]
    return [one for one in found if _means_something(one)]


def _means_something(kind: Kind) -> bool:
    if kind.source == "files" and (kind.has_cursor or kind.mode == "incremental_watermark"):
        return False
    if kind.mode in REPLACING:
        return kind.has_key and not kind.has_cursor and not kind.lag
    if kind.mode == "incremental_watermark":
        return kind.has_cursor and not kind.lag
    return not (kind.mode == "upsert" and not kind.has_key) and not (kind.lag and not kind.has_cursor)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens."""

    deed: str
    seed: int


class Source(Protocol):
    """A table that an application writes to, and that the simulation knows row by row."""

    columns: dict[str, Any]
    """Each column, and what rows get in it when it is added."""

    def rows(self) -> list[Row]: ...

    def insert(self, rows: Sequence[Row]) -> None: ...

    def change(self, key: int, row: Row) -> None: ...

    def delete(self, keys: Sequence[int]) -> None: ...

    def add(self, name: str, default: str | None) -> None: ...

    def drop(self, name: str) -> None: ...

    def manifest(self, kind: Kind) -> str: ...


@dataclass
class Database:
    """A table of SQLite or PostgreSQL. Each row has a number of its own, `id`, whether or not that is a key."""

    kind: Kind
    root: Path
    url: str = ""
    table: str = field(default_factory=lambda: f"life_{uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self._make(TYPES)

    def rows(self) -> list[Row]:
        with self._opened() as connection:
            found = connection.execute(f"SELECT {', '.join(self.columns)} FROM {self.table}").fetchall()
        return [_plain(dict(zip(self.columns, row, strict=True))) for row in found]

    def insert(self, rows: Sequence[Row]) -> None:
        names = list(rows[0])
        marks = ", ".join([self._mark] * len(names))
        statement = f"INSERT INTO {self.table} ({', '.join(names)}) VALUES ({marks})"
        self._run(*((statement, [self._value(row[name]) for name in names]) for row in rows))

    def remake(self, rows: Sequence[Row]) -> None:
        """Put another table in the place of this one, with the columns of these rows."""
        self._run(f"DROP TABLE {self.table}")
        self._make({name: TYPES.get(name, "text") for name in rows[0]})
        self.insert(rows)

    def change(self, key: int, row: Row) -> None:
        updates = ", ".join(f"{name} = {self._mark}" for name in row)
        values = [self._value(value) for value in row.values()]
        self._run((f"UPDATE {self.table} SET {updates} WHERE id = {key}", values))

    def delete(self, keys: Sequence[int]) -> None:
        self._run(*(f"DELETE FROM {self.table} WHERE id = {key}" for key in keys))

    def add(self, name: str, default: str | None) -> None:
        told = f" DEFAULT '{default}'" if default is not None else ""
        self._run(f"ALTER TABLE {self.table} ADD COLUMN {name} text{told}")
        self.columns[name] = default

    def drop(self, name: str) -> None:
        self._run(f"ALTER TABLE {self.table} DROP COLUMN {name}")
        del self.columns[name]

    def rename(self, name: str, new: str) -> None:
        self._run(f"ALTER TABLE {self.table} RENAME COLUMN {name} TO {new}")
        self.columns = {new if one == name else one: default for one, default in self.columns.items()}

    def widen(self) -> None:
        """Let `n` hold more; SQLite has no such statement."""
        if self.kind.source == "postgres":
            self._run(f"ALTER TABLE {self.table} ALTER COLUMN n TYPE bigint")

    def manifest(self, kind: Kind) -> str:
        address = 'url = "${secret:LIFE_DSN}"' if self.url else 'path = "life.sqlite"'
        return _manifest(kind, kind.source, address, f'name = "{self.table}"')

    def _make(self, types: Mapping[str, str]) -> None:
        self.columns: dict[str, Any] = dict.fromkeys(types)
        key = " PRIMARY KEY" if self.kind.has_key else ""
        columns = ", ".join(f"{name} {one}{key if name == 'id' else ''}" for name, one in types.items())
        self._run(f"CREATE TABLE {self.table} ({columns})")

    @property
    def _mark(self) -> str:
        return "%s" if self.url else "?"

    def _value(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        plain = value.replace(tzinfo=None)
        return plain if self.url else plain.isoformat(sep=" ")

    def _run(self, *statements: str | tuple[str, list[Any]]) -> None:
        with self._opened() as connection, connection:
            for one in statements:
                text, values = one if isinstance(one, tuple) else (one, [])
                connection.execute(text, values)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        opened: Any = psycopg.connect(self.url) if self.url else sqlite3.connect(self.root / "life.sqlite", timeout=60)
        with closing(opened):
            yield opened


@dataclass
class Files:
    """A folder of JSON lines; every insert is a file, changes and deletes rewrite the files they concern."""

    kind: Kind
    root: Path
    table: str = "life"

    def __post_init__(self) -> None:
        self.columns: dict[str, Any] = dict.fromkeys(TYPES)
        self.files: dict[str, list[Row]] = {}
        self._numbers = count()
        self._folder.mkdir(parents=True)

    def rows(self) -> list[Row]:
        return [dict(row) for name in sorted(self.files) for row in self.files[name]]

    def insert(self, rows: Sequence[Row]) -> None:
        self._write(f"{next(self._numbers):05}.jsonl", list(rows))

    def remove(self, name: str) -> None:
        del self.files[name]
        (self._folder / name).unlink()

    def rename(self, name: str) -> None:
        """Give a file the next name, as a new file would have it."""
        rows = self.files[name]
        self.remove(name)
        self.insert(rows)

    def append(self, rows: Sequence[Row], name: str) -> None:
        self._write(name, [*self.files[name], *rows])

    def change(self, key: int, row: Row) -> None:
        for name, rows in self.files.items():
            if any(one["id"] == key for one in rows):
                self._write(name, [{**one, **row} if one["id"] == key else one for one in rows])
                return

    def delete(self, keys: Sequence[int]) -> None:
        for name, rows in list(self.files.items()):
            if any(one["id"] in keys for one in rows):
                self._write(name, [one for one in rows if one["id"] not in keys])

    def add(self, name: str, default: str | None) -> None:
        self.columns[name] = default

    def drop(self, name: str) -> None:
        del self.columns[name]

    def manifest(self, kind: Kind) -> str:
        return _manifest(kind, "files", 'path = "data"', f'name = "{self.table}"')

    def _write(self, name: str, rows: list[Row]) -> None:
        self.files[name] = rows
        told = [{key: _text(value) for key, value in row.items()} for row in rows]
        (self._folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in told), encoding="utf-8")

    @property
    def _folder(self) -> Path:
        return self.root / "data" / self.table


def _manifest(kind: Kind, connector: str, address: str, table: str) -> str:
    key = ', primary_key = ["id"]' if kind.has_key else ""
    watermark = ', watermark_column = "seen"' if kind.mode == "incremental_watermark" else ""
    cursor = f'incremental = {{ column = "seen", lag = "{kind.lag}s" }}\n' if kind.has_cursor and not watermark else ""
    return (
        'id = "life"\n'
        f'source = {{ connector = "{connector}", config = {{ {address} }} }}\n'
        f"secrets = [{'' if connector != 'postgres' else chr(34) + 'LIFE_DSN' + chr(34)}]\n"
        f"tables = [{{ {table}{key} }}]\n"
        f'load = {{ mode = "{kind.mode}"{watermark} }}\n'
        f"{cursor}"
    )


@dataclass
class Oracle:
    """What the table has to hold, known from the rows that the source had at each apply and from nothing else."""

    kind: Kind
    held: list[Row] = field(default_factory=list)
    """Each landed row, with the columns that it was read with."""
    top: Any = None
    """The greatest cursor value that any read has met."""

    def apply(self, rows: Sequence[Row]) -> None:
        """Take one read of the source in."""
        if self.kind.mode in REPLACING:
            self.held = [dict(row) for row in rows]
        elif self.kind.mode == "upsert":
            self._upsert(self._read(rows))
        elif self.kind.mode == "incremental_watermark":
            newest = max((row["seen"] for row in self.held if row["seen"] is not None), default=None)
            self._append([row for row in rows if row["seen"] is None or newest is None or row["seen"] >= newest])
        else:
            self._append(self._read(rows))
        if self.kind.cursor:
            tops = [row["seen"] for row in rows if row["seen"] is not None]
            self.top = max([*tops, *([self.top] if self.top is not None else [])], default=None)

    def _read(self, rows: Sequence[Row]) -> list[Row]:
        """What a read meets: all that is not older than its cursor less the lag, and what has no cursor value."""
        if not self.kind.cursor or self.top is None:
            return list(rows)
        floor = self.top - timedelta(seconds=self.kind.lag)
        return [row for row in rows if row["seen"] is None or row["seen"] >= floor]

    def _append(self, rows: Sequence[Row]) -> None:
        """Add what is not there: each held row stands for one equal row; with a key and a cursor, for all of them."""
        left, is_keyed = list(self.held), self.kind.has_key and self.kind.cursor
        for row in rows:
            alike = sorted((one for one in left if is_same(one, row)), key=lambda one: len(one.keys() & row.keys()))
            if not alike:
                self.held.append(dict(row))
            elif not is_keyed:
                left = [one for one in left if one is not alike[-1]]

    def _upsert(self, rows: Sequence[Row]) -> None:
        by_key = {row["id"]: row for row in self.held}
        for row in rows:
            old = by_key.get(row["id"])
            is_older = old is not None and self.kind.cursor and _is_older(row["seen"], old["seen"])
            if not is_older:
                by_key[row["id"]] = {**(old or {}), **row}
        self.held = list(by_key.values())


def is_same(one: Row, other: Row) -> bool:
    """Equal in every column that both were read with."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def _is_older(new: Any, old: Any) -> bool:
    return old is not None and (new is None or new < old)


@dataclass
class FilesOracle(Oracle):
    """The same for files: each is read once, and again when it has changed."""

    known: dict[str, list[Row]] = field(default_factory=dict)

    def apply_files(self, files: dict[str, list[Row]]) -> None:
        changed = {name: rows for name, rows in sorted(files.items()) if self.known.get(name) != rows}
        if self.kind.mode in REPLACING:
            self.held = [dict(row) for name in sorted(files) for row in files[name]]
        elif self.kind.mode == "upsert":
            self._upsert([row for name, rows in changed.items() if name not in self.known for row in rows])
            self._upsert([row for name, rows in changed.items() if name in self.known for row in rows])
        else:
            self.held += [dict(row) for name, rows in changed.items() if name not in self.known for row in rows]
            self._append([row for name, rows in changed.items() if name in self.known for row in rows])
        self.known = {name: [dict(row) for row in rows] for name, rows in files.items()}


class Difference(AssertionError):
    """The table is not what its mode promises."""


class Died(BaseException):
    """What an apply is cut off by."""


@dataclass
class Life:
    """One history: a source, its project, and the oracle beside them."""

    kind: Kind
    stand: Stand
    url: str = ""
    told: list[str] = field(default_factory=list)
    applies: int = 0

    def __post_init__(self) -> None:
        root = self.stand.root
        is_of_files = self.kind.source == "files"
        self.source: Any = Files(self.kind, root) if is_of_files else Database(self.kind, root, self._url)
        self.oracle = FilesOracle(self.kind) if is_of_files else Oracle(self.kind)
        self.numbers = count(1)
        self.now = START
        self.columns = dict.fromkeys(TYPES)
        """Every column that has ever been landed."""
        (root / "pipelines").mkdir(exist_ok=True)
        self._manifest.write_text(self.source.manifest(self.kind), encoding="utf-8")
        self.stand.environment["LIFE_DSN"] = self._url

    @property
    def _url(self) -> str:
        return self.url if self.kind.source == "postgres" else ""

    def live(self, steps: Iterable[Step]) -> None:
        """Do every step. Raises Difference at the first apply after which the table is not what it should be."""
        self.insert(seeded(0))
        for step in steps:
            self.told.append(f"{step.deed}({step.seed})")
            getattr(self, step.deed)(seeded(step.seed))

    # Deeds: what an application does to its table.

    def insert(self, dice: random.Random) -> None:
        """Put new rows in: newer ones, some that tie, some late ones, some without a cursor value, some odd ones."""
        rows = [self._row(dice) for _ in range(dice.randint(1, 4))]
        if not self.kind.has_key and dice.random() < 0.5:
            rows.append(dict(rows[0]))
        self.source.insert(rows)

    def update(self, dice: random.Random) -> None:
        """Change some rows, most with a newer cursor value, some within its grain."""
        for row in self._some(dice, 2):
            changed = {"note": f"changed {next(self.numbers)}"}
            if dice.random() < 0.7:
                changed |= {"seen": self._moment(dice)}
            self.source.change(row["id"], changed)

    def delete(self, dice: random.Random) -> None:
        self.source.delete([row["id"] for row in self._some(dice, 2)])

    def empty_and_refill(self, dice: random.Random) -> None:
        """Take all rows away, as a nightly job would, and put most of them back."""
        rows = self.source.rows()
        if rows and self.kind.source != "files":
            self.source.delete([row["id"] for row in rows])
            back = [row for row in rows if dice.random() < 0.8]
            if back:
                self.source.insert(back)

    def add_column(self, dice: random.Random) -> None:
        default = dice.choice([None, "default"])
        self.source.add(f"c{next(self.numbers)}", default)

    def drop_column(self, dice: random.Random) -> None:
        added = [name for name in self.source.columns if name not in TYPES]
        if added:
            self.source.drop(dice.choice(added))

    def rename_column(self, dice: random.Random) -> None:
        """Rename a column without a word in the manifest."""
        added = [name for name in self.source.columns if name not in TYPES]
        if added and isinstance(self.source, Database):
            self.source.rename(dice.choice(added), f"c{next(self.numbers)}")

    def move_key(self, dice: random.Random) -> None:
        """Give a row another number, with a newer cursor value."""
        for row in self._some(dice, 1):
            self.now += timedelta(seconds=1)
            self.source.change(row["id"], {"id": next(self.numbers), "seen": self.now})

    def widen(self, _dice: random.Random) -> None:
        if isinstance(self.source, Database):
            self.source.widen()

    def append_to_file(self, dice: random.Random) -> None:
        if isinstance(self.source, Files) and self.source.files:
            self.source.append([self._row(dice)], dice.choice(sorted(self.source.files)))

    def remove_file(self, dice: random.Random) -> None:
        if isinstance(self.source, Files) and len(self.source.files) > 1:
            self.source.remove(dice.choice(sorted(self.source.files)))

    def rename_file(self, dice: random.Random) -> None:
        if isinstance(self.source, Files) and self.source.files:
            self.source.rename(dice.choice(sorted(self.source.files)))

    # Deeds: what an operator does.

    def apply(self, _dice: random.Random) -> None:
        """Apply, and compare; a second apply changes nothing."""
        self._apply()
        self._compare()

    def apply_twice(self, dice: random.Random) -> None:
        self.apply(dice)
        self.apply(dice)

    def apply_cut_off(self, dice: random.Random) -> None:
        """An apply that dies on its way, and the next one, which goes on."""
        with dying(dice.choice(DEATHS)), suppress(Died):
            self._apply()
        self.apply(dice)

    def edit_lag(self, dice: random.Random) -> None:
        """Let reads go back farther, or less far."""
        if self.kind.has_cursor and self.kind.mode in ("append", "upsert"):
            self.kind = replace(self.kind, lag=dice.choice([0, 2, LAG]))
            self.oracle.kind = self.kind
            self._manifest.write_text(self.source.manifest(self.kind), encoding="utf-8")

    def edit_in_vain(self, dice: random.Random) -> None:
        """Edit the manifest so that the table cannot follow: the apply is refused and changes nothing."""
        if not self.oracle.held:
            return
        text = self.source.manifest(self.kind)
        old, new, code = dice.choice(self._refused_edits())
        before = Counter(_key(row, self.columns) for row in landed(self.stand, self.source.table))
        self._manifest.write_text(text.replace(old, new), encoding="utf-8")
        results = self.stand.apply()
        self._manifest.write_text(text, encoding="utf-8")
        codes = [error.code for result in results.values() for error in result.errors]
        after = Counter(_key(row, self.columns) for row in landed(self.stand, self.source.table))
        if codes != [code] or before != after:
            raise Difference(f"{self.kind}: {old} became {new}: {codes}\nafter {' '.join(self.told)}")

    def _refused_edits(self) -> list[tuple[str, str, str]]:
        found = [('id = "life"', 'id = "life-renamed"', "HK617")]
        if self.kind.has_key and self.kind.mode not in REPLACING:
            found.append(('primary_key = ["id"]', 'primary_key = ["note"]', "HK610"))
        if self.kind.mode in ("append", "upsert") and self.oracle.top is not None and not self.kind.lag:
            found.append(('column = "seen"', 'column = "id"', "HK613"))
        return found

    @property
    def _manifest(self) -> Path:
        return self.stand.root / "pipelines/life.toml"

    def _apply(self) -> None:
        self.applies += 1
        result = self.stand.apply()["life"]
        if result.errors:
            raise Difference(f"{self.kind}: the apply fails: {result.errors[0]}")

    def _compare(self) -> None:
        if isinstance(self.oracle, FilesOracle):
            self.oracle.apply_files(self.source.files)
        else:
            self.oracle.apply(self.source.rows())
        self.columns |= dict.fromkeys(name for row in self.oracle.held for name in row)
        wanted = Counter(_key(row, self.columns) for row in self.oracle.held)
        found = Counter(_key(row, self.columns) for row in landed(self.stand, self.source.table))
        if wanted != found:
            raise Difference(
                f"{self.kind}: missing {sorted(wanted - found)[:3]}, too many {sorted(found - wanted)[:3]}\n"
                f"after {' '.join(self.told)}"
            )

    def _some(self, dice: random.Random, most: int) -> list[Row]:
        rows = self.source.rows()
        return dice.sample(rows, min(len(rows), dice.randint(1, most)))

    def _row(self, dice: random.Random) -> Row:
        number = next(self.numbers)
        note = dice.choice(ODD_TEXTS) + str(number) if dice.random() < 0.3 else f"note {number}"
        row = {"id": number, "seen": self._moment(dice), "note": note, "n": dice.choice([number, *ODD_NUMBERS, None])}
        added = {name: default for name, default in self.source.columns.items() if name not in TYPES}
        return row | {name: dice.choice([default, f"own {number}"]) for name, default in added.items()}

    def _moment(self, dice: random.Random) -> datetime | None:
        """A cursor value: newer than all, equal to the newest, a little late, or none."""
        way = dice.choice(["newer", "newer", "newer", "tied", "late", "none"])
        if way == "newer":
            self.now += timedelta(seconds=dice.randint(1, 3))
        if way == "none":
            return None
        return self.now - timedelta(seconds=dice.randint(1, 8)) if way == "late" else self.now


DEEDS = {
    "insert": 5,
    "update": 4,
    "delete": 1,
    "empty_and_refill": 1,
    "add_column": 2,
    "drop_column": 1,
    "widen": 1,
    "rename_column": 1,
    "move_key": 1,
    "append_to_file": 2,
    "remove_file": 1,
    "rename_file": 1,
    "edit_lag": 1,
    "edit_in_vain": 1,
}
APPLIES = {"apply": 5, "apply_twice": 1, "apply_cut_off": 1}


def seeded(seed: int | str) -> random.Random:
    """Dice that fall the same way whenever they are thrown."""
    return random.Random(seed)  # noqa: S311 no secret is made of it


def history(dice: random.Random, rounds: int) -> list[Step]:
    """So many rounds of a few events and an apply."""
    steps: list[Step] = []
    for _ in range(rounds):
        for deeds, number in ((DEEDS, dice.randint(1, 3)), (APPLIES, 1)):
            chosen = dice.choices(list(deeds), list(deeds.values()), k=number)
            steps += [Step(deed, dice.randrange(1 << 30)) for deed in chosen]
    return steps


def shortened(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """The history without every step that it fails without."""
    kept = list(steps)
    for step in list(steps):
        fewer = [one for one in kept if one is not step]
        if fails(fewer):
            kept = fewer
    return kept


@contextmanager
def dying(place: Boundary) -> Iterator[None]:
    """Inside, whoever passes the boundary for the first time is cut off there."""
    before = boundary._count_down

    def die(_stop: boundary.CrashPoint) -> None:
        boundary.set_crash_point(boundary.CrashPoint(place, passing=-1))
        boundary._count_down = lambda _: None
        raise Died

    boundary._count_down, boundary._state.stop = die, boundary.CrashPoint(place)
    try:
        yield
    finally:
        boundary._count_down, boundary._state.stop = before, None


def landed(stand: Stand, table: str) -> list[Row]:
    frame = pl.read_delta(str(stand.folder(table)))
    return [_plain(row) for row in frame.drop(*PROVENANCE).rows(named=True)]


def _plain(row: Row) -> Row:
    return {name: _instant(value) if name == "seen" else value for name, value in row.items()}


def _instant(value: Any) -> Any:
    """One form of a cursor value, whoever tells it."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _text(value: Any) -> Any:
    return value.replace(tzinfo=None).isoformat(sep=" ") if isinstance(value, datetime) else value


def _key(row: Row, columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(repr(row.get(name)) for name in columns)
