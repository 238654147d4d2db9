"""The real `databricks bundle` deploys this repository to a workspace: all of it, nothing twice, one pipeline alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bundle.bundles import REPO, read
from hakiri.bundle.check import check
from workspaces import USER, Workspace, open_workspace

CLI = shutil.which("databricks")

pytestmark = pytest.mark.skipif(
    CLI is None, reason="no databricks CLI on PATH: a deployment by the real CLI has not been seen"
)

TAKEN = ("databricks.yml", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
TAKEN_FOLDERS = ("resources", "manifests", "notebooks", "fixtures", "src")
LEFT_OUT = (".ci", "benchmarks", "docs", "tests")
RESOURCES = re.compile(r"/api/2\.\d/(jobs|unity-catalog)/")

MORE = """\
id = "more"
source = { connector = "files", config = { path = "in" } }
tables = [{ name = "more", columns = [{ name = "id", type = "bigint" }] }]
triggers = [{ type = "file_arrival", url = "volume:context/in" }]
"""

BROKEN = """\
resources:
  jobs:
    broken:
      name: broken
      schedule: { quartz_cron_expression: "0 61 * * * ?", timezone_id: UTC }
      tasks:
        - task_key: first
          depends_on: [{ task_key: nobody }]
          environment_key: default
          python_wheel_task: { package_name: hakiri, entry_point: hakiri-paln }
        - task_key: second
          environment_key: nowhere
          python_wheel_task: { package_name: hakiri, entry_point: hakiri-plan, parameters: ["{{job.run_id}}"] }
      environments:
        - environment_key: default
          spec: { environment_version: "4", dependencies: [polars==2.1.0] }
    adrift:
      name: adrift
      trigger: { file_arrival: { url: "/Volumes/${var.catalog}/${var.schema}/context/in/" } }
      tasks: [{ task_key: run, run_job_task: { job_id: "${resources.jobs.broken.id}" } }]
