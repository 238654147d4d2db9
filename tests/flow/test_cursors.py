"""A cursor of every type a source has follows its table, apply after apply, whatever odd values lie in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import polars as pl
import psycopg
import pytest

from cursor_kinds import POSTGRES, SQLITE, WHOLE, Kind
from flow.stand import Stand, change
from hakiri.plan.errors import CursorColumnChanged, CursorUnordered
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]

OFTEN = {"double precision", "timestamp"}
"""What every test run lands; `-m exhaustive` lands all. Every source is asked in extract/connectors/test_cursors.py."""
MODES = ("append", "upsert", "incremental_watermark")
PIPELINE = """\
id = "shop"
source = {{ connector = "{connector}", config = {{ {config} }} }}
secrets = [{secrets}]
tables = [{tables}]
incremental = "seen"
load = {{ mode = "{mode}"{watermark} }}
"""


Changes = dict[int, tuple[str, str | None]]
"""By the key of a row, its note and its cursor."""


class Source:
    """A database with a table for each kind of cursor."""

    def __init__(self, connector: str, kinds: tuple[Kind, ...], schema: str = "") -> None:
        self.connector = connector
        self.kinds = {f"{schema}t{number}": kind for number, kind in enumerate(kinds)}

    def pipeline(self, mode: str, config: str, secrets: str = "") -> str:
        tables = ", ".join(f'{{ name = "{name}", primary_key = ["id"] }}' for name in self.kinds)
        watermark = ', watermark_column = "seen"' if mode == "incremental_watermark" else ""
        return PIPELINE.format(
            connector=self.connector, config=config, secrets=secrets, tables=tables, mode=mode, watermark=watermark
        )


def rows(kind: Kind, day: int) -> Changes:
    """What comes on a day; nothing on the last one."""
    low, high, top, later, last, next_one = kind.values
    odd = {90 + number: (f"odd {number}", value) for number, value in enumerate(kind.odd)}
    return [
        {1: ("first", low), 2: ("to be changed", high), 3: ("top", top), 4: ("none", None), **odd},
        {5: ("tied", top), 6: ("later", later), 2: ("changed", last)},
        {7: ("next", next_one)},
        {},
    ][day]


def expected(kind: Kind, mode: str, days: int) -> Counter[tuple[int, str]]:
    """The keys and notes that the table holds after so many days."""
    landed = [(key, note) for day in range(days) for key, (note, _) in rows(kind, day).items()]
    kept = [one for one in landed if one[0] < 90 or not kind.is_set_aside]
    return Counter(dict(kept).items()) if mode == "upsert" else Counter(kept)


def live(stand: Stand, source: Source, mode: str, put: Callable[[str, Changes], None]) -> None:
    """Three days, each applied, and a fourth on which nothing happens."""
    for day in range(4):
        for name, kind in source.kinds.items():
            put(name, rows(kind, day))
        assert stand.apply()["shop"].errors == ()
        for name, kind in source.kinds.items():
            frame = pl.read_delta(str(stand.folder(name))).select("id", "note")
            assert Counter(frame.rows()) == expected(kind, mode, day + 1), (kind.declared, mode, day)


@pytest.fixture
def database(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection whose schema is the test's own."""
    name = f"cursors_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"SET search_path TO {name}")
        connection.execute("SET timezone TO 'UTC'")
        yield connection
        connection.execute(f"DROP SCHEMA {name} CASCADE")


FEW = tuple(kind for kind in POSTGRES if kind.declared in OFTEN)


