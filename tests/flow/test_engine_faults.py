"""Whatever part of Spark dies under a run, the run says so once, and every row lands once."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing

import pytest

from clocks import PATIENCE
from flow.processes import applying, journal, jvm_of, wait_for
from flow.stand import Rows, Stand, change, source_rows
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.ledger import RunStatus
from hakiri.run.events import ChunkClaimed, ChunkReleased, LandingReserved, Planned, RunEnded, StageEnded

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite", busy_timeout_seconds = 120 } }
tables = [{ name = "orders", primary_key = ["id"] }]
load = { mode = "upsert" }
retry = { max_attempts = 1, initial_delay = "1s" }
"""
FILL = [("INSERT INTO orders VALUES (?, ?)", [(number, f"order {number}") for number in range(100)])]
TABLE = TableKey("shop", "orders")


@pytest.fixture
def shop(make_stand: MakeStand) -> Stand:
    stand = make_stand({"pipelines/shop.toml": PIPELINE})
    change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)", many=FILL)
    return stand


def at_source(stand: Stand) -> Rows:
    return source_rows(stand.root / "shop.sqlite", "SELECT id, note FROM orders")


def require_one_clear_error(said: str) -> None:
    assert said.count("error[") == 1, said
    assert "error[HK208]" in said
    assert "run `hakiri apply` again" in said
    assert not any(noise in said for noise in ("Traceback", "py4j", "Exception")), said


def test_a_jvm_that_dies_amid_a_chunk_ends_the_run_and_costs_the_chunk_no_attempt(shop: Stand) -> None:
    with (
        closing(sqlite3.connect(shop.root / "shop.sqlite", isolation_level=None)) as application,
        applying(shop) as run,
    ):
        wait_for(shop, Planned, run)
        application.execute("BEGIN EXCLUSIVE")  # the chunk waits for it, and so cannot end before its JVM does
        wait_for(shop, ChunkClaimed, run)
        os.kill(jvm_of(run), signal.SIGKILL)
        said, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 3, said
    require_one_clear_error(said)
    assert journal(shop)[-3:] == [ChunkReleased, StageEnded, RunEnded]
    (state,) = shop.ask(lambda catalog: catalog.chunks(TABLE))
    assert (state.status, state.failures) == (ChunkStatus.WAITING, 0)
    assert "the Spark session has ended" in state.error
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == at_source(shop)


def test_a_jvm_that_dies_amid_a_landing_ends_the_run_and_the_next_one_lands_every_row_once(shop: Stand) -> None:
    assert shop.apply()["shop"].errors == ()
    change(
        shop.root / "shop.sqlite",
        "UPDATE orders SET note = 'changed' WHERE id % 2",
        "INSERT INTO orders VALUES (100, '')",
    )
    with applying(shop) as run:
        wait_for(shop, LandingReserved, run, run=2)
        os.kill(jvm_of(run), signal.SIGKILL)
        said, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 3, said
    require_one_clear_error(said)
    again = shop.apply()["shop"]
    assert (again.status, again.errors) == (RunStatus.SUCCEEDED, ())
    assert shop.landed("orders") == at_source(shop)
