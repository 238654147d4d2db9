"""A table follows its source's schema where nothing is lost by it, and takes nothing where something would be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from flow.stand import Rows, Stand, change
from hakiri.cli.main import run as run_command
from hakiri.extract.connectors.files import connector
from hakiri.model.errors import SchemaDrift, SchemaIncompatible
from hakiri.model.ledger import RunStatus
from hakiri.plan.errors import KeyChanged
from hakiri.run.events import ChunkClaimed, TableFailed
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]
Hakiri = Callable[..., tuple[int, Any]]

SHOP = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", primary_key = ["id"] }, { name = "cities", primary_key = ["id"] }]
incremental = "id"
"""
LOG = """\
id = "log"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = ["visits"]
incremental = "seen"
"""
EVENTS = """\
id = "events"
source = { connector = "files", config = { path = "data" } }
tables = [{ name = "events", primary_key = ["id"] }]
load = { mode = "upsert" }
"""
TABLES = [
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, code INTEGER)",
    "CREATE TABLE cities (id INTEGER PRIMARY KEY)",
    "INSERT INTO orders VALUES (1, 10)",
    "INSERT INTO cities VALUES (1)",
]


@pytest.fixture
def shop(make_stand: MakeStand) -> Stand:
    """Two tables that have landed, and have one more row each at their source."""
    stand = make_stand({"pipelines/shop.toml": SHOP})
    change(stand.root / "shop.sqlite", *TABLES)
    assert stand.apply()["shop"].errors == ()
    change(stand.root / "shop.sqlite", "INSERT INTO cities VALUES (2)")
    return stand


@pytest.fixture
def hakiri(capsys: pytest.CaptureFixture[str]) -> Hakiri:
    """The command line, with what it says as JSON."""

    def call(stand: Stand, *arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run_command([*arguments, "--json", "--project", str(stand.root)])
        return code, json.loads(capsys.readouterr().out)

    return call


def retype(stand: Stand, column: str, row: str) -> None:
    """The orders' source is made anew with another column."""
    orders = f"CREATE TABLE orders (id INTEGER PRIMARY KEY, {column})"
    change(stand.root / "shop.sqlite", "DROP TABLE orders", orders, f"INSERT INTO orders VALUES {row}")


def put(stand: Stand, name: str, *lines: dict[str, object]) -> None:
    folder = stand.root / "data/events"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def test_a_type_that_the_table_cannot_take_stops_that_table_alone(shop: Stand) -> None:
    retype(shop, "code TEXT", "(1, '10'), (2, 'x7')")
    result = shop.apply()["shop"]
    (error,) = result.errors
    assert isinstance(error, SchemaIncompatible)
    assert (error.table, error.column, error.stored, error.incoming) == ("orders", "code", "bigint", "string")
    assert "schema accept shop --table orders" in (error.help() or "")
    assert shop.landed("orders") == Rows([(1, 10)])
    assert shop.landed("cities") == Rows([(1,), (2,)]), "the other table goes on"
    failed = [event.body.table for event in shop.events if isinstance(event.body, TableFailed)]
    assert failed == ["orders"]


def test_what_was_accepted_lands_as_text_with_the_older_rows(shop: Stand, hakiri: Hakiri) -> None:
    retype(shop, "code TEXT", "(1, '10'), (2, 'x7')")
    code, (orders, cities) = hakiri(shop, "schema", "diff", "shop")
    assert (code, orders["refused"]["code"], cities["refused"]) == (1, "HK803", None)
    assert hakiri(shop, "schema", "accept", "shop", "--table", "cities") == (0, [])
    code, refused = hakiri(shop, "schema", "accept", "shop", "--table", "order")
    assert (code, refused["error"]["code"]) == (1, "HK651")
    code, refused = hakiri(shop, "schema", "accept", "shop", "--version", "7")
    assert (code, refused["error"]["code"]) == (3, "HK314")
    code, done = hakiri(shop, "schema", "accept", "shop", "--version", "1", "--reason", "letters")
    assert (code, done) == (0, [{"table": "orders", "accepted": {"code": "string"}}])
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == Rows([(1, "10"), (2, "x7")])
    _, log = hakiri(shop, "schema", "log", "shop")
    told = [(one["version"], one["reason"], one["changes"]) for one in log if one["table"] == "orders"]
    assert told == [
        (1, "first landing", []),
        (2, "letters", ["accepted code string"]),
        (3, "the source has changed", ["! code bigint -> string"]),
    ]
    assert all(one["by"] for one in log)
    assert [bool(one["run"]) for one in log if one["table"] == "orders"] == [True, False, True]
    assert hakiri(shop, "schema", "diff", "shop")[0] == 0


def test_files_that_came_to_hold_another_type_wait_until_it_is_accepted(make_stand: MakeStand, hakiri: Hakiri) -> None:
    stand = make_stand({"pipelines/events.toml": EVENTS})
    put(stand, "1.jsonl", {"id": 1, "code": 10})
    assert stand.apply()["events"].errors == ()
    put(stand, "2.jsonl", {"id": 2, "code": "x7"})
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, SchemaIncompatible)
    assert hakiri(stand, "schema", "accept", "events")[0] == 0
    assert stand.apply()["events"].errors == ()
    assert stand.landed("events") == Rows([(1, "10"), (2, "x7")])
    put(stand, "3.jsonl", {"id": 3, "code": 12})
    assert stand.apply()["events"].errors == ()
    assert stand.landed("events") == Rows([(1, "10"), (2, "x7"), (3, "12")])


