"""`hakiri maintain` says for each table what was done, and leaves with a code that tells whether all of it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Hakiri
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.land.decide.adoptable import MANY_FILES
from hakiri.land.delta.history import landings_of, read_log
from hakiri.model.ledger import Pipeline
from land.staging import Workshop, order
from projects import MakeProject

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
MANY = MANY_FILES + 1


@pytest.fixture
def root(make_project: MakeProject) -> Path:
    """A project whose table has many small files."""
    root = make_project({"hakiri.toml": TOML})
    workshop = Workshop(root / ".hakiri/context/tables/orders")
    for number in range(MANY):
        workshop.land_rows(order(number))
    catalog = SqliteCatalog(root / ".hakiri/context/catalog.sqlite")
    catalog.register(Pipeline("shop", parallelism=1))
    for one in landings_of(read_log(workshop.root), "test/shop/orders"):
        catalog.restore_landing(one.landing())
    catalog.close()
    return root


def test_each_table_has_a_line(root: Path, hakiri: Hakiri) -> None:
    rehearsed = hakiri("maintain", "--dry-run", "--project", str(root))
    assert (rehearsed.code, f"orders: {MANY} files; would be optimized" in rehearsed.out) == (0, True)
    done = hakiri("maintain", "shop", "--project", str(root))
    assert (done.code, f"orders: {MANY} files, now 1" in done.out) == (0, True)
    again = hakiri("maintain", "--json", "--project", str(root))
    (orders,) = again.json()["tables"]
    assert (again.code, again.json()["ok"], orders["files"], orders["files_after"]) == (0, True, 1, 1)


def test_a_table_that_fails_is_told_and_the_code_is_not_0(root: Path, hakiri: Hakiri) -> None:
    (root / ".hakiri/context/tables/orders/_delta_log" / f"{1:020}.json").write_text("{")
    done = hakiri("maintain", "--project", str(root))
    assert done.code != 0
    assert "orders: failed" in done.out
    assert "error[HK" in done.err


def test_what_is_asked_for_wrongly_is_refused(root: Path, hakiri: Hakiri) -> None:
    refused = hakiri("maintain", "--retention", "2d", "--project", str(root))
    assert (refused.code, "error[HK503]" in refused.err) == (1, True)
    assert hakiri("maintain", "shpo", "--project", str(root)).code == 1
