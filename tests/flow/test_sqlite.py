"""A SQLite database becomes tables, and what changes in it arrives, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from flow.stand import Rows, Stand, change, source_rows
from hakiri import wiring
from hakiri.land.lander import Outcome
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Phase, Pipeline, RunStatus
from hakiri.plan.make import make_plan
from hakiri.run.errors import ChunksFailed
from hakiri.run.events import ChunkStaged, CursorMoved, Landed, LandingReserved, RunEnded, RunStarted
from hakiri.run.facts import gather_facts
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
tables = [{{ name = "orders", primary_key = [{key}], {table} }}]
load = {{ mode = "{mode}" }}
"""
TABLE = "CREATE TABLE orders (id INTEGER, city TEXT, seen INTEGER{key})"
QUERY = "SELECT id, city, seen FROM orders"


def orders(low: int, high: int, seen: int | None = None) -> list[tuple[int, str, int]]:
    return [(number, f"city {number % 7}", number if seen is None else seen) for number in range(low, high)]


def insert(rows: list[tuple[int, str, int]]) -> tuple[str, list[tuple[int, str, int]]]:
    return "INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows


def shop(make_stand: MakeStand, *, mode: str, table: str = "", key: bool = True, rows: int = 50) -> Stand:
    stand = make_stand({"pipelines/shop.toml": PIPELINE.format(mode=mode, table=table, key='"id"' if key else "")})
    created = TABLE.format(key=", PRIMARY KEY (id)" if key else "")
    change(stand.root / "shop.sqlite", created, many=[insert(orders(0, rows))])
    return stand


def at_source(stand: Stand) -> Rows:
    return source_rows(stand.root / "shop.sqlite", QUERY)


def outcomes(stand: Stand, options: RunOptions | None = None) -> list[Outcome]:
    result = stand.apply(options=options)["shop"]
    assert result.errors == ()
    return [one.landed.outcome for one in result.landings]