@pytest.mark.parametrize(
    ("kinds", "mode"),
    [
        pytest.param(FEW, "upsert", id="few"),
        *(pytest.param(POSTGRES, mode, id=mode, marks=pytest.mark.exhaustive) for mode in MODES),
    ],
)
def test_postgres(
    make_stand: MakeStand, database: psycopg.Connection, postgres_url: str, kinds: tuple[Kind, ...], mode: str
) -> None:
    schema = database.execute("SELECT current_schema()").fetchone()
    assert schema is not None
    source = Source("postgres", kinds, f"{schema[0]}.")
    for name, kind in source.kinds.items():
        columns = f"id bigint PRIMARY KEY, note text, seen {kind.declared}"
        database.execute(f"CREATE TABLE {name} ({columns})")

    def put(name: str, changed: Changes) -> None:
        values = f"%s, %s, %s::text::{source.kinds[name].declared}"
        upsert = "ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note, seen = EXCLUDED.seen"
        for key, (note, seen) in changed.items():
            database.execute(f"INSERT INTO {name} VALUES ({values}) {upsert}", (key, note, seen))

    stand = make_stand({"pipelines/shop.toml": source.pipeline(mode, 'url = "${secret:SHOP_DSN}"', '"SHOP_DSN"')})
    stand.environment["SHOP_DSN"] = postgres_url
    live(stand, source, mode, put)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
def test_sqlite(make_stand: MakeStand, mode: str) -> None:
    source = Source("sqlite", SQLITE)
    stand = make_stand({"pipelines/shop.toml": source.pipeline(mode, 'path = "shop.sqlite"')})
    path = stand.root / "shop.sqlite"
    for name, kind in source.kinds.items():
        change(path, f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, note TEXT, seen {kind.declared})")

    def put(name: str, changed: Changes) -> None:
        statement = f"INSERT OR REPLACE INTO {name} VALUES (?, ?, ?)"
        change(path, many=[(statement, [(key, note, seen) for key, (note, seen) in changed.items()])])

    live(stand, source, mode, put)


def test_a_cursor_that_lands_in_another_order_is_refused_and_a_declared_type_is_the_way_out(
    make_stand: MakeStand, database: psycopg.Connection, postgres_url: str
) -> None:
    schema = database.execute("SELECT current_schema()").fetchone()
    assert schema is not None
    database.execute("CREATE TABLE orders (id bigint PRIMARY KEY, seen numeric)")
    database.execute("INSERT INTO orders VALUES (1, 9), (2, 10)")
    source = Source("postgres", (), "")
    text = source.pipeline("upsert", 'url = "${secret:SHOP_DSN}"', '"SHOP_DSN"')
    table = f'name = "{schema[0]}.orders", primary_key = ["id"]'
    stand = make_stand({"pipelines/shop.toml": text.replace("tables = []", f"tables = [{{ {table} }}]")})
    stand.environment["SHOP_DSN"] = postgres_url
    (refused,) = stand.apply()["shop"].errors
    assert isinstance(refused, CursorUnordered)
    columns = 'columns = [{ name = "id" }, { name = "seen", type = "decimal(38,9)" }]'
    (stand.root / "pipelines/shop.toml").write_text(text.replace("tables = []", f"tables = [{{ {table}, {columns} }}]"))
    assert stand.apply()["shop"].rows == 2
    database.execute("INSERT INTO orders VALUES (3, 11), (4, 1e40)")
    result = stand.apply()["shop"]
    assert (result.errors, result.rows) == ((), 1), "what fits no decimal is set aside, and moves no cursor"
    database.execute("INSERT INTO orders VALUES (5, 12)")
    assert stand.apply()["shop"].rows == 1


def test_another_column_is_not_read_from_where_the_first_one_came_to(make_stand: MakeStand) -> None:
    source = Source("sqlite", (Kind("INTEGER", WHOLE),))
    text = source.pipeline("append", 'path = "shop.sqlite"')
    stand = make_stand({"pipelines/shop.toml": text})
    change(
        stand.root / "shop.sqlite",
        "CREATE TABLE t0 (id INTEGER PRIMARY KEY, note TEXT, seen INTEGER)",
        "INSERT INTO t0 VALUES (1, 'a', 500)",
    )
    assert stand.apply()["shop"].rows == 1
    (stand.root / "pipelines/shop.toml").write_text(text.replace('incremental = "seen"', 'incremental = "id"'))
    change(stand.root / "shop.sqlite", "INSERT INTO t0 VALUES (2, 'b', 501)")
    (refused,) = stand.apply()["shop"].errors
    assert isinstance(refused, CursorColumnChanged)
    assert "`seen` = 500, and its cursor is `id` now" in refused.message()
    assert stand.apply(options=RunOptions(is_full_refresh=True))["shop"].rows == 2
    assert stand.apply()["shop"].errors == ()
