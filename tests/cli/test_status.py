"""`hakiri status` tells how far each pipeline is, from any catalog, without a JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from hakiri.catalog.open import open_catalog
from hakiri.model.chunk import Chunk, ChunkKey, Seal
from hakiri.model.ledger import Phase, Pipeline
from hakiri.settings import Settings
from hakiri.wiring import catalog_settings, workplace
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


def test_no_jvm_and_no_pyspark_is_needed(worked: Path) -> None:
    program = "import sys; from hakiri.cli import main; main(['status', '--json']); print('pyspark' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], cwd=worked, capture_output=True, text=True, check=True).stdout
    answer, _, loaded = out.rstrip().rpartition("\n")
    assert json.loads(answer)[0]["chunks"]["done"] == 1
    assert loaded == "False"