def test_a_backfill_lands_every_row_and_the_pipeline_streams(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"')
    result = stand.apply()["shop"]
    assert (result.status, result.rows, result.errors) == (RunStatus.SUCCEEDED, 50, ())
    assert stand.landed("orders") == at_source(stand)
    assert [one.phase for one in stand.ask(lambda catalog: catalog.pipelines())] == [Phase.STREAMING]
    kinds = [type(event.body) for event in stand.events]
    assert kinds[0] is RunStarted
    assert kinds[-1] is RunEnded
    assert kinds.index(Landed) > kinds.index(ChunkStaged)
    assert kinds.index(CursorMoved) > kinds.index(LandingReserved)


def require_idle(stand: Stand) -> None:
    """Another apply finds nothing to do, and writes no version."""
    version = stand.version("orders")
    assert stand.apply()["shop"].did_nothing
    assert stand.version("orders") == version


def test_a_second_apply_without_a_change_writes_no_version(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="truncate", table='incremental = "seen"')
    stand.apply()
    require_idle(stand)
    assert stand.landed("orders") == at_source(stand)


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_new_tied_and_changed_rows_arrive_once(make_stand: MakeStand, mode: str) -> None:
    stand = shop(make_stand, mode=mode, table='incremental = "seen"')
    stand.apply()
    require_idle(stand)
    assert stand.landed("orders") == at_source(stand)
    # Tied with the last cursor value, above it, and an old row changed under a new cursor value.
    changed = [(50, "tied", 49), (51, "tied too", 49), (52, "later", 60), (3, "moved", 61)]
    change(stand.root / "shop.sqlite", many=[insert(changed)])
    assert stand.apply()["shop"].rows == 4
    before = Rows({(3, "city 3", 3): 1}) if mode == "append" else Rows()
    assert stand.landed("orders") == at_source(stand) + before
    require_idle(stand)


def test_equal_rows_without_a_key_keep_their_number(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"', key=False, rows=0)
    twins = [(1, "twin", 5), (1, "twin", 5), (2, "single", 5)]
    change(stand.root / "shop.sqlite", many=[("INSERT INTO orders VALUES (?, ?, ?)", twins)])
    stand.apply()
    change(stand.root / "shop.sqlite", many=[("INSERT INTO orders VALUES (?, ?, ?)", [(1, "twin", 5), (3, "new", 6)])])
    assert stand.apply()["shop"].rows == 2
    assert stand.landed("orders") == at_source(stand)


def test_truncate_follows_every_change_and_rests_without_one(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="truncate")
    assert outcomes(stand) == [Outcome.ADOPTED]
    assert outcomes(stand) == [Outcome.UNCHANGED]
    change(stand.root / "shop.sqlite", "DELETE FROM orders WHERE id < 10", "UPDATE orders SET city = 'x' WHERE id = 20")
    assert outcomes(stand) == [Outcome.ADOPTED]
    assert stand.landed("orders") == at_source(stand)
    change(stand.root / "shop.sqlite", "DELETE FROM orders")
    assert outcomes(stand) == [Outcome.ADOPTED]
    assert stand.landed("orders") == Rows()


def test_a_full_refresh_takes_the_place_of_what_has_landed(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="upsert", table='incremental = "seen"')
    stand.apply()
    # Behind the cursor, so that no increment sees it.
    change(stand.root / "shop.sqlite", "DELETE FROM orders WHERE id < 10", "UPDATE orders SET city = 'x' WHERE id = 20")
    assert stand.apply()["shop"].did_nothing
    assert outcomes(stand, RunOptions(is_full_refresh=True)) == [Outcome.ADOPTED]
    assert stand.landed("orders") == at_source(stand)
    assert stand.apply()["shop"].did_nothing


def test_a_table_that_is_empty_comes_to_be_and_fills(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"', rows=0)
    stand.apply()
    assert stand.landed("orders") == Rows()
    change(stand.root / "shop.sqlite", many=[insert(orders(0, 5))])
    stand.apply()
    assert stand.landed("orders") == at_source(stand)


def test_a_new_column_is_appended_and_older_rows_have_none(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"', rows=3)
    stand.apply()
    change(
        stand.root / "shop.sqlite",
        "ALTER TABLE orders ADD COLUMN note TEXT",
        "INSERT INTO orders VALUES (9, 'c', 9, 'n')",
    )
    stand.apply()
    assert stand.landed("orders") == Rows({**{(*row, None): 1 for row in orders(0, 3)}, (9, "c", 9, "n"): 1})
    versions = stand.ask(lambda catalog: catalog.schemas(TableKey("shop", "orders")))
    assert [version.version for version in versions] == [1, 2]


def test_a_refresh_of_an_emptied_source_begins_anew(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"')
    stand.apply()
    change(stand.root / "shop.sqlite", "DELETE FROM orders")
    stand.apply(options=RunOptions(is_full_refresh=True))
    assert stand.landed("orders") == Rows()
    change(stand.root / "shop.sqlite", many=[insert(orders(0, 2))])  # far below the old cursor
    stand.apply()
    assert stand.landed("orders") == at_source(stand)


def test_without_a_cursor_a_changed_row_is_another_row(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", rows=3)
    stand.apply()
    change(stand.root / "shop.sqlite", "UPDATE orders SET city = 'x' WHERE id = 1")
    assert stand.apply()["shop"].rows == 1
    assert stand.landed("orders") == at_source(stand) + Rows([(1, "city 1", 1)])


def test_a_table_that_was_taken_out_of_the_manifest_holds_nothing_up(make_stand: MakeStand) -> None:
    stand = shop(make_stand, mode="append", table='incremental = "seen"', rows=3)
    change(stand.root / "shop.sqlite", "CREATE TABLE others (id INTEGER PRIMARY KEY)", "INSERT INTO others VALUES (7)")
    path = stand.root / "pipelines/shop.toml"
    alone = path.read_text()
    path.write_text(alone.replace("tables = [", 'tables = ["others", '))
    project = stand.project()
    with wiring.services(stand.settings, project) as parts:
        spec = project.pipelines["shop"].spec
        plan = make_plan([gather_facts(spec, parts.connector(spec), parts.catalog).facts])
        parts.catalog.register(Pipeline("shop", parallelism=2))
        parts.catalog.add_chunks(plan.new_chunks)
    both = path.read_text()
    path.write_text(alone)
    assert stand.apply()["shop"].errors == ()
    assert stand.landed("orders") == at_source(stand)
    path.write_text(both)
    (error,) = stand.apply()["shop"].errors
    assert isinstance(error, ChunksFailed)
    assert "no longer in the manifest" in error.reason
    assert stand.apply(options=RunOptions(retries_failed=True))["shop"].errors == ()
    assert stand.landed("others") == Rows([(7,)])