def chunks_read(stand: Stand) -> int:
    return sum(isinstance(event.body, ChunkClaimed) for event in stand.events)


@pytest.mark.parametrize("has_landed", [True, False], ids=["stored table", "no table yet"])
def test_staged_chunks_that_disagree_land_once_that_is_accepted_and_nothing_is_read_again(
    make_stand: MakeStand, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch, *, has_landed: bool
) -> None:
    monkeypatch.setattr(connector, "SAMPLE_FILES", 1)  # the first file and the last
    stand = make_stand({"pipelines/events.toml": EVENTS})
    put(stand, "1.jsonl", {"id": 1})
    if has_landed:
        assert stand.apply()["events"].errors == ()
    for number, code in enumerate((10, "x7", True), start=2):
        put(stand, f"{number}.jsonl", {"id": number, "code": code})
    put(stand, "5.jsonl", {"id": 5})
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, SchemaIncompatible)
    assert (error.column, chunks_read(stand)) == ("code", 4 if has_landed else 5)
    code, (told,) = hakiri(stand, "schema", "diff", "events")
    assert (code, told["version"], told["refused"]["code"]) == (1, int(has_landed), "HK803")
    accepted = {"table": "events", "accepted": {"code": "bigint | string"}}
    assert hakiri(stand, "schema", "accept", "events") == (0, [accepted])
    assert stand.apply()["events"].errors == ()
    assert chunks_read(stand) == 0
    assert stand.landed("events") == Rows([(1, None), (2, "10"), (3, "x7"), (4, "true"), (5, None)])


def test_a_staged_chunk_that_its_table_cannot_take_lands_once_that_is_accepted_and_nothing_is_read_again(
    make_stand: MakeStand, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector, "SAMPLE_FILES", 1)
    stand = make_stand({"pipelines/events.toml": EVENTS})
    for number, row in enumerate(({}, {"code": 10}, {}), start=1):
        put(stand, f"{number}.jsonl", {"id": number, **row})
    assert stand.apply()["events"].errors == ()
    put(stand, "4.jsonl", {"id": 4, "code": "x7"})
    put(stand, "5.jsonl", {"id": 5})
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, SchemaIncompatible)
    assert (error.stored, error.incoming, error.sample) == ("bigint", "string", ("x7",))
    assert chunks_read(stand) == 2
    assert hakiri(stand, "schema", "accept", "events")[1] == [{"table": "events", "accepted": {"code": "string"}}]
    assert stand.apply()["events"].errors == ()
    assert chunks_read(stand) == 0
    assert stand.landed("events") == Rows([(1, None), (2, "10"), (3, None), (4, "x7"), (5, None)])


def test_a_narrower_type_is_refused_until_it_is_accepted_and_then_fits_as_it_is(
    make_stand: MakeStand, hakiri: Hakiri
) -> None:
    wide = SHOP.replace('"id"] }, {', '"id"], columns = ["id", { name = "code", type = "bigint" }] }, {')
    stand = make_stand({"pipelines/shop.toml": wide})
    change(stand.root / "shop.sqlite", *TABLES)
    assert stand.apply()["shop"].errors == ()
    path = stand.root / "pipelines/shop.toml"
    path.write_text(path.read_text().replace("bigint", "int"))
    change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (2, 11)")
    (error,) = stand.apply()["shop"].errors
    assert isinstance(error, SchemaIncompatible)
    assert (error.stored, error.incoming) == ("bigint", "int")
    _, (orders, _) = hakiri(stand, "schema", "diff", "shop")
    assert orders["refused"]["message"] == "column `code` of `orders` is bigint and cannot take int (10, 11)"
    hakiri(stand, "schema", "accept", "shop")
    assert stand.apply()["shop"].errors == ()
    assert stand.landed("orders") == Rows([(1, 10), (2, 11)])


