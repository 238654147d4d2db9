"""A table that lost rows behind our back is reported by every door, and there are ways out of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping

import pytest
from deltalake import DeltaTable

from flow.stand import Rows, Stand, change, source_rows
from hakiri.cli.main import run as run_command
from hakiri.errors import render
from hakiri.land.errors import TableMovedBack
from hakiri.model.ledger import RunStatus
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", primary_key = ["id"], incremental = "id" }]
"""
FULL_REFRESH = RunOptions(is_full_refresh=True)


@pytest.fixture
def shop(make_stand: MakeStand) -> Stand:
    """Two landings, and nothing left to do."""
    stand = make_stand({"pipelines/shop.toml": PIPELINE})
    database = stand.root / "shop.sqlite"
    change(database, "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)", "INSERT INTO orders VALUES (1, 'a')")
    assert stand.apply()["shop"].errors == ()
    change(database, "INSERT INTO orders VALUES (2, 'b')")
    assert stand.apply()["shop"].errors == ()
    return stand


def at_source(stand: Stand) -> Rows:
    return source_rows(stand.root / "shop.sqlite", "SELECT id, note FROM orders")


def lose(stand: Stand) -> None:
    shutil.rmtree(stand.folder("orders") / "_delta_log")


def restore(stand: Stand) -> None:
    DeltaTable(stand.folder("orders")).restore(0)


@pytest.mark.parametrize(("harm", "reason"), [(lose, "no such table any more"), (restore, "restored to version 0")])
def test_every_door_reports_a_table_that_lost_rows_and_a_full_refresh_brings_them_back(
    shop: Stand, capsys: pytest.CaptureFixture[str], harm: Callable[[Stand], None], reason: str
) -> None:
    harm(shop)
    (error,) = shop.apply()["shop"].errors
    assert isinstance(error, TableMovedBack)
    assert error.expected == 2
    assert reason in error.message()
    assert "--full-refresh" in render(error)
    for command in ("plan", "status"):
        capsys.readouterr()
        assert run_command([command, "--project", str(shop.root)]) == 1
        assert "error[HK802]" in capsys.readouterr().err
    run_command(["status", "--json", "--project", str(shop.root)])
    assert json.loads(capsys.readouterr().out)[0]["error"]["code"] == "HK802"

    assert shop.apply(options=FULL_REFRESH)["shop"].errors == ()
    assert shop.landed("orders") == at_source(shop)
    change(shop.root / "shop.sqlite", "INSERT INTO orders VALUES (3, 'c')")
    assert shop.apply()["shop"].status is RunStatus.SUCCEEDED
    assert shop.landed("orders") == at_source(shop)
    assert run_command(["status", "--project", str(shop.root)]) == 0


def test_a_table_that_is_restored_to_the_version_it_had_goes_on(shop: Stand) -> None:
    newest = shop.version("orders")
    restore(shop)
    DeltaTable(shop.folder("orders")).restore(newest)
    change(shop.root / "shop.sqlite", "INSERT INTO orders VALUES (3, 'c')")
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == at_source(shop)
