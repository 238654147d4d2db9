"""`hakiri runs` and `hakiri journal` tell what has happened."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from cli.told_lines import without_time
from clocks import ManualClock
from hakiri.catalog.open import open_catalog
from hakiri.model.ledger import Pipeline, Run, RunStatus
from hakiri.run.events import RunEnded, RunStarted
from hakiri.run.journal import Journal
from hakiri.settings import Settings
from hakiri.wiring import catalog_settings, journals, workplace
from projects import MakeProject

TOML = """\
[project]
name = "test"
[[pipeline]]
id = "orders"
source = { connector = "x" }
tables = ["orders"]
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": TOML})
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def worked(project: Path, clock: ManualClock) -> Path:
    """The project after three runs: one succeeded, one failed, one is under way."""
    settings = Settings(cwd=project)
    found = workplace(settings).read()
    catalog = open_catalog(catalog_settings(settings, found))
    catalog.register(Pipeline("orders"))
    for name, status, rows, error in (
        ("run-a1", RunStatus.SUCCEEDED, 1_200, ""),
        ("run-a2", RunStatus.FAILED, 0, "no answer [HK401]\nsecond line"),
        ("run-b3", RunStatus.RUNNING, 0, ""),
    ):
        started = clock.now()
        with Journal(journals(found), run=name, pipeline="orders", clock=clock) as journal:
            journal.record(RunStarted(node="n1"))
            clock.advance(65)
            if status is not RunStatus.RUNNING:
                journal.record(RunEnded(status=status.value, rows=rows, bytes=rows * 10, error=error))
        ended = None if status is RunStatus.RUNNING else started + timedelta(seconds=65)
        catalog.record_run(Run(name, "orders", RunStatus.RUNNING, started))
        catalog.record_run(Run(name, "orders", status, started, ended, rows, rows * 10, error))
    catalog.close()
    return project


@pytest.mark.usefixtures("worked")
def test_runs_are_listed_newest_first(hakiri: Hakiri) -> None:
    listed = hakiri("runs", "orders", "--json").json()
    assert [(one["run_id"], one["status"], one["rows"], one["error"]) for one in listed] == [
        ("run-b3", "running", 0, None),
        ("run-a2", "failed", 0, "no answer [HK401]\nsecond line"),
        ("run-a1", "succeeded", 1_200, None),
    ]
    assert (listed[2]["seconds"], listed[2]["bytes"], listed[0]["finished_at"]) == (65.0, 12_000, None)
    assert listed[2]["started_at"] == "2026-05-12T08:14:00Z"
    assert [one["run_id"] for one in hakiri("runs", "orders", "--limit", "1", "--json").json()] == ["run-b3"]


@pytest.mark.usefixtures("worked")
def test_the_table_says_the_same(hakiri: Hakiri) -> None:
    rows = [line.split() for line in hakiri("runs", "orders").out.splitlines()]
    assert rows[-1] == "run-a1 succeeded 2026-05-12T08:14:00Z 1m 05s 1,200 11.7 KiB -".split()
    assert "[HK401]" in rows[-2]


@pytest.mark.usefixtures("project")
def test_a_pipeline_that_never_ran_has_no_runs_and_one_that_is_unknown_is_refused(hakiri: Hakiri) -> None:
    assert hakiri("runs", "orders", "--json").json() == []
    assert "has not run yet" in hakiri("runs", "orders").out
    answer = hakiri("runs", "order")
    assert (answer.code, "did you mean `orders`?" in answer.err) == (1, True)


@pytest.mark.usefixtures("worked")
def test_a_journal_is_told_in_order_and_found_by_the_beginning_of_its_run(hakiri: Hakiri) -> None:
    assert without_time(hakiri("journal", "run-a1").out) == [
        "orders: run run-a1 started on n1",
        "orders: run run-a1 succeeded, 1,200 rows",
    ]
    assert hakiri("journal", "run-b").out.startswith("2026-05-12T08:16:10Z orders: run run-b3 started")


def test_programs_get_the_journal_as_it_was_written(worked: Path, hakiri: Hakiri) -> None:
    path = next(worked.rglob("run-a2.jsonl"))
    assert hakiri("journal", "run-a2", "--json").out == path.read_text()
    whole = path.read_text()
    path.write_text(whole + '{"at": "20')
    assert hakiri("journal", "run-a2", "--json").out == whole
    assert [json.loads(line)["event"] for line in whole.splitlines()] == ["run_started", "run_ended"]


@pytest.mark.usefixtures("worked")
def test_a_run_that_is_not_known_or_not_told_apart_is_refused(hakiri: Hakiri) -> None:
    unknown = hakiri("journal", "run-c1")
    assert (unknown.code, "error[HK655]" in unknown.err, "did you mean `run-" in unknown.err) == (1, True, True)
    both = hakiri("journal", "run-a", "--json")
    assert (both.code, both.json()["error"]["code"]) == (1, "HK656")
    assert "run-a1, run-a2" in both.json()["error"]["help"]
    assert hakiri("journal", "").code == 1


@pytest.mark.usefixtures("project")
def test_a_journal_of_nothing_that_ran_is_refused(hakiri: Hakiri) -> None:
    assert "nothing has run here yet" in hakiri("journal", "x").err
