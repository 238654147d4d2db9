"""Every notebook runs from top to bottom, and uses the public API alone."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hakiri
from commands import run_script
from hakiri.run import extract_chunks as work
from hakiri.wiring import places
from volumes import volume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from connect_servers import ConnectServer

REPO = Path(__file__).parents[2]
NOTEBOOKS = REPO / "notebooks"


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, connect: ConnectServer) -> None:
    """As in a workspace, where the Spark is there already."""
    require_run(notebook, SPARK_REMOTE=connect.address)


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_uses_the_public_api_and_nothing_behind_it(notebook: Path) -> None:
    tree = ast.parse(notebook.read_text())
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imported += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert [name for name in imported if name.split(".")[0] == "hakiri"] == ["hakiri"]
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "hk"
    }
    assert used <= set(hakiri.__all__)


@pytest.mark.exhaustive
@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs_on_a_laptop(notebook: Path) -> None:
    require_run(notebook)


def require_run(notebook: Path, **environment: str) -> None:
    """Run the notebook in a process of its own."""
    assert notebook.read_text().startswith("# Databricks notebook source\n")
    ended = run_script(notebook, environment=environment, cwd=REPO)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


@pytest.mark.exhaustive  # a catalog in tables takes minutes where others work
def test_history_is_read_and_read_again_on_a_volume_and_in_schemas(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()  # here, where the volume is one

    monkeypatch.setattr(work, "call_on_executor", call)
    monkeypatch.setattr(places, "is_runtime", lambda: True)
    (tmp_path / "driver").mkdir()
    (tmp_path / "volume").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "driver"))
    text = (NOTEBOOKS / "backfill_and_rewind.py").read_text()
    for constant, filled in {
        "FOLDER: Path | None = None": f"FOLDER = Path({str(tmp_path / 'volume')!r})",
        'CATALOG = ""': 'CATALOG = "spark_catalog"',
    }.items():
        assert constant in text
        text = text.replace(constant, filled)
    with volume(tmp_path / "volume"):
        exec(compile(text, "backfill_and_rewind.py", "exec"), {"__name__": "__main__"})  # noqa: S102 our own
    told = capsys.readouterr().out
    assert "182 rows read, 151 landed" in told
    assert "rows that are there twice: 0" in told
    assert told.count("2024-03") == 2, "after the rewind, and after the full refresh"
    assert told.count("2024-01 ") == 2, "until the full refresh"
    assert not list((tmp_path / "volume").iterdir())
    assert not spark.sql("SHOW SCHEMAS LIKE 'hakiri_rewind*'").collect()
