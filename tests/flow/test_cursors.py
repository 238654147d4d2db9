"""A cursor of every type a source has follows its table, apply after apply, whatever odd values lie in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import polars as pl
import psycopg
import pytest

from cursor_kinds import FILES, LAG, POSTGRES, SQLITE, TIMES, WHOLE, Kind
from flow.cursor_table import DAYS, MODES, Changes, expected, rows
from flow.stand import Stand, change
from hakiri.plan.errors import CursorColumnChanged, CursorUnordered, CursorUnreadable
from hakiri.run.events import Cautioned
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]

OFTEN = {"double precision", "timestamp"}
"""What every test run lands; `-m exhaustive` lands all. Every source is asked in extract/connectors/test_cursors.py."""
PIPELINE = """\
id = "shop"
source = {{ connector = "{connector}", config = {{ {config} }} }}
secrets = [{secrets}]
load = {{ mode = "{mode}"{watermark} }}

{tables}
"""
TABLE = """\
[[tables]]
name = "{name}"
primary_key = ["id"]
incremental = {incremental}
columns = [{columns}]
"""


class Source:
    """A database, or a folder, with a table for each kind of cursor."""

    def __init__(self, connector: str, kinds: tuple[Kind, ...], schema: str = "") -> None:
        self.connector = connector
        self.kinds = {f"{schema}t{number}": kind for number, kind in enumerate(kinds)}

    def pipeline(self, mode: str, config: str, secrets: str = "") -> str:
        return PIPELINE.format(
            connector=self.connector,
            config=config,
            secrets=secrets,
            mode=mode,
            watermark=', watermark_column = "seen"' if mode == "incremental_watermark" else "",
            tables="\n".join(self._table(name, kind, mode) for name, kind in self.kinds.items()),
        )

    def _table(self, name: str, kind: Kind, mode: str) -> str:
        # A row below the watermark does not land, so there is no lag; a file is read once, so it needs none.
        has_lag = kind.late and mode != "incremental_watermark" and self.connector != "files"
        types = {"id": "bigint", "note": "string", "seen": kind.declared} if self.connector == "files" else {}
        return TABLE.format(
            name=name,
            incremental=f'{{ column = "seen", lag = "{LAG}" }}' if has_lag else '"seen"',
            columns=", ".join(f'{{ name = "{column}", type = "{told}" }}' for column, told in types.items()),
        ).replace("columns = []\n", "")


def live(stand: Stand, source: Source, mode: str, put: Callable[[str, Changes], None]) -> None:
    """Three days, each applied, and a fourth on which nothing happens."""
    for day in range(DAYS):
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
def test_files(make_stand: MakeStand, mode: str) -> None:
    source = Source("files", FILES)
    stand = make_stand({"pipelines/shop.toml": source.pipeline(mode, 'path = "data"')})

    def put(name: str, changed: Changes) -> None:
        folder = stand.root / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"id": key, "note": note, "seen": seen}) for key, (note, seen) in changed.items()]
        if lines:
            (folder / f"{len(list(folder.iterdir()))}.jsonl").write_text("\n".join(lines))

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
    text += f'[[tables]]\nname = "{schema[0]}.orders"\nprimary_key = ["id"]\nincremental = "seen"\n'
    stand = make_stand({"pipelines/shop.toml": text})
    stand.environment["SHOP_DSN"] = postgres_url
    (refused,) = stand.apply()["shop"].errors
    assert isinstance(refused, CursorUnordered)
    columns = 'columns = [{ name = "id" }, { name = "seen", type = "decimal(38,9)" }]'
    (stand.root / "pipelines/shop.toml").write_text(text + columns)
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


def test_a_cursor_in_the_future_is_told_by_every_run_until_the_table_is_read_anew(make_stand: MakeStand) -> None:
    source = Source("sqlite", (Kind("TIMESTAMP", TIMES),))
    stand = make_stand({"pipelines/shop.toml": source.pipeline("upsert", 'path = "shop.sqlite"')})
    path = stand.root / "shop.sqlite"
    change(
        path,
        "CREATE TABLE t0 (id INTEGER PRIMARY KEY, note TEXT, seen TIMESTAMP)",
        "INSERT INTO t0 VALUES (1, 'typo', '2099-01-01 00:00:00')",
    )
    (first,) = stand.apply()["shop"].notes
    assert "2099-01-01T00:00:00, lies in the future" in first
    change(path, "UPDATE t0 SET note = 'fixed', seen = '2026-01-01 00:00:00'", "INSERT INTO t0 VALUES (2, 'new', NULL)")
    change(path, "UPDATE t0 SET seen = '2026-01-02 00:00:00' WHERE id = 2")
    result = stand.apply()["shop"]
    (note,) = result.notes
    assert (result.rows, result.errors) == (0, ())
    assert "read up to 2099-01-01T00:00:00, which lies in the future" in note
    (told,) = (event.body for event in stand.events if isinstance(event.body, Cautioned))
    assert (told.table, told.caution) == ("t0", "future-cursor")
    assert "`hakiri apply shop --full-refresh`" in told.message
    assert stand.apply(options=RunOptions(is_full_refresh=True))["shop"].rows == 2
    assert stand.apply()["shop"].notes == ()
    change(path, "INSERT INTO t0 VALUES (3, 'newer', '2026-01-03 00:00:00')")
    assert stand.apply()["shop"].rows == 1


def test_a_cursor_whose_column_has_become_another_kind_of_type_is_refused(make_stand: MakeStand) -> None:
    source = Source("sqlite", (Kind("INTEGER", WHOLE),))
    stand = make_stand({"pipelines/shop.toml": source.pipeline("append", 'path = "shop.sqlite"')})
    path = stand.root / "shop.sqlite"
    change(path, "CREATE TABLE t0 (id INTEGER PRIMARY KEY, seen INTEGER)", "INSERT INTO t0 VALUES (1, 500)")
    assert stand.apply()["shop"].rows == 1
    change(path, "ALTER TABLE t0 RENAME TO old", "CREATE TABLE t0 (id INTEGER PRIMARY KEY, seen TEXT)")
    change(path, "INSERT INTO t0 SELECT * FROM old", "INSERT INTO t0 VALUES (2, '1000')")
    (refused,) = stand.apply()["shop"].errors
    assert isinstance(refused, CursorUnreadable)
    assert "(500) is bigint, and `seen` is string now" in refused.message()
