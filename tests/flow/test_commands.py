"""The command line as people and schedulers meet it: sealed plans, and runs that are stopped, killed or doubled."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import pytest

from clocks import PATIENCE
from connect_servers import ConnectServer
from flow.processes import applying, journal, wait_for
from flow.stand import Rows, Stand, change, source_rows
from hakiri.cli.main import run as run_command
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.ledger import LandingStatus, RunStatus
from hakiri.run.events import ChunkClaimed, ChunkStaged, RunEnded, Stopping

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite", piece_rows = 50000 } }
tables = [{ name = "orders", primary_key = ["id"], incremental = "id" }]
"""
TABLE = TableKey("shop", "orders")
ROWS = 300_000
FILL = f"""
WITH RECURSIVE numbers (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < {ROWS})
INSERT INTO orders SELECT id, 'order ' || id FROM numbers
"""
QUERY = "SELECT id, note FROM orders"


def shop(make_stand: MakeStand, more: str = "") -> Stand:
    stand = make_stand({"pipelines/shop.toml": PIPELINE + more})
    change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)", FILL)
    return stand


def at_source(stand: Stand) -> Rows:
    return source_rows(stand.root / "shop.sqlite", QUERY)


def statuses(stand: Stand) -> set[ChunkStatus]:
    return {state.status for state in stand.ask(lambda catalog: catalog.chunks(TABLE))}


def test_two_appliers_share_the_chunks_and_nothing_lands_twice(make_stand: MakeStand, connect: ConnectServer) -> None:
    stand = shop(make_stand, "backfill = { parallelism = 6 }\n")
    remote = {"SPARK_REMOTE": connect.address}
    with applying(stand, **remote) as one, applying(stand, **remote) as other:
        said = [process.communicate(timeout=PATIENCE)[0] for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), said
    assert stand.landed("orders") == at_source(stand)
    states = stand.ask(lambda catalog: catalog.chunks(TABLE))
    assert len(states) >= 4
    assert {state.attempt for state in states} == {1}
    landings = stand.ask(lambda catalog: catalog.landings(TABLE))
    assert {landing.status for landing in landings} == {LandingStatus.LANDED}


def test_a_stopped_and_a_killed_run_are_taken_up_at_once(make_stand: MakeStand, connect: ConnectServer) -> None:
    # Each run reads two of the six chunks and waits for the next day, so none ends before it is stopped or killed.
    stand = shop(make_stand, 'backfill = { rate_budget = "2/d", parallelism = 6 }\n')
    with applying(stand) as process:
        wait_for(stand, ChunkStaged, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert ChunkStatus.RUNNING not in statuses(stand), "a run that was stopped gives its chunks back"
    assert journal(stand)[-1] is RunEnded
    with applying(stand, SPARK_REMOTE=connect.address) as process:
        wait_for(stand, ChunkClaimed, process, run=2)
        process.send_signal(signal.SIGINT)
        wait_for(stand, Stopping, process, run=2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    with applying(stand, HAKIRI_STOP_AT="completed", SPARK_REMOTE=connect.address) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    (stand.root / "pipelines/shop.toml").write_text(PIPELINE)
    started = monotonic()
    assert stand.apply()["shop"].errors == ()
    assert monotonic() - started < PATIENCE, "a dead neighbour's lease is not waited for"
    assert stand.landed("orders") == at_source(stand)
    last, killed, hurried, stopped = (run.status for run in stand.ask(lambda catalog: catalog.runs("shop")))
    assert (last, killed, stopped) == (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.STOPPED)
    assert hurried in (RunStatus.FAILED, RunStatus.STOPPED), "the second signal may have come too late to matter"


def test_a_sealed_plan_is_carried_out_only_over_the_facts_it_was_made_of(
    make_stand: MakeStand, capsys: pytest.CaptureFixture[str]
) -> None:
    stand = shop(make_stand)

    def hakiri(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run_command([*arguments, "--json", "--project", str(stand.root)])
        return code, json.loads(capsys.readouterr().out)

    sealed = str(stand.root / "plan.json")
    code, plan = hakiri("plan", "--out", sealed)
    assert (code, plan["has_work"]) == (0, True)
    change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (900000, 'late')")
    code, refused = hakiri("apply", "--plan", sealed)
    assert (code, refused["error"]["code"]) == (1, "HK601")
    assert "source bounds" in json.dumps(refused)
    assert not stand.folder("orders").exists()

    hakiri("plan", "--out", sealed)
    code, applied = hakiri("apply", "--plan", sealed)
    assert (code, applied["runs"][0]["rows"]) == (0, ROWS + 1)
    assert stand.landed("orders") == at_source(stand)
    code, refused = hakiri("apply", "--plan", sealed)
    assert code == 1
    assert "cursor of" in json.dumps(refused)
    code, plan = hakiri("plan")
    assert (code, plan["has_work"]) == (0, False)
