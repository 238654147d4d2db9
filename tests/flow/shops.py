"""The same shop behind each kind of source: orders that are planned in several chunks, some of them without a city."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from flow.stand import Rows, Stand

Order = tuple[int, str | None, datetime]

PIPELINE = """\
id = "{name}"
destination = {{ namespace = "{name}" }}
source = {{ connector = "{connector}", config = {{ {config} }} }}
secrets = [{secrets}]
tables = [{{ name = "orders", {table} }}]
load = {{ {load}, post_hook = {{ type = "sql", statement = "REFRESH TABLE {{table}}" }} }}
quality = {{ row_level = [{{ type = "not_null", field = "city", on_fail = "skip" }}] }}
retry = {{ initial_delay = "1s", max_delay = "2s" }}
"""
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
        self._execute([("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, seen TIMESTAMP)", ())])

    def pipeline(self, mode: str) -> str:
        return _manifest(self.name, "sqlite", f'path = "{self.name}.sqlite"', 'primary_key = ["id"]', mode) + CURSOR

    def put(self, changed: Iterable[Order]) -> None:
        statement = "INSERT OR REPLACE INTO orders VALUES (?, ?, ?)"
        self._execute((statement, (number, city, _text(seen))) for number, city, seen in changed)

    def drop(self, number: int) -> None:
        self._execute([("DELETE FROM orders WHERE id = ?", (number,))])

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
        self._execute([("CREATE TABLE orders (id bigint PRIMARY KEY, city text, seen timestamptz NOT NULL)", ())])

    def pipeline(self, mode: str) -> str:
        config, key = 'url = "${secret:SHOP_DSN}"', 'primary_key = ["id"]'
        return _manifest(self.name, "postgres", config, key, mode, secrets='"SHOP_DSN"') + CURSOR

    def put(self, changed: Iterable[Order]) -> None:
        statement = """
        INSERT INTO orders VALUES (%s, %s, %s)
        ON CONFLICT (id) DO UPDATE SET city = EXCLUDED.city, seen = EXCLUDED.seen
        """
        self._execute((statement, one) for one in changed)

    def drop(self, number: int) -> None:
        self._execute([("DELETE FROM orders WHERE id = %s", (number,))])

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
    """Each change is a file of its own: nothing that was written once is changed."""

    root: Path
    name: str = "shop"
    environment: dict[str, str] = field(default_factory=dict)
    deletes: bool = False

    def __post_init__(self) -> None:
        self._folder.mkdir(parents=True)

    def pipeline(self, mode: str) -> str:
        types = {"id": "bigint", "city": "string", "seen": "string"}
        columns = ", ".join(f'{{ name = "{name}", type = "{kind}" }}' for name, kind in types.items())
        table = f'primary_key = ["id"], columns = [{columns}]'
        return _manifest(self.name, "files", f'path = "{self.name}"', table, mode)

    def put(self, changed: Iterable[Order]) -> None:
        told = [json.dumps({"id": number, "city": city, "seen": _text(seen)}) for number, city, seen in changed]
        for start in range(0, len(told), _ORDERS_OF_A_FILE):
            lines = told[start : start + _ORDERS_OF_A_FILE]
            number = len(list(self._folder.iterdir()))
            hidden = self._folder / f".{number}"
            hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            hidden.rename(self._folder / f"{number:05}.jsonl")

    def drop(self, number: int) -> None:
        raise NotImplementedError(f"order {number} is in a file, and files stay as they are")

    def rows(self) -> Rows:
        lines = (line for path in self._folder.iterdir() for line in path.read_text(encoding="utf-8").splitlines())
        return Counter((one["id"], one["city"], one["seen"]) for one in map(json.loads, lines))

    @property
    def _folder(self) -> Path:
        return self.root / self.name / "orders"


_ORDERS_OF_A_FILE = 15


def landed_orders(stand: Stand, table: str) -> Rows:
    """What another engine finds in the table."""
    return Counter((number, city, _text(seen)) for number, city, seen in stand.landed(table).elements())


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
        case "upsert":
            return Counter({row[0]: row for state in seen for row in sorted(state, key=_age)}.values())
        case _:
            raise NotImplementedError(mode)


def _age(row: tuple[Any, ...]) -> Any:
    return row[2]


def set_aside(states: Iterable[Rows]) -> set[tuple[Any, ...]]:
    """The orders that no table may hold."""
    return {row for state in states for row in state if row[1] is None}


@contextmanager
def database(url: str) -> Iterator[str]:
    """The address of an empty database on this server."""
    name = f"hakiri_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        parts = urlsplit(url)
        yield urlunsplit(parts._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _manifest(name: str, connector: str, config: str, table: str, mode: str, *, secrets: str = "") -> str:
    load = f'mode = "{mode}"' + (', watermark_column = "seen"' if mode == "incremental_watermark" else "")
    return PIPELINE.format(name=name, connector=connector, config=config, table=table, load=load, secrets=secrets)


def _text(seen: datetime | str) -> str:
    """One way to write an instant, whatever the source and the table make of it."""
    return seen if isinstance(seen, str) else seen.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
