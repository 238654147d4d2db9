"""What `apply` and `plan` advise about chunks that failed for good is one command, and that command helps."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Hakiri
from projects import MakeProject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOML = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.db" } }
tables = ["orders"]
quality = { row_level = [{ type = "not_null", field = "note", on_fail = "abort" }] }
"""


def change(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(root / "shop.db")) as source, source:
        source.execute(statement)


def test_plan_and_apply_give_the_same_advice_about_failed_chunks_and_it_helps(
    make_project: MakeProject, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    assert spark
    root = make_project({"hakiri.toml": TOML})
    monkeypatch.chdir(root)
    change(root, "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
    change(root, "INSERT INTO orders VALUES (1, NULL)")
    told = [hakiri("apply").err, hakiri("plan").out, hakiri("apply").err]
    commands = [re.findall(r"`hakiri ([^`]*)`", text) for text in told]
    assert commands == [["run shop --retry-failed"]] * len(told)
    change(root, "UPDATE orders SET note = 'mended'")
    assert hakiri(*commands[0][0].split()).code == 0
    assert hakiri("sql", "select note from orders", "--json").json() == [{"note": "mended"}]
    assert "--retry-failed" not in hakiri("plan").out
