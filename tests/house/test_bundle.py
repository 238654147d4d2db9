"""The bundle names only what there is: entry points of the wheel, environments of the job, files of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml

REPO = Path(__file__).parents[2]
BUNDLE = yaml.safe_load((REPO / "databricks.yml").read_text())
JOBS: dict[str, dict[str, Any]] = {
    name: job
    for pattern in BUNDLE["include"]
    for path in sorted(REPO.glob(pattern))
    for name, job in yaml.safe_load(path.read_text())["resources"].get("jobs", {}).items()
}


def test_every_include_finds_files() -> None:
    assert all(list(REPO.glob(pattern)) for pattern in BUNDLE["include"])
    assert JOBS


@pytest.mark.parametrize("name", JOBS)
def test_every_task_runs_an_entry_point_of_the_wheel_in_an_environment_of_the_job(name: str) -> None:
    scripts = tomli.loads((REPO / "pyproject.toml").read_text())["project"]["scripts"]
    environments = {environment["environment_key"] for environment in JOBS[name]["environments"]}
    for task in JOBS[name]["tasks"]:
        assert task["python_wheel_task"]["package_name"] == "hakiri"
        assert task["python_wheel_task"]["entry_point"] in scripts
        assert task["environment_key"] in environments