def test_another_key_is_another_table_unless_every_row_is_read_anew(shop: Stand) -> None:
    path = shop.root / "pipelines/shop.toml"
    path.write_text(
        path.read_text().replace('"orders", primary_key = ["id"]', '"orders", primary_key = ["id", "code"]')
    )
    change(shop.root / "shop.sqlite", "INSERT INTO orders VALUES (2, 20)")
    (error,) = shop.apply()["shop"].errors
    assert isinstance(error, KeyChanged)
    assert (error.before, error.after) == ("id", "id, code")
    assert shop.landed("orders") == Rows([(1, 10)])
    assert shop.apply(options=RunOptions(is_full_refresh=True))["shop"].errors == ()
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == Rows([(1, 10), (2, 20)])


def test_another_key_of_an_upsert_is_another_table_too(make_stand: MakeStand) -> None:
    stand = make_stand({"pipelines/events.toml": EVENTS.replace('"upsert"', '"upsert", upsert_key = "code"')})
    put(stand, "1.jsonl", {"id": 1, "code": "a", "part": 1}, {"id": 2, "code": "b", "part": 1})
    assert stand.apply()["events"].errors == ()
    path = stand.root / "pipelines/events.toml"
    path.write_text(path.read_text().replace('"code"', '"part"'))
    put(stand, "2.jsonl", {"id": 3, "code": "c", "part": 1})
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, KeyChanged)
    assert (error.before, error.after) == ("code", "part")
    assert stand.landed("events") == Rows([(1, "a", 1), (2, "b", 1)])
    assert stand.apply(options=RunOptions(is_full_refresh=True))["events"].errors == ()
    (row,) = stand.landed("events")
    assert row[2] == 1


def test_a_strict_table_takes_no_column_that_only_its_rows_tell_of(make_stand: MakeStand) -> None:
    """What a source describes is a sample; the rest is seen when it is read."""
    stand = make_stand({"pipelines/events.toml": f'schema = "strict"\n{EVENTS}'})
    put(stand, "1.jsonl", {"id": 1, "code": "a"})
    assert stand.apply()["events"].errors == ()
    rows: list[dict[str, object]] = [{"id": number, "code": "b"} for number in range(2, 1_500)]
    put(stand, "2.jsonl", *rows, {"id": 1_500, "code": "b", "late": True})
    with (stand.root / "data/events/2.jsonl").open("a") as file:
        file.write("no row\n")
    (error,) = stand.apply()["events"].errors
    assert isinstance(error, SchemaDrift)
    assert error.changes == ("+ late boolean",)
    assert stand.landed("events") == Rows([(1, "a")])
    assert not stand.folder("events_quarantine").exists(), "nothing is written"
    path = stand.root / "pipelines/events.toml"
    path.write_text(path.read_text().replace("strict", "evolve"))
    result = stand.apply()["events"]
    assert (result.errors, result.rows_read) == ((), 0), "what was staged lands as it is"
    assert len(stand.landed("events")) == 1_500


def test_a_strict_table_that_has_drifted_takes_nothing_and_the_others_go_on(shop: Stand) -> None:
    path = shop.root / "pipelines/shop.toml"
    path.write_text(f'schema = "strict"\n{path.read_text()}')
    change(
        shop.root / "shop.sqlite", "ALTER TABLE orders ADD COLUMN note TEXT", "INSERT INTO orders VALUES (2, 2, 'n')"
    )
    result = shop.apply()["shop"]
    (error,) = result.errors
    assert isinstance(error, SchemaDrift)
    assert (result.status, error.changes) == (RunStatus.FAILED, ("+ note string",))
    assert shop.landed("orders") == Rows([(1, 10)])
    assert shop.landed("cities") == Rows([(1,), (2,)])


def test_a_declared_rename_is_carried_out_once_and_told(shop: Stand, hakiri: Hakiri) -> None:
    path = shop.root / "pipelines/shop.toml"
    path.write_text(f'schema = "strict"\n{path.read_text()}')
    change(
        shop.root / "shop.sqlite", "ALTER TABLE orders RENAME COLUMN code TO kind", "INSERT INTO orders VALUES (2, 20)"
    )
    assert isinstance(shop.apply()["shop"].errors[0], SchemaDrift), "undeclared, it is a drop and an addition"
    declared = '"orders", renamed = { kind = "code" }, primary_key'
    path.write_text(path.read_text().replace('"orders", primary_key', declared))
    code, (orders, _) = hakiri(shop, "schema", "diff", "shop")
    assert (code, [(one["kind"], one["before"]) for one in orders["changes"]]) == (0, [("renamed", "code")])
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == Rows([(1, 10), (2, 20)])
    _, log = hakiri(shop, "schema", "log", "shop")
    told = [(one["version"], one["reason"], one["changes"]) for one in log if one["table"] == "orders"]
    assert told == [(1, "first landing", []), (2, "renamed", ["= kind code -> kind"])]
    assert hakiri(shop, "schema", "diff", "shop")[1][0]["changes"] == []


