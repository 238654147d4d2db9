"""The same shop behind each kind of source: orders that are planned in several chunks, some of them without a city."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import psycopg

from flow.kills import MIRROR
from flow.stand import Rows, Stand

Order = tuple[int, str | None, datetime]

PIPELINE = """\
id = "{name}"
destination = {{ namespace = "{name}" }}
source = {{ connector = "{connector}", config = {{ {config} }} }}
secrets = [{secrets}]
tables = [{{ name = "orders", {table} }}]
load = {{ mode = "{mode}"{keys}, post_hook = {{ type = "sql", statement = "REFRESH TABLE {{table}}" }} }}
quality = {{ row_level = [{{ type = "not_null", field = "city", on_fail = "skip" }}] }}
retry = {{ initial_delay = "1s", max_delay = "2s" }}
"""
FEED = 'upsert_key = "id", sequence_by = "lsn"'
LOG = "SELECT lsn, op, id, city, seen FROM orders_log"
CURSOR = 'incremental = { column = "seen" }\nbackfill = { window = "10d", parallelism = 2 }\n'
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def order(number: int, day: float, city: str | None = "here") -> Order:
    return number, city, FIRST_DAY + timedelta(days=day)


def orders(low: int, high: int) -> list[Order]:
    """One a day, every seventh without a city."""
    return [order(number, number, f"city {number % 5}" if number % 7 else None) for number in range(low, high)]


class Shop(Protocol):
    """A source of orders that a test can change, and read without any of our code."""

    environment: dict[str, str]
    deletes: bool
    """Whether an order can be changed or taken away where it stands."""

    def pipeline(self, mode: str) -> str:
        """The manifest that lands the orders."""

    def put(self, changed: Iterable[Order]) -> None:
        """Insert these orders, or take the place of those that have the same number."""

    def drop(self, number: int) -> None:
        """Take an order away."""

    def rows(self) -> Rows:
        """What a truthful copy holds now."""


@dataclass
class SqliteShop:
    root: Path
    name: str = "shop"
    environment: dict[str, str] = field(default_factory=dict)
    deletes: bool = True

    def __post_init__(self) -> None:
        log = "CREATE TABLE orders_log (lsn INTEGER PRIMARY KEY, op TEXT, id INTEGER, city TEXT, seen TIMESTAMP)"
        orders = "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, seen TIMESTAMP)"
        index = "CREATE INDEX orders_seen ON orders (seen)"
        self._execute([(orders, ()), (index, ()), (log, ())])

    def pipeline(self, mode: str) -> str:
        return _manifest(self.name, "sqlite", f'path = "{self.name}.sqlite"', _table(mode), mode) + CURSOR

    def put(self, changed: Iterable[Order]) -> None:
        kept = "INSERT OR REPLACE INTO orders VALUES (?, ?, ?)"
        logged = "INSERT INTO orders_log (op, id, city, seen) VALUES ('upsert', ?, ?, ?)"
        told = [(number, city, _text(seen)) for number, city, seen in changed]
        self._execute((statement, one) for one in told for statement in (kept, logged))

    def drop(self, number: int) -> None:
        logged = """
        INSERT INTO orders_log (op, id, seen)
        SELECT 'delete', ?, datetime(max(seen), '+1 day') FROM orders_log
        """
        self._execute([("DELETE FROM orders WHERE id = ?", (number,)), (logged, (number,))])

    def rows(self) -> Rows:
        with closing(sqlite3.connect(self.root / f"{self.name}.sqlite")) as connection:
            return Counter(connection.execute("SELECT id, city, seen FROM orders").fetchall())

    def _execute(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        with closing(sqlite3.connect(self.root / f"{self.name}.sqlite", timeout=60)) as connection, connection:
            for statement, values in statements:
                connection.execute(statement, values)


@dataclass
class PostgresShop:
    url: str
    name: str = "shop"
    deletes: bool = True

    def __post_init__(self) -> None:
        self.environment = {"SHOP_DSN": self.url}
        log = """
        CREATE TABLE orders_log (
          lsn bigserial PRIMARY KEY, op text, id bigint, city text, seen timestamptz NOT NULL
        )
        """
        self._execute(
            [("CREATE TABLE orders (id bigint PRIMARY KEY, city text, seen timestamptz NOT NULL)", ()), (log, ())]
        )

    def pipeline(self, mode: str) -> str:
        config = 'url = "${secret:SHOP_DSN}"'
        return _manifest(self.name, "postgres", config, _table(mode), mode, secrets='"SHOP_DSN"') + CURSOR

    def put(self, changed: Iterable[Order]) -> None:
        statement = """
        INSERT INTO orders VALUES (%s, %s, %s)
        ON CONFLICT (id) DO UPDATE SET city = EXCLUDED.city, seen = EXCLUDED.seen
        """
        logged = "INSERT INTO orders_log (op, id, city, seen) VALUES ('upsert', %s, %s, %s)"
        self._execute((one, order) for order in changed for one in (statement, logged))

    def drop(self, number: int) -> None:
        logged = """
        INSERT INTO orders_log (op, id, seen)
        SELECT 'delete', %s, max(seen) + interval '1 day' FROM orders_log
        """
        self._execute([("DELETE FROM orders WHERE id = %s", (number,)), (logged, (number,))])

    def rows(self) -> Rows:
        with psycopg.connect(self.url) as connection:
            found = connection.execute("SELECT id, city, seen FROM orders").fetchall()
        return Counter((number, city, _text(seen)) for number, city, seen in found)

    def _execute(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        with psycopg.connect(self.url) as connection:
            for statement, values in statements:
                connection.execute(statement, values)


@dataclass
class FilesShop:
    """Each change is a line of a file: nothing that was written once is changed."""

    root: Path
    name: str = "shop"
    environment: dict[str, str] = field(default_factory=dict)
    deletes: bool = False

    def __post_init__(self) -> None:
        self._folder.mkdir(parents=True)

    def pipeline(self, mode: str) -> str:
        types = {"id": "bigint", "city": "string", "seen": "string"}
        if mode == MIRROR:
            self.deletes = True
            types |= {"op": "string", "lsn": "bigint"}
        columns = ", ".join(f'{{ name = "{name}", type = "{kind}" }}' for name, kind in types.items())
        table = f'primary_key = ["id"], columns = [{columns}]'
        return _manifest(self.name, "files", f'path = "{self.name}"', table, mode)

    def put(self, changed: Iterable[Order]) -> None:
        self._write({"op": "U", "id": number, "city": city, "seen": _text(seen)} for number, city, seen in changed)

    def drop(self, number: int) -> None:
        self._write([{"op": "D", "id": number, "city": None, "seen": None}])

    def _write(self, changes: Iterable[dict[str, Any]]) -> None:
        told = [json.dumps({**one, "lsn": lsn}) for lsn, one in enumerate(changes, len(self._lines()))]
        for start in range(0, len(told), _ORDERS_OF_A_FILE):
            lines = told[start : start + _ORDERS_OF_A_FILE]
            number = len(list(self._folder.iterdir()))
            hidden = self._folder / f".{number}"
            hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            hidden.rename(self._folder / f"{number:05}.jsonl")

    def rows(self) -> Rows:
        gone = {one["id"] for one in self._lines() if one["op"] == "D"}
        return Counter((one["id"], one["city"], one["seen"]) for one in self._lines() if one["id"] not in gone)

    def _lines(self) -> list[dict[str, Any]]:
        paths = self._folder.iterdir()
        return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]

    @property
    def _folder(self) -> Path:
        return self.root / self.name / "orders"


_ORDERS_OF_A_FILE = 15


def landed_orders(stand: Stand, table: str) -> Rows:
    """What another engine finds in the table."""
    return orders_in(stand.folder(table))


def orders_in(table: Path) -> Rows:
    frame = pl.read_delta(str(table)).select("id", "city", "seen")
    return Counter((number, city, _text(seen)) for number, city, seen in frame.rows())


def truth(mode: str, states: Iterable[Rows]) -> Rows:
    """What the table holds once it has seen these states of the source, one after the other, told without our code."""
    seen: list[Rows] = [Counter({row: count for row, count in state.items() if row[1] is not None}) for state in states]
    match mode:
        case "truncate" | "blue_green":
            return seen[-1]
        case "append":
            total: Rows = Counter()
            for before, after in zip([Rows(), *seen], seen, strict=False):
                total += after - before
            return total
        case "incremental_watermark":
            held: Rows = Counter()
            for before, after in zip([Rows(), *seen], seen, strict=False):
                newest = max(map(_age, held), default="")
                held += Counter({row: count for row, count in (after - before).items() if _age(row) >= newest})
            return held
        case "cdc_mirror":
            return Counter({row[0]: row for row in sorted(seen[-1], key=_age)}.values())
        case "upsert":
            return Counter({row[0]: row for state in seen for row in sorted(state, key=_age)}.values())
        case _:
            raise NotImplementedError(mode)


def _age(row: tuple[Any, ...]) -> Any:
    return row[2]


def set_aside(states: Iterable[Rows]) -> set[tuple[Any, ...]]:
    """The orders that no table may hold."""
    return {row for state in states for row in state if row[1] is None}


def _table(mode: str) -> str:
    """What a database is asked for: the orders, or what happened to them."""
    return f'query = "{LOG}"' if mode == MIRROR else 'primary_key = ["id"]'


def _manifest(name: str, connector: str, config: str, table: str, mode: str, *, secrets: str = "") -> str:
    keys = {MIRROR: f", {FEED}", "incremental_watermark": ', watermark_column = "seen"'}.get(mode, "")
    return PIPELINE.format(
        name=name, connector=connector, config=config, table=table, mode=mode, keys=keys, secrets=secrets
    )


def _text(seen: datetime | str) -> str:
    """One way to write an instant, whatever the source and the table make of it."""
    return seen if isinstance(seen, str) else seen.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
