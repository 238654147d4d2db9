"""`hakiri` without arguments says what is there and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Hakiri
from clocks import ManualClock
from hakiri.catalog.open import open_catalog
from hakiri.model.ledger import Phase, Pipeline, Run, RunStatus
from hakiri.settings import Settings
from hakiri.wiring import catalog_settings, workplace
from projects import MakeProject

MANIFEST = """\
[project]
name = "test"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = ["orders", "customers"]
"""


def ended(project: Path, clock: ManualClock, status: RunStatus) -> None:
    """Write a run of the pipeline that ended like this into the catalog."""
    settings = Settings(cwd=project)
    catalog = open_catalog(catalog_settings(settings, workplace(settings).read()))
    catalog.register(Pipeline("shop", phase=Phase.BACKFILLING))
    catalog.record_run(Run("r1", "shop", status, clock.now(), clock.now()))
    catalog.close()


def test_outside_a_project_the_help_says_how_to_make_one(
    tmp_path: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = hakiri()
    assert answer.code == 2
    assert answer.err.startswith("Usage: hakiri ")
    assert "`hakiri init DIR` makes one" in answer.err


def test_a_project_without_pipelines_is_told_to_make_one(
    make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project({}))
    answer = hakiri()
    assert answer.code == 0
    assert answer.out.startswith("project test: 0 pipelines, 0 tables\n")
    assert "next: `hakiri pipeline create ID" in answer.out


def test_before_the_first_run_the_next_step_is_to_apply(
    make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project({"hakiri.toml": MANIFEST}))
    lines = hakiri().out.splitlines()
    assert lines[0] == "project test: 1 pipeline, 2 tables"
    assert lines[4].split() == ["shop", "orders,", "customers", "planning", "0", "none", "yet"]
    assert "next: `hakiri plan` shows what a run would do, `hakiri apply` lands shop" in lines


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (RunStatus.FAILED, "next: `hakiri journal r1` shows why shop failed"),
        (RunStatus.SUCCEEDED, 'next: `hakiri sql "select * from orders limit 5"` shows rows'),
        (RunStatus.RUNNING, "next: `hakiri status --watch` follows the run under way"),
    ],
)
def test_after_a_run_the_next_step_depends_on_how_it_ended(
    make_project: MakeProject,
    hakiri: Hakiri,
    monkeypatch: pytest.MonkeyPatch,
    clock: ManualClock,
    status: RunStatus,
    step: str,
) -> None:
    root = make_project({"hakiri.toml": MANIFEST})
    monkeypatch.chdir(root)
    ended(root, clock, status)
    assert step in hakiri().out


def test_a_manifest_that_is_wrong_is_reported(
    make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project({"hakiri.toml": MANIFEST.replace("tables", "tabels")}))
    answer = hakiri()
    assert answer.code == 1
    assert "did you mean `tables`?" in answer.err
