"""A small bundle around a project, for tests to break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hakiri import wiring
from hakiri.bundle.check import check
from hakiri.bundle.files import Bundle, read_bundle
from hakiri.bundle.job import all_tasks
from hakiri.errors import BundleError
from hakiri.settings import Settings

REPO = Path(__file__).parents[2]

PROJECT = """\
[project]
name = "test"

[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = ["orders"]
"""


def repo_files(**changed: str) -> dict[str, str]:
    """The bundle of this repository with another project, and with these files in place of its own."""
    paths = [REPO / "databricks.yml", *sorted((REPO / "resources").glob("*.yml"))]
    files = {str(path.relative_to(REPO)): path.read_text() for path in paths}
    return {**files, "hakiri.toml": PROJECT, **changed}


def read(root: Path) -> Bundle:
    settings = Settings(cwd=root, project=root)
    return read_bundle(wiring.workplace(settings).read())


def faults(root: Path) -> list[BundleError]:
    return list(check(read(root)))


def task(bundle: Bundle, job: str, key: str) -> dict[str, Any]:
    """One task of a job, inside a loop or not."""
    return next(one for one in all_tasks(bundle.jobs[job]) if one["task_key"] == key)
