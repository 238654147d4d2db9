"""A release that is older than its catalog refuses it at every door, and changes nothing in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cli.conftest import Hakiri
from hakiri.catalog.open import DeltaPath, SqliteFile, open_catalog
from hakiri.model.ledger import Pipeline
from projects import MakeProject

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", primary_key = ["id"] }]
"""
PROJECT = '[project]\nname = "test"\n\n[catalog]\nbackend = "{backend}"\npath = "catalog"\n'


def of_a_newer_release(backend: str, path: Path) -> None:
    catalog = open_catalog(SqliteFile(path) if backend == "sqlite" else DeltaPath(path))
    catalog.register(Pipeline("shop"))
    catalog.runs("shop")
    catalog.close()
    if backend == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 999")
        return
    for table in path.glob("*/_delta_log"):
        DeltaTable(table.parent).alter.set_table_properties({"hakiri.schema": "999"}, raise_if_not_exists=False)


@pytest.mark.parametrize("backend", ["sqlite", "delta"])
@pytest.mark.parametrize("command", [["apply"], ["plan"], ["status"], ["gc"], ["runs", "shop"]], ids=" ".join)
def test_an_older_release_refuses_a_newer_catalog(
    make_project: MakeProject, hakiri: Hakiri, backend: str, command: list[str]
) -> None:
    root = make_project({"hakiri.toml": PROJECT.replace("{backend}", backend), "pipelines/shop.toml": PIPELINE})
    with closing(sqlite3.connect(root / "shop.sqlite")) as application:
        application.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    of_a_newer_release(backend, root / "catalog")
    answer = hakiri(*command, "--project", str(root))
    assert answer.code == 1, answer.err
    assert "HK303" in answer.err
    assert "upgrade Hakiri" in answer.err
