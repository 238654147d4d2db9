"""`hakiri status` tells how far each pipeline is, from any catalog, without a JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from clocks import ManualClock
from hakiri.catalog.open import open_catalog
from hakiri.cli.status import show_status
from hakiri.model.chunk import Chunk, ChunkKey, Seal
from hakiri.model.ledger import Phase, Pipeline, Run, RunStatus
from hakiri.run.events import ChunkClaimed, ChunkStaged
from hakiri.run.journal import Journal
from hakiri.settings import Settings
from hakiri.wiring import catalog_settings, journals, workplace
from projects import MakeProject

TOML = """\
[project]
name = "test"
[catalog]
backend = "{backend}"
[[pipeline]]
id = "orders"
source = {{ connector = "x" }}
tables = ["orders"]
backfill = {{ rate_budget = "4/min" }}
"""


@pytest.fixture(params=["sqlite", "delta"])
def project(request: pytest.FixtureRequest, make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": TOML.format(backend=request.param)})
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def worked(project: Path) -> Path:
    """The project with three chunks planned, one of them done and one under way."""
    settings = Settings(cwd=project)
    catalog = open_catalog(catalog_settings(settings, workplace(settings).read()))
    catalog.register(Pipeline("orders", parallelism=2, phase=Phase.BACKFILLING))
    catalog.add_chunks([Chunk(ChunkKey("orders", "orders", f"c{number}"), ordinal=number) for number in range(3)])
    first, _ = catalog.claim("orders", node="here", limit=2)
    catalog.complete(first, Seal(path="p", rows=7, bytes=70, fingerprint="f"))
    catalog.close()
    return project


@pytest.mark.usefixtures("project")
def test_a_pipeline_that_never_ran_is_being_planned_and_nothing_is_made_by_looking(
    project: Path, hakiri: Hakiri
) -> None:
    (state,) = hakiri("status", "--json").json()
    assert (state["phase"], state["chunks"]["total"]) == ("planning", 0)
    assert not (project / ".hakiri").exists()


@pytest.mark.usefixtures("worked")
def test_counts_are_those_of_the_catalog(hakiri: Hakiri) -> None:
    state = hakiri("status", "orders", "--json").json()
    assert state["phase"] == "backfilling"
    assert state["chunks"] == {"done": 1, "running": 1, "pending": 1, "waiting": 0, "failed": 0, "total": 3}
    assert (state["rows"], state["bytes"]) == (7, 70)
    assert "backfilling" in hakiri("status").out


@pytest.mark.usefixtures("project")
def test_what_is_not_known_is_null_and_not_nought(hakiri: Hakiri) -> None:
    state = hakiri("status", "orders", "--json").json()
    assert state["throughput"] == {"rows_per_sec": None, "bytes_per_sec": None}
    assert (state["eta_seconds"], state["started_at"]) == (None, None)
    assert (state["rate_budget"], state["rate_budget_consumed_pct"]) == ("4/min", None)


@pytest.fixture
def running(worked: Path) -> tuple[Path, ManualClock]:
    """The project with a run under way, ten seconds after its first claim."""
    clock = ManualClock()
    settings = Settings(cwd=worked)
    found = workplace(settings).read()
    with Journal(journals(found), run="r1", pipeline="orders", clock=clock) as journal:
        journal.record(ChunkClaimed(table="orders", chunk="c9", attempt=1))
        clock.advance(70)
        journal.record(ChunkClaimed(table="orders", chunk="c0", attempt=1))
        clock.advance(30)
        staged = ChunkStaged(table="orders", chunk="c0", attempt=1, read=600, rows=600, bytes=6_000, seconds=30.0)
        journal.record(staged)
    catalog = open_catalog(catalog_settings(settings, found))
    catalog.record_run(Run("r1", "orders", RunStatus.RUNNING, clock.now()))
    catalog.close()
    return worked, clock


def test_a_run_under_way_tells_its_speed_in_the_documented_shape(
    running: tuple[Path, ManualClock], capsys: pytest.CaptureFixture[str]
) -> None:
    show_status("orders", None, as_json=True, clock=running[1])
    state = json.loads(capsys.readouterr().out)
    assert list(state)[:8] == [
        "pipeline_id",
        "phase",
        "chunks",
        "throughput",
        "eta_seconds",
        "started_at",
        "rate_budget",
        "rate_budget_consumed_pct",
    ]
    assert state["throughput"] == {"rows_per_sec": 10, "bytes_per_sec": 100}
    assert state["eta_seconds"] == 30
    assert state["started_at"] == "2026-05-12T08:15:40Z"
    assert state["rate_budget_consumed_pct"] == 25, "the claim of more than a minute ago is not in the window"
    assert (state["latest_run"], state["latest_status"]) == ("r1", "running")


def test_a_run_whose_journal_is_elsewhere_has_no_speed(running: tuple[Path, ManualClock], hakiri: Hakiri) -> None:
    next(running[0].rglob("r1.jsonl")).unlink()
    state = hakiri("status", "orders", "--json").json()
    assert state["throughput"]["rows_per_sec"] is None
    assert state["eta_seconds"] is None


class ThreeLooks(ManualClock):
    """A clock that is stopped, as by Ctrl-C, at the third wait."""

    waits = 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits += 1
        if self.waits == 3:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("worked")
def test_watching_looks_every_two_seconds_until_it_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    show_status("orders", None, as_json=False, watch=True, clock=ThreeLooks())
    told = capsys.readouterr().out.splitlines()
    assert [line[:20] for line in told] == [f"2026-05-12T08:14:0{second}Z" for second in (0, 2, 4)]
    assert "orders: backfilling, 1/3 chunks, 1 running, 0 failed, 7 rows, - rows/s, eta -" in told[0]
    show_status(None, None, as_json=True, watch=True, clock=ThreeLooks())
    states = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [state["chunks"]["done"] for state in states] == [1, 1, 1]


def test_nothing_heavy_is_loaded_that_the_catalog_does_not_need(worked: Path) -> None:
    program = "import sys; from hakiri.cli import main; main(['status', '--json']); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], cwd=worked, capture_output=True, text=True, check=True).stdout
    answer, _, loaded = out.rstrip().rpartition("\n")
    assert json.loads(answer)[0]["chunks"]["done"] == 1
    heavy = {"pyspark", "polars", "tomlkit"}
    if 'backend = "sqlite"' in (worked / "hakiri.toml").read_text():
        heavy |= {"pyarrow", "deltalake", "numpy"}
    assert not heavy & set(loaded.split())
