"""After the catalog was lost and rebuilt, runs go on as before: no row is lost, and none is there twice."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from cli.conftest import Hakiri
from hakiri.catalog.open import SqliteFile
from hakiri.settings import Settings
from hakiri.wiring import catalog_settings, tables_root, workplace
from projects import MakeProject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOML = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.db" } }
tables = ["orders"]
"""
BY_DAY = """\
incremental = "updated_at"
backfill = { window = "1d", max_chunks_per_tick = 2 }
"""
MAKE = "CREATE TABLE orders (id INTEGER {key}, note TEXT, updated_at TIMESTAMP)"
PUT = "INSERT INTO orders VALUES (?, ?, ?)"


class Shop:
    """A project over a small database, and what an independent look finds in its table."""

    def __init__(self, root: Path, hakiri: Hakiri) -> None:
        self.root = root
        self.hakiri = hakiri

    def put(self, *days: int, note: str = "new") -> None:
        """A row for each day; the day is its id."""
        with closing(sqlite3.connect(self.root / "shop.db")) as source, source:
            source.executemany(PUT, [(day, note, f"2026-05-{day:02} 12:00:00") for day in days])

    def apply(self) -> Any:
        answer = self.hakiri("apply", "--json")
        assert answer.code == 0, answer.out
        return answer.json()

    def lose_catalog(self) -> None:
        settings = Settings(cwd=self.root)
        where = catalog_settings(settings, workplace(settings).read())
        assert isinstance(where, SqliteFile)
        lost = list(where.path.parent.glob(f"{where.path.name}*"))
        assert lost
        for path in lost:
            path.unlink()

    def rebuild(self) -> Any:
        answer = self.hakiri("catalog", "rebuild", "--yes", "--json")
        assert answer.code == 0, answer.out
        return answer.json()["tables"]

    def rows(self, table: str = "orders") -> list[tuple[int, str]]:
        found = self.hakiri("sql", f"select id, note from {table} order by id, note", "--json").json()
        return [(row["id"], row["note"]) for row in found]

    def version(self) -> int:
        root = tables_root(workplace(Settings(cwd=self.root)).read())
        return DeltaTable(f"{root}/orders").version()


@pytest.fixture
def make_shop(make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Any:
    assert spark

    def make(more: str, *, key: str = "PRIMARY KEY", backend: str = "sqlite") -> Shop:
        root = make_project({"hakiri.toml": TOML.replace('"sqlite"', f'"{backend}"', 1) + more})
        monkeypatch.chdir(root)
        with closing(sqlite3.connect(root / "shop.db")) as source, source:
            source.execute(MAKE.format(key=key))
        return Shop(root, hakiri)

    return make


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["keyed", "keyless"])
def test_a_round_that_had_landed_partly_is_read_again_and_nothing_is_there_twice(make_shop: Any, key: str) -> None:
    shop = make_shop(BY_DAY, key=key)
    shop.put(1, 2, 3, 4, 5)
    shop.apply()
    assert 0 < len(shop.rows()) < 5, "the tick ended before the round did"
    shop.lose_catalog()
    (restored,) = shop.rebuild()
    assert (restored["cursor_of"], restored["known"], restored["error"]) == (None, 0, None)
    shop.put(6)
    for _ in range(4):
        shop.apply()
    assert shop.rows() == [(day, "new") for day in range(1, 7)]


