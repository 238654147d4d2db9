"""After maintenance everything goes on as if there had been none, in every load mode and wherever tables lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from shutil import rmtree
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from flow.kills import MIRROR, MODES
from flow.shops import SqliteShop, landed_orders, order, orders, truth
from flow.stand import Stand
from hakiri import wiring
from hakiri.land.upkeep import compact
from hakiri.land.upkeep import spark as named_upkeep
from hakiri.run.rebuild import rebuild
from hakiri.run.upkeep import Maintained, Tended
from land.aging import grow_old

MakeStand = Callable[[Mapping[str, str]], Stand]

WEEK = timedelta(days=7)
TABLE = "shop.orders"
PROJECT = """\
[project]
name = "test"
[context]
tables = "{schema}"
[catalog]
backend = "sqlite"
"""


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small files are worth writing anew, so that few landings are enough."""
    monkeypatch.setattr(compact, "MANY_FILES", 1)
    monkeypatch.setattr(named_upkeep, "MANY_FILES", 1)


def maintain(stand: Stand) -> dict[str, Tended]:
    done: Maintained = wiring.maintain_tables(stand.settings, stand.project(), retention=WEEK)
    assert done.all_errors == ()
    return {one.table: one for one in done.tables}


def folders(stand: Stand) -> list[str]:
    return [path.parent.name for path in (stand.root / ".hakiri/context/tables").glob("*/_delta_log")]


def day(stand: Stand, shop: SqliteShop, low: int, high: int) -> None:
    shop.put([*orders(low, high), order(low - 1, high - 0.5, "moved")])
    assert stand.apply()["shop"].errors == ()


ALWAYS = ("append", MIRROR)
"""One that adopts files, and one that merges and has a table beside it; `-m exhaustive` runs the others."""
EACH = [pytest.param(mode, marks=[] if mode in ALWAYS else [pytest.mark.exhaustive]) for mode in MODES]


@pytest.mark.parametrize("mode", EACH)
def test_maintenance_leaves_every_row_and_every_later_landing_as_they_would_be(
    make_stand: MakeStand, mode: str
) -> None:
    stand = make_stand({})
    shop = SqliteShop(stand.root)
    (stand.root / "pipelines").mkdir()
    (stand.root / "pipelines/shop.toml").write_text(shop.pipeline(mode))
    states = []
    for low in (10, 20):
        day(stand, shop, low, low + 10)
        states.append(shop.rows())
    if mode == MIRROR:
        shop.drop(15)
        stand.apply()
        states.append(shop.rows())
    expected, version = landed_orders(stand, TABLE), stand.version(TABLE)
    assert expected == truth(mode, states)

    first = maintain(stand)
    assert {TABLE, f"{TABLE}_quarantine"} <= set(first)
    assert (f"{TABLE}_tombstones" in first) == (mode == MIRROR)
    assert all(one.files_after <= 1 for one in first.values())
    assert sum(one.removed for one in first.values()) == 0, "nothing is a week old"
    before = DeltaTable(stand.folder(TABLE), version=version)
    assert before.to_pyarrow_dataset().count_rows() == expected.total(), "time travel within the retention"

    (rules,) = wiring.broken_rules(stand.settings, stand.project()).values()
    rejected = [row for state in states for row in state if row[1] is None]
    is_read_whole = mode in ("truncate", "blue_green")  # then each load rejects what it finds, again
    assert sum(rules.values()) == len(rejected if is_read_whole else set(rejected))

    for name in folders(stand):
        grow_old(stand.folder(name))
    second = maintain(stand)
    assert second[TABLE].removed > 0
    assert second[f"{TABLE}_quarantine"].removed > 0, "files whose rows were compacted"
    assert sum(one.removed for one in maintain(stand).values()) == 0, "a repeat finds nothing"
    assert landed_orders(stand, TABLE) == expected
    version = stand.version(TABLE)
    idle = stand.apply()["shop"]
    assert (idle.errors, idle.did_nothing, stand.version(TABLE)) == ((), True, version)

    day(stand, shop, 32, 42)
    states.append(shop.rows())
    assert landed_orders(stand, TABLE) == truth(mode, states)

    wiring.remove_leftovers(stand.settings, stand.project(), retention=timedelta(hours=1))
    rmtree(stand.root / ".hakiri/context/catalog")
    project = stand.project()
    with wiring.services(stand.settings, project) as parts:
        restored = rebuild(parts, [project.pipelines["shop"].spec])
    assert [one.error for one in restored] == [None]
    assert stand.apply()["shop"].errors == ()
    assert landed_orders(stand, TABLE) == truth(mode, states), "also with a catalog that was lost since"


def test_named_tables_are_tended_by_spark(make_stand: MakeStand, spark: SparkSession) -> None:
    schema = f"tended_{uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {schema}")
    stand = make_stand({"hakiri.toml": PROJECT.format(schema=schema)})
    shop = SqliteShop(stand.root)
    (stand.root / "pipelines").mkdir()
    (stand.root / "pipelines/shop.toml").write_text(shop.pipeline("append"))
    for low in (10, 20):
        day(stand, shop, low, low + 10)
    table = f"{schema}.shop_orders"
    count = spark.table(table).count()
    staged = list(stand.folder(TABLE).rglob("part-*.parquet"))
    assert staged
    grow_old(stand.folder(TABLE))
    done = maintain(stand)
    assert (done[TABLE].files > 1, done[TABLE].files_after) == (True, 1)
    assert done[TABLE].removed >= len(staged)
    assert not any(path.exists() for path in staged), "their rows are copied, so nobody reads them again"
    assert spark.table(table).count() == count
    operations = [row.operation for row in spark.sql(f"DESCRIBE HISTORY {table}").collect()]
    assert "OPTIMIZE" in operations
    assert stand.apply()["shop"].did_nothing
    day(stand, shop, 30, 40)
    assert maintain(stand)[TABLE].left == ()
    assert spark.table(table).select("id", "seen").distinct().count() == spark.table(table).count() > count
    assert wiring.broken_rules(stand.settings, stand.project()) == {f"{TABLE}_quarantine": {"not_null:city": 4}}
