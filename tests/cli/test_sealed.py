"""A sealed plan of several pipelines is carried out whole, or nothing of it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from projects import MakeProject

ONE = """\
[[pipeline]]
id = "{name}"
source = {{ connector = "files", config = {{ path = "data" }} }}
tables = ["{name}"]
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project(
        {
            "hakiri.toml": '[project]\nname = "test"\n' + ONE.format(name="still") + ONE.format(name="moving"),
            "data/still/a.csv": "id\n1\n",
            "data/moving/a.csv": "id\n1\n",
        }
    )
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("names", [[], ["still"]], ids=["all", "named"])
def test_a_plan_of_which_one_pipeline_has_moved_is_not_run_at_all(
    project: Path, hakiri: Hakiri, names: list[str]
) -> None:
    assert hakiri("plan", "--out", "plan.json").code == 0
    (project / "data/moving/b.csv").write_text("id\n2\n")
    refused = hakiri("apply", *names, "--plan", "plan.json", "--json")
    assert (refused.code, refused.json()["error"]["code"]) == (1, "HK601")
    assert "source bounds of `moving`.`moving`" in json.dumps(refused.json())
    assert not (project / ".hakiri/context/tables").exists()
    assert hakiri("runs", "still", "--json").json() == []


def test_a_plan_whose_pipeline_has_left_the_manifest_is_not_run_at_all(project: Path, hakiri: Hakiri) -> None:
    assert hakiri("plan", "--out", "plan.json").code == 0
    manifest = project / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace(ONE.format(name="moving"), ""))
    refused = hakiri("apply", "--plan", "plan.json", "--json")
    assert (refused.code, refused.json()["error"]["code"]) == (1, "HK110")
    assert not (project / ".hakiri/context/tables").exists()
