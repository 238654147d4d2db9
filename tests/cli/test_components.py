"""`hakiri check`, `hakiri plan` and `hakiri transform try` of a pipeline with a component in WebAssembly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from cli.test_transforms import FIXTURE, MANIFEST, SOURCE
from extract.transform.modules import module
from projects import MakeProject

EXAMPLE = Path(__file__).parents[2] / "fixtures" / "components" / "plain_text.wasm"
ASKED = '{ component = "components/plain_text.wasm" }'
BOTH = MANIFEST.replace('.json"]', f'.json", {ASKED}]')


@pytest.fixture
def project(make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = SOURCE.replace('"author")', '"author", "body")')
    root = make_project({"hakiri.toml": BOTH, "transforms/issues.py": source})
    shutil.copytree(FIXTURE, root / "data/github_issues")
    (root / "components").mkdir()
    shutil.copy(EXAMPLE, root / "components")
    monkeypatch.chdir(root)
    hakiri("compile", "--all")
    return root


@pytest.mark.usefixtures("project")
def test_a_component_is_tried_behind_a_plan(hakiri: Hakiri) -> None:
    assert hakiri("check").code == 0
    tried = hakiri("transform", "try", "issues", "--rows", "3", "--json").json()["github_issues"]
    assert [(row["number"], list(row)) for row in tried["after"]] == [
        (1, ["number", "author", "body", "body_text"]),
        (2, ["number", "author", "body", "body_text"]),
    ]
    assert tried["filtered"] == 1
    assert tried["after"][0]["body"] != tried["after"][0]["body_text"]


def test_a_change_of_a_component_is_a_change_of_the_plan(project: Path, hakiri: Hakiri) -> None:
    seals = []
    for raw in (EXAMPLE.read_bytes(), module()):
        (project / "components/plain_text.wasm").write_bytes(raw)
        assert hakiri("plan", "--out", "plan.json").code == 0
        seals.append(json.loads((project / "plan.json").read_text())["seal"]["parts"])
    name = "transform of `issues`.`github_issues`"
    assert seals[0][name] != seals[1][name]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"nothing of the kind", "HK137"),
        (module(imports='(import "wasi_snapshot_preview1" "fd_write" (func))'), "HK138"),
    ],
)
def test_a_check_finds_a_component_that_may_not_run(project: Path, hakiri: Hakiri, raw: bytes, code: str) -> None:
    (project / "components/plain_text.wasm").write_bytes(raw)
    for command in ("check", "plan"):
        answer = hakiri(command)
        assert answer.code == 1
        assert f"error[{code}]" in answer.err
        assert "hakiri.toml:9" in answer.err


def test_a_check_finds_every_plan_that_may_not_run(project: Path, hakiri: Hakiri) -> None:
    path = project / "pipelines/issues.transforms.json"
    path.write_text(path.read_text().replace('"filter"', '"map"'))
    (project / "components/plain_text.wasm").write_bytes(b"")
    told = hakiri("check").err
    assert "HK137" in told
    assert "pipelines/issues.transforms.json:" in told


def test_a_component_without_wasmtime_says_what_to_install(
    project: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hakiri.extract.transform.component.find_spec", lambda _: None)
    told = hakiri("plan").err
    assert "error[HK139]" in told
    assert "install `hakiri[wasm]`" in told
    assert project


def test_an_upsert_behind_a_component_needs_a_key_that_is_kept(project: Path, hakiri: Hakiri) -> None:
    table = 'tables = [{ name = "github_issues", primary_key = ["number"], load = { mode = "upsert" } }]'
    keyed = BOTH.replace('tables = ["github_issues"]', table)
    (project / "hakiri.toml").write_text(keyed)
    assert "`load.upsert_key` has to name their key" in hakiri("plan").err
    (project / "hakiri.toml").write_text(keyed.replace(ASKED, ASKED.replace(" }", ', keeps = "number" }')))
    assert hakiri("plan").code == 0
