"""A catalog that an earlier release has written is opened, understood and worked on by this one."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path

import pytest

from catalog.kept_stores import (
    ORDERS,
    PIPELINE,
    STORES,
    delta_store,
    expected,
    postgres_store,
    read_history,
    sqlite_store,
)
from clocks import ManualClock
from hakiri.catalog.delta.schema import create_tables
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.open import CatalogSettings, open_catalog
from hakiri.model.chunk import Seal

Open = Callable[[int, Path, Callable[[], str]], AbstractContextManager[CatalogSettings]]

FROZEN = {
    "0001.postgres.sql": "3c79b011ee1d2e312ebed71bb4d8b38803bdb6600c3ca3f28933615117b1389c",
    "0001.sqlite.sql": "2ec7005a44e5b7ac8d00d67cb103f69e1b2b6ac5b9059492a844aaf84eb409c6",
}
"""The SHA-256 of each migration that was released. A changed file is an error; a new one gets its line here."""


@pytest.mark.parametrize("version", sorted(int(folder.name) for folder in STORES.iterdir()))
@pytest.mark.parametrize("store", [sqlite_store, delta_store, postgres_store], ids=lambda store: store.__name__)
def test_a_store_of_every_release_is_read_and_worked_on(
    store: Open, version: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = ManualClock()
    clock.advance(2)
    with store(version, tmp_path, lambda: str(request.getfixturevalue("postgres_url"))) as settings:
        catalog = open_catalog(settings, clock=clock)
        try:
            assert read_history(catalog) == expected(version)
            (lease,) = catalog.claim(PIPELINE, node="host-2")
            catalog.complete(lease, Seal("data/next", 1, 100, "print"))
            taken = catalog.reserve_landing(ORDERS, [], node="host-2", dead_holder=catalog.landings(ORDERS)[-1].holder)
            assert catalog.finish_landing(taken, version=4).number == 2
            landing = catalog.reserve_landing(ORDERS, [lease.chunk.key], node="host-2", cursor="9")
            assert catalog.finish_landing(landing, version=5).number == 3
            assert catalog.advance_cursor(ORDERS, "9", landing=3).value == "9"
        finally:
            catalog.close()


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
    assert sorted(FROZEN) == [f"{number:04d}.{store}.sql" for number in versions for store in ("postgres", "sqlite")]
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
