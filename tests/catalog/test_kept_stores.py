"""A catalog that an earlier release has written is opened, understood and worked on by this one."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from catalog.kept_stores import (
    ORDERS,
    PIPELINE,
    STORES,
    delta_store,
    expected,
    postgres_store,
    read_history,
    spark_store,
    sqlite_store,
)
from clocks import ManualClock
from hakiri.catalog.delta.migrate import migrate
from hakiri.catalog.delta.rust import DeltaCatalog, RustExecutor
from hakiri.catalog.delta.schema import create_tables
from hakiri.catalog.delta.spark import SparkExecutor
from hakiri.catalog.errors import CatalogRefused, CatalogUnavailable
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.open import CatalogSettings, PostgresServer, SqliteFile, open_catalog
from hakiri.catalog.tables import CHUNKS
from hakiri.model.chunk import Seal
from hakiri.model.ledger import LineageEdge

Open = Callable[[int, Path, Callable[[], str]], AbstractContextManager[CatalogSettings]]

FROZEN = {
    "0001.postgres.sql": "3c79b011ee1d2e312ebed71bb4d8b38803bdb6600c3ca3f28933615117b1389c",
    "0001.sqlite.sql": "2ec7005a44e5b7ac8d00d67cb103f69e1b2b6ac5b9059492a844aaf84eb409c6",
    "0002.delta.sql": "58e20b9604ebceb22bffd4ab0c20cb20fa7766a578fbb04d5909dda706b53867",
    "0002.postgres.sql": "f29430ac5acd5bc1db233ffec74614eb6310f113d80db1eae75c77f56c4b6791",
    "0002.sqlite.sql": "e7495077389cad22a678147dfe76c7a19ad39a706a0a621de77ee6f98ac09a1a",
}
"""The SHA-256 of each migration that was released. A changed file is an error; a new one gets its line here."""


VERSIONS = sorted(int(folder.name) for folder in STORES.iterdir())
WRITES_OF_A_MIGRATION = 8
"""Two of the properties, and six of rows."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("store", [sqlite_store, delta_store, postgres_store], ids=lambda store: store.__name__)
def test_a_store_of_every_release_is_read_and_worked_on(
    store: Open, version: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with store(version, tmp_path, lambda: str(request.getfixturevalue("postgres_url"))) as settings:
        read_and_work(version, settings)


@pytest.mark.spark
@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_on_table_names_is_read_and_worked_on_also_after_a_migration_that_was_cut_off(
    version: int, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spark_store(version, tmp_path, spark) as settings:
        if version < SCHEMA_VERSION:
            with monkeypatch.context() as patch:
                cut_off(patch, SparkExecutor, left=3)
                with pytest.raises(PowerCut):
                    open_catalog(settings, spark=lambda: spark)
        read_and_work(version, settings, spark)


def read_and_work(version: int, settings: CatalogSettings, spark: SparkSession | None = None) -> None:
    clock = ManualClock()
    clock.advance(2)
    catalog = open_catalog(settings, clock=clock, spark=None if spark is None else lambda: spark)
    try:
        assert read_history(catalog) == expected(version)
        (lease,) = catalog.claim(PIPELINE, node="host-2")
        catalog.complete(lease, Seal("data/next", 1, 100, "print"))
        taken = catalog.reserve_landing(ORDERS, [], node="host-2", dead_holder=catalog.landings(ORDERS)[-1].holder)
        assert catalog.finish_landing(taken, version=4).number == 2
        landing = catalog.reserve_landing(ORDERS, [lease.chunk.key], node="host-2", cursor="9")
        assert catalog.finish_landing(landing, version=5).number == 3
        assert catalog.advance_cursor(ORDERS, "9", landing=3).value == "9"
        assert catalog.record_views([], before=catalog.views())
        catalog.append_lineage([LineageEdge("run-2", "orders#3", "run-2", "landed")])
    finally:
        catalog.close()


class PowerCut(BaseException):
    """Ends a migration where it is."""


def cut_off(patch: pytest.MonkeyPatch, executor: type[Any], *, left: int) -> None:
    """Let this many writes of the executor succeed, and cut the power at the next."""
    remaining = iter(range(left))

    def limited(real: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, *args: Any, **kwargs: Any) -> Any:
            if next(remaining, None) is None:
                raise PowerCut
            return real(self, *args, **kwargs)

        return write

    for name in ("commit", "set_versions"):
        patch.setattr(executor, name, limited(getattr(executor, name)))


@pytest.mark.parametrize("left", range(WRITES_OF_A_MIGRATION))
def test_a_migration_of_delta_tables_that_was_cut_off_is_finished_by_the_next_one(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with delta_store(1, tmp_path, str) as settings:
        with monkeypatch.context() as patch:
            cut_off(patch, RustExecutor, left=left)
            with pytest.raises(PowerCut):
                open_catalog(settings)
        assert RustExecutor(tmp_path / "catalog").found_version() == 1
        read_and_work(1, settings)


def test_processes_that_migrate_at_the_same_time_read_the_same(tmp_path: Path) -> None:
    with delta_store(1, tmp_path, str) as settings, ExitStack() as stack:
        with ThreadPoolExecutor(4) as threads:
            catalogs = list(threads.map(lambda _: open_catalog(settings), range(4)))
        for catalog in catalogs:
            stack.callback(catalog.close)
        assert [read_history(catalog) for catalog in catalogs] == [expected(1)] * 4
        assert catalogs[0].record_views([], before=catalogs[0].views())
        late = catalogs[1]
        assert isinstance(late, DeltaCatalog)
        migrate(late._store, AsIfBehind(RustExecutor(tmp_path / "catalog")))
        assert catalogs[2].views() == (), "what a late migrator has seen is not written over what was done since"


class AsIfBehind:
    """A catalog whose version was read before another process migrated it."""

    def __init__(self, executor: RustExecutor) -> None:
        self.set_versions = executor.set_versions

    def found_version(self) -> int:
        return 1


@pytest.mark.parametrize("store", [sqlite_store, postgres_store], ids=lambda store: store.__name__)
def test_a_migration_that_fails_in_its_middle_leaves_the_store_as_it_was(
    store: Open, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with store(1, tmp_path, lambda: str(request.getfixturevalue("postgres_url"))) as settings:
        execute(settings, "CREATE TABLE views (id BIGINT)")
        with pytest.raises((CatalogUnavailable, CatalogRefused), match="views"):
            open_catalog(settings)
        execute(settings, "DROP TABLE views")
        read_and_work(1, settings)


def test_a_migrated_store_takes_no_chunks_from_an_older_release(tmp_path: Path) -> None:
    """A process that has been running since before the migration does not know their rounds."""
    with sqlite_store(1, tmp_path, str) as settings:
        open_catalog(settings).close()
        columns = [name for name in CHUNKS.columns if name not in ("round", "is_refresh", "gone")]
        older = f"INSERT INTO chunks ({', '.join(columns)}) SELECT {', '.join(columns)} FROM chunks"
        with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
            execute(settings, older)


def execute(settings: CatalogSettings, statement: str) -> None:
    if isinstance(settings, SqliteFile):
        with closing(sqlite3.connect(settings.path)) as connection:
            connection.execute(statement)
            connection.commit()
    if isinstance(settings, PostgresServer):
        with psycopg.connect(settings.url) as server:
            server.execute("SET search_path TO hakiri")
            server.execute(statement.encode())


def test_a_released_migration_is_never_changed() -> None:
    folder = files("hakiri.catalog.migrations")
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }
    assert found == FROZEN


def test_every_version_has_its_migrations_and_its_kept_stores() -> None:
    versions = range(1, SCHEMA_VERSION + 1)
    stores = ("delta", "postgres", "sqlite")
    names = [f"{number:04d}.{store}.sql" for number in versions for store in stores]
    assert sorted(FROZEN) == [name for name in names if name != "0001.delta.sql"], "the first is what tables begin with"
    assert sorted(folder.name for folder in STORES.iterdir()) == [str(number) for number in versions]


def test_migrations_come_to_the_tables_of_this_release() -> None:
    """What the replica of a Delta catalog is made of, and what a migrated store has, is the same."""
    migrated, made = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for number in range(1, SCHEMA_VERSION + 1):
        for statement in statements("sqlite", number):
            migrated.execute(statement)
    for statement in create_tables():
        made.execute(statement)
    assert _described(made) <= _described(migrated)
    assert {name for kind, name, *_ in _described(migrated) - _described(made)} == {
        "lineage_no_update",
        "lineage_no_delete",
        "lineage_no_replace",
    }


def _described(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Every table, index and trigger, with its text as far as it matters."""
    found = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {(kind, name, "".join(text.split())) for kind, name, text in found}