def test_a_column_that_its_source_dropped_and_has_again_is_in_the_log(shop: Stand, hakiri: Hakiri) -> None:
    database = shop.root / "shop.sqlite"
    change(database, "ALTER TABLE orders DROP COLUMN code", "INSERT INTO orders VALUES (2)")
    assert shop.apply()["shop"].errors == ()
    change(database, "INSERT INTO orders VALUES (3)")
    assert shop.apply()["shop"].errors == ()
    change(database, "ALTER TABLE orders ADD COLUMN code INTEGER", "INSERT INTO orders VALUES (4, 40)")
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == Rows([(1, 10), (2, None), (3, None), (4, 40)])
    _, log = hakiri(shop, "schema", "log", "shop")
    told = [(one["version"], one["changes"], one["dropped"]) for one in log if one["table"] == "orders"]
    assert told == [(1, [], []), (2, ["- code bigint"], ["code"]), (3, ["+ code bigint, again"], [])]


def test_what_no_text_holds_and_what_tells_rows_apart_cannot_be_accepted(shop: Stand, hakiri: Hakiri) -> None:
    retype(shop, "code BLOB", "(2, x'00ff')")
    code, refused = hakiri(shop, "schema", "accept", "shop")
    assert (code, refused["error"]["code"]) == (1, "HK611")
    remade = ("DROP TABLE cities", "CREATE TABLE cities (id TEXT PRIMARY KEY)", "INSERT INTO cities VALUES ('x')")
    change(shop.root / "shop.sqlite", *remade)
    code, refused = hakiri(shop, "schema", "accept", "shop", "--table", "cities")
    assert (code, refused["error"]["code"]) == (1, "HK611")
    assert "told apart by it" in refused["error"]["message"]


def test_rows_without_a_key_land_once_while_their_columns_come_go_and_become_text(
    make_stand: MakeStand, hakiri: Hakiri
) -> None:
    stand = make_stand({"pipelines/log.toml": LOG})
    source = stand.root / "shop.sqlite"

    def lives_on(*statements: str) -> Rows:
        change(source, *statements)
        assert stand.apply()["log"].errors == ()
        landed = stand.landed("visits")
        assert stand.apply()["log"].errors == ()
        assert stand.landed("visits") == landed, "the same rows, read again"
        return landed

    lives_on("CREATE TABLE visits (seen INTEGER, code INTEGER)", "INSERT INTO visits VALUES (1, 10), (1, 10)")
    added = ("ALTER TABLE visits ADD COLUMN kind TEXT DEFAULT 'web'", "INSERT INTO visits VALUES (1, 11, 'app')")
    assert lives_on(*added) == Rows({(1, 10, None): 2, (1, 11, "app"): 1})
    dropped = ("ALTER TABLE visits DROP COLUMN kind", "INSERT INTO visits VALUES (1, 12)")
    assert lives_on(*dropped) == Rows({(1, 10, None): 2, (1, 11, "app"): 1, (1, 12, None): 1})

    remade = "CREATE TABLE visits (seen INTEGER, code TEXT)"
    change(source, "DROP TABLE visits", remade, "INSERT INTO visits VALUES (1, '10'), (1, '10'), (1, '11')")
    assert hakiri(stand, "schema", "accept", "log")[0] == 0
    became = lives_on("INSERT INTO visits VALUES (1, '12'), (1, 'x')")
    assert became == Rows({(1, "10", None): 2, (1, "11", "app"): 1, (1, "12", None): 1, (1, "x", None): 1})


def test_under_a_strict_policy_there_is_nothing_to_accept(shop: Stand, hakiri: Hakiri) -> None:
    path = shop.root / "pipelines/shop.toml"
    path.write_text(f'schema = "strict"\n{path.read_text()}')
    retype(shop, "code TEXT", "(2, 'x')")
    assert hakiri(shop, "schema", "accept", "shop") == (0, [])
    assert hakiri(shop, "schema", "diff", "shop")[0] == 1
