"""Every notebook runs from top to bottom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


@pytest.mark.parametrize("notebook", sorted((REPO / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    assert notebook.read_text().startswith("# Databricks notebook source\n")
    ended = subprocess.run([sys.executable, str(notebook)], cwd=REPO, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