def test_a_table_that_was_caught_up_goes_on_from_its_cursor(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\n')
    shop.put(1, 2, 3)
    shop.apply()
    shop.put(4)
    shop.apply()
    before = (shop.hakiri("status", "shop", "--json").json()["phase"], shop.version())
    shop.lose_catalog()
    (restored,) = shop.rebuild()
    assert (restored["landings"], restored["cursor_of"]) == ([1, 2], 2)
    assert (shop.hakiri("status", "shop", "--json").json()["phase"], shop.version()) == before
    shop.apply()
    assert shop.version() == before[1], "nothing is new, so nothing is landed"
    shop.put(5)
    shop.apply()
    assert shop.rows() == [(day, "new") for day in range(1, 6)]


def test_a_catalog_whose_log_is_cut_short_is_named_and_rebuilt(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\n', backend="delta")
    shop.put(1, 2)
    shop.apply()
    (log,) = shop.root.glob("**/catalog/landings/_delta_log")
    last = max(log.glob("*.json"))
    last.write_bytes(last.read_bytes()[:100])
    for command in (["apply"], ["status"], ["catalog", "rebuild"]):
        told = shop.hakiri(*command)
        assert (told.code, "error[HK122]" in told.err, str(last) in told.err) == (1, True, True), told.err
        assert "`hakiri catalog rebuild --yes`" in told.err
    assert shop.rebuild()[0]["landings"] == [1]
    assert len(list(log.parents[2].glob("catalog.damaged-*"))) == 1, "nothing of it is removed"
    shop.put(3)
    shop.apply()
    assert shop.rows() == [(1, "new"), (2, "new"), (3, "new")]


@pytest.mark.parametrize("backend", ["delta", "sqlite"])
def test_a_catalog_whose_checkpoint_or_file_is_damaged_is_named_and_rebuilt(make_shop: Any, backend: str) -> None:
    shop = make_shop('incremental = "updated_at"\n', backend=backend)
    shop.put(1, 2)
    shop.apply()
    file = damage_catalog(shop.root, backend)
    for command in (["status"], ["catalog", "rebuild"]):
        told = shop.hakiri(*command)
        assert (told.code, "error[HK122]" in told.err, str(file) in told.err) == (1, True, True), told.err
        assert "`hakiri catalog rebuild --yes`" in told.err
    assert shop.rebuild()[0]["landings"] == [1]
    assert list(shop.root.glob("**/catalog*.damaged-*")), "nothing of it is removed"
    shop.put(3)
    shop.apply()
    assert shop.rows() == [(1, "new"), (2, "new"), (3, "new")]


def damage_catalog(root: Path, backend: str) -> Path:
    """Cut a checkpoint of a Delta catalog short, or overwrite the file of one in SQLite."""
    if backend == "delta":
        (catalog,) = root.glob("**/catalog")
        DeltaTable(catalog / "landings").create_checkpoint()
        (file,) = (catalog / "landings" / "_delta_log").glob("*.checkpoint.parquet")
        file.write_bytes(file.read_bytes()[:1_000])
        return file
    (file,) = root.glob("**/catalog.sqlite")
    file.write_bytes(b"overwritten" * 1_000)
    return file


def test_a_repeat_changes_nothing_and_a_catalog_that_was_not_lost_is_left_alone(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\n')
    shop.put(1)
    shop.apply()
    assert [(one["landings"], one["known"]) for one in shop.rebuild()] == [([], 1)]
    shop.lose_catalog()
    rehearsed = shop.hakiri("catalog", "rebuild", "--json").json()
    assert (rehearsed["written"], rehearsed["tables"][0]["landings"]) == (False, [1])
    assert "--yes" in shop.hakiri("catalog", "rebuild").out
    shop.rebuild()
    content = shop.hakiri("runs", "shop", "--json").json(), shop.hakiri("status", "--json").json()
    assert [(one["landings"], one["known"]) for one in shop.rebuild()] == [([], 1)]
    assert (shop.hakiri("runs", "shop", "--json").json(), shop.hakiri("status", "--json").json()) == content


@pytest.mark.parametrize("mode", ["truncate", "upsert"])
def test_modes_that_replace_rows_go_on_as_well(make_shop: Any, mode: str) -> None:
    more = 'upsert_key = ["id"] }\nincremental = "updated_at"' if mode == "upsert" else "}"
    shop = make_shop(f'load = {{ mode = "{mode}"{"," if mode == "upsert" else ""} {more}\n')
    shop.put(1, 2)
    shop.apply()
    shop.lose_catalog()
    shop.rebuild()
    shop.put(3)
    shop.apply()
    assert shop.rows() == [(1, "new"), (2, "new"), (3, "new")]


def test_rows_that_a_restore_took_back_are_read_again(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\n')
    for day in (1, 2, 3):
        shop.put(day)
        shop.apply()
    root = tables_root(workplace(Settings(cwd=shop.root)).read())
    DeltaTable(f"{root}/orders").restore(0)
    assert shop.rows() == [(1, "new")]
    refused = shop.hakiri("catalog", "rebuild", "--yes")
    assert (refused.code, "error[HK320]" in refused.err) == (1, True), "this catalog was not lost"
    shop.lose_catalog()
    (restored,) = shop.rebuild()
    assert restored["landings"] == [1, 3], "the last number is spent, and brings nothing"
    shop.put(4)
    shop.apply()
    assert shop.rows() == [(day, "new") for day in (1, 2, 3, 4)]


def test_without_the_rebuild_nothing_is_landed_and_nothing_is_swept(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\n')
    shop.put(1)
    shop.apply()
    shop.lose_catalog()
    assert shop.hakiri("catalog", "rebuild").code == 0, "which makes an empty catalog, and writes nothing into it"
    swept = shop.hakiri("gc", "--retention", "1h")
    assert (swept.code, "error[HK319]" in swept.err, "catalog rebuild" in swept.err) == (1, True, True)
    shop.put(2)
    refused = shop.hakiri("apply")
    assert (refused.code, "catalog rebuild" in refused.err) == (1, True)
    for path in shop.root.rglob("attempt-*/*"):
        os.utime(path, (0, 0))
    assert shop.hakiri("gc").code == 0
    assert shop.rows() == [(1, "new")], "what lies in the table's log stays, whatever the catalog says"


def test_landed_chunks_whose_staged_manifests_are_lost_are_warned_of_by_rebuild_plan_and_apply(make_shop: Any) -> None:
    shop = make_shop('incremental = "updated_at"\nload = { mode = "append" }\n')
    shop.put(1, 2, 3)
    shop.apply()
    for manifest in shop.root.glob("**/data/runs/**/_manifest.json"):
        manifest.unlink()
    shop.lose_catalog()
    told = shop.hakiri("catalog", "rebuild").out
    assert "shop/orders" in told
    assert "the staged manifests of 1 landed chunk are lost (0001-00001)" in " ".join(told.split())
    (restored,) = shop.rebuild()
    assert (restored["without_manifest"], restored["error"]) == (["0001-00001"], None)
    assert "`hakiri apply shop --full-refresh` lands every row once" in restored["caution"]
    planned = shop.hakiri("plan")
    assert "the staged manifests of 1 landed chunk are lost (0001-00001)" in " ".join(planned.out.split())
    applied = shop.hakiri("apply")
    assert applied.code == 0
    assert "manifests of 1 landed chunk are lost" in " ".join((applied.out + applied.err).split())
    assert shop.hakiri("apply", "--full-refresh").code == 0
    assert "are lost" not in shop.hakiri("plan").out
    assert shop.rows() == [(day, "new") for day in (1, 2, 3)]