"""


@dataclass
class Deployment:
    """A copy of this repository, and the workspace that it is deployed to."""

    root: Path
    workspace: Workspace

    def bundle(self, *arguments: str, fails: bool = False) -> str:
        """What `databricks bundle` says."""
        login = {"DATABRICKS_HOST": self.workspace.url, "DATABRICKS_TOKEN": "t"}
        nobody = {"DATABRICKS_CONFIG_FILE": str(self.root / "nobody.cfg")}
        ended = subprocess.run(
            [str(CLI), "bundle", *arguments],
            cwd=self.root,
            env={**os.environ, **login, **nobody},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode != 0) is fails, ended.stdout + ended.stderr
        assert self.workspace.unknown == []
        return ended.stdout + ended.stderr

    def written(self, *arguments: str) -> list[tuple[str, str]]:
        """What `databricks bundle deploy` changes of jobs, schemas and volumes: what is done, and to what."""
        before = len(self.workspace.asked)
        self.bundle("deploy", *arguments)
        asked = [one for one in self.workspace.asked[before:] if one.is_write and RESOURCES.match(one.path)]
        return [(one.path.rpartition("/")[2], self._subject(one.document)) for one in asked]

    def _subject(self, document: dict[str, Any]) -> str:
        settings = document.get("new_settings", document)
        return str(settings.get("name", document.get("job_id"))).split()[-1]

    def replace(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@contextmanager
def checked_out(root: Path) -> Iterator[Deployment]:
    for name in TAKEN:
        shutil.copy(REPO / name, root)
    for name in TAKEN_FOLDERS:
        shutil.copytree(REPO / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".hakiri", "target"))
    for name in LEFT_OUT:
        (root / name).mkdir()
        (root / name / "left_out.md").touch()
    with open_workspace() as workspace:
        deployment = Deployment(root, workspace)
        deployment.replace("databricks.yml", "venv_path: .venv", f"venv_path: {sys.prefix}")
        yield deployment


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """What every test leaves as it found it."""
    with checked_out(tmp_path_factory.mktemp("deployed")) as deployment:
        deployment.bundle("deploy")
        yield deployment


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Deployment]:
    with checked_out(tmp_path) as deployment:
        yield deployment


HOME = f"/Workspace/Users/{USER}/.bundle/hakiri"
SUBSTITUTED = {
    "var.project": f"{HOME}/dev/files/manifests",
    "var.context": "/Volumes/main/dev_ada_hakiri/context",
    "var.tables": "main.dev_ada_hakiri",
    "var.state": "main.dev_ada_hakiri_state",
    "var.secret_scope": "",
    "var.notification_email": USER,
    "var.max_workers": "4",
    "resources.volumes.context.volume_path": "/Volumes/main/dev_ada_hakiri/context",
}
WHEEL = f"{HOME}/dev/artifacts/.internal/hakiri-0.1.0-py3-none-any.whl"


def as_deployed(job: dict[str, Any]) -> dict[str, Any]:
    """A rendered job as a development target deploys it: filled in, under another name, and paused."""
    text = re.sub(r"(\.\./)?dist/\*\.whl", WHEEL, json.dumps(job))
    filled = json.loads(re.sub(r"\$\{([^{}]+)\}", lambda found: SUBSTITUTED[found[1]], text))
    starts = {key: {**filled[key], "pause_status": "PAUSED"} for key in ("schedule", "trigger") if key in filled}
    own = {"name": f"[dev ada] {filled['name']}", "tags": {**filled.get("tags", {}), "dev": "ada"}}
    return {**filled, **starts, **own, "tasks": by_key(filled["tasks"]), "queue": {"enabled": True}}


def by_key(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(tasks, key=lambda task: str(task["task_key"]))


def given(job: dict[str, Any]) -> dict[str, Any]:
    """A job as the workspace was given it, without what the CLI adds about itself."""
    own = {key: value for key, value in job.items() if key not in ("deployment", "edit_mode", "format")}
    return {**own, "tasks": by_key(job["tasks"])}


@pytest.mark.parametrize("target", ["dev", "prod"])
def test_a_target_is_valid_in_every_respect(deployed: Deployment, target: str) -> None:
    assert "Validation OK!" in deployed.bundle("validate", "--strict", "-t", target)


def test_what_is_deployed_is_what_is_rendered(deployed: Deployment) -> None:
    here, rendered = deployed.workspace, read(deployed.root).jobs
    assert len(here.jobs) == len(rendered)
    for name, job in rendered.items():
        assert given(here.job(name)) == as_deployed(job)
    assert sorted(here.schemas) == ["main.dev_ada_hakiri", "main.dev_ada_hakiri_state"]
    assert list(here.volumes) == ["main.dev_ada_hakiri.context"]
    assert here.files[WHEEL.removeprefix("/Workspace")].startswith(b"PK")
    assert SUBSTITUTED["var.project"].removeprefix("/Workspace") + "/hakiri.toml" in here.files
    assert not any("left_out" in path for path in here.files)


def test_what_the_cli_takes_without_a_word_our_check_finds(deployed: Deployment) -> None:
    broken = deployed.root / "resources/broken.yml"
    broken.write_text(BROKEN)
    try:
        assert "Validation OK!" in deployed.bundle("validate", "--strict")
        found = {one.code for one in check(read(deployed.root))}
    finally:
        broken.unlink()
    assert found == {"HK871", "HK872", "HK873", "HK874", "HK876", "HK880", "HK881"}


def test_an_unchanged_bundle_is_deployed_without_a_write(deployed: Deployment) -> None:
    assert deployed.written() == []


def test_a_manifest_more_is_a_job_more_and_a_manifest_less_a_job_less(deployed: Deployment) -> None:
    manifest = deployed.root / "manifests/pipelines/more.toml"
    manifest.write_text(MORE)
    assert deployed.written() == [("create", "hakiri_more")]
    trigger = deployed.workspace.job("hakiri_more")["trigger"]
    assert trigger["file_arrival"]["url"] == f"{SUBSTITUTED['var.context']}/in/"
    (number,) = [key for key, job in deployed.workspace.jobs.items() if job["settings"]["name"].endswith("_more")]
    manifest.unlink()
    assert deployed.written() == [("delete", str(number))]


def test_one_pipeline_is_deployed_alone_with_a_newer_wheel_and_the_others_stay(deployed: Deployment) -> None:
    deployed.replace("manifests/hakiri.toml", "every 15m", "every 30m")
    deployed.replace("pyproject.toml", 'version = "0.1.0"', 'version = "0.1.1"')
    (deployed.root / "manifests/pipelines/events.json").rename(deployed.root / "events.json")
    before = deployed.workspace.job("hakiri_events")
    assert deployed.written("--select", "jobs.hakiri_shop,volumes.context") == [("reset", "hakiri_shop")]
    shop, events = deployed.workspace.job("hakiri_shop"), deployed.workspace.job("hakiri_events")
    assert shop["trigger"]["periodic"]["interval"] == 30
    assert events == before
    for job in (shop, events):
        (wheel,) = job["environments"][0]["spec"]["dependencies"]
        assert wheel.removeprefix("/Workspace") in deployed.workspace.files
    deployed.replace("manifests/hakiri.toml", "every 30m", "every 15m")
    deployed.replace("pyproject.toml", 'version = "0.1.1"', 'version = "0.1.0"')
    (deployed.root / "events.json").rename(deployed.root / "manifests/pipelines/events.json")
    assert deployed.written() == [("reset", "hakiri_shop")]


def test_one_pipeline_can_come_first_and_goes_without_a_trace(fresh: Deployment) -> None:
    here = fresh.workspace
    empty = set(here.folders)
    made = fresh.written("--select", "jobs.hakiri_shop,volumes.context")
    assert sorted(name for _, name in made) == ["context", "dev_ada_hakiri", "dev_ada_hakiri_state", "hakiri_shop"]
    assert "[dev ada] hakiri_shop" in fresh.bundle("summary")
    fresh.bundle("run", "hakiri_shop", "--params", "full_refresh=true")
    (run,) = here.runs.values()
    assert run["job_parameters"] == [{"name": "full_refresh", "value": "true"}]
    fresh.bundle("destroy", "--auto-approve")
    assert (here.jobs, here.schemas, here.volumes, here.files) == ({}, {}, {}, {})
    assert here.folders - empty == {f"/Users/{USER}/.bundle", f"/Users/{USER}/.bundle/hakiri"}


def test_production_runs_on_clusters_and_keeps_its_data(fresh: Deployment) -> None:
    here = fresh.workspace
    fresh.bundle("deploy", "-t", "prod", "--var", "node_type=i3.xlarge,max_workers=6")
    for name in ("hakiri_shop", "hakiri_backfill", "hakiri_maintain", "hakiri_doctor"):
        job = here.job(name)
        assert "environments" not in job
        cluster = job["job_clusters"][0]["new_cluster"]
        assert (cluster["node_type_id"], cluster["autoscale"]["max_workers"]) == ("i3.xlarge", 6)
        tasks = [(one.get("for_each_task") or {}).get("task", one) for one in job["tasks"]]
        libraries = [one["libraries"] for one in tasks if "python_wheel_task" in one]
        assert libraries == [[{"whl": WHEEL.replace("/dev/", "/prod/")}]] * len(libraries)
        assert job["run_as"] == {"user_name": USER}
    assert "prevent_destroy" in fresh.bundle("destroy", "-t", "prod", "--auto-approve", fails=True)
    assert "prevent_destroy" in fresh.bundle("deploy", "-t", "prod", "--var", "schema=other", fails=True)
    assert sorted(here.schemas) == ["main.hakiri", "main.hakiri_state"]
    assert len(here.jobs) == len(read(fresh.root).jobs)
