"""The tour is true: every command of the README and of docs/tour.md runs, in order, in a fresh copy, as shown there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from connect_servers import ConnectServer

REPO = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def tour() -> Iterator[tuple[str, str]]:
    """Yield each command of the pages' console blocks with the output shown below it."""
    pages = "\n".join((REPO / page).read_text() for page in ("README.md", "docs/tour.md"))
    for block in BLOCK.findall(pages):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


DIFFERS = {
    r"\d{8}T\d{6}-[0-9a-f]{8}": "RUN",
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME",
    r"\d{4}-\d\d-\d\d \d\d:\d\d": "TIME",
    r"started on \S+": "started on NODE",
    r"\b(?:\d+m )?\d+(?:\.\d+)?s\b": "SPAN",
    r"[\d.]+ (?:B|KiB|MiB|GiB)\b": "SIZE",
    r"─+": "─",
    r" {2,}": "  ",  # a column is as wide as what is in it
}


def alike(text: str) -> str:
    """The text without what differs from run to run: times, sizes, names of runs, and white space.

    Lines of several pipelines come in any order, of chunks that end within a second one is printed, and a pipeline
    waits for Spark only where no other one has started it.
    """
    for pattern, name in DIFFERS.items():
        text = re.sub(pattern, name, text)
    lines = [line.rstrip() for line in text.strip().splitlines()]
    told = sorted(line for line in lines if line.startswith("TIME") and not re.search(" staged, | Spark", line))
    return "\n".join([*told, *(line for line in lines if not line.startswith("TIME"))])


def test_the_tour_runs_and_prints_what_the_readme_shows(tmp_path: Path, connect: ConnectServer) -> None:
    """The first apply starts a Spark of its own, as it does for a reader; the others find one running."""
    for name in ("manifests", "fixtures", "databricks.yml", "pyproject.toml", "README.md", "src"):
        source = REPO / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns(".hakiri", "__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    # The environment is the one this test runs in: the copy is looked at, not installed.
    ours = {"UV_NO_SYNC": "1", "UV_PROJECT_ENVIRONMENT": str(REPO / ".venv"), "COLUMNS": "120"}
    environment = {**os.environ, **ours}
    environment.pop("VIRTUAL_ENV", None)
    steps = list(tour())
    assert steps
    for command, shown in steps:
        ended = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert alike(ended.stdout + ended.stderr) == alike(shown), command
        if command.startswith("uv run hakiri apply"):
            environment["SPARK_REMOTE"] = connect.address
