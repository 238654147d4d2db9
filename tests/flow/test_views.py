"""Views over whole applies: made once their tables have landed, asked without Spark, refreshed where a hook does it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from flow.stand import Stand, change
from hakiri.cli.main import run as run_command

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
retry = { max_attempts = 1 }
tables = ["orders", { name = "people", load = { post_hook = { type = "refresh_mat_view", view = "kept" } } }]
"""
VIEWS = {
    "views/both.sql": "SELECT o.id, p.Name FROM orders AS o JOIN people AS p ON p.id = o.person",
    "views/named.sql": "SELECT Name FROM people",
    "views/kept.sql": "SELECT name, count(*) AS n FROM named GROUP BY name",
    "views/over.sql": "SELECT max(n) AS most FROM kept",
}


def test_views_follow_their_tables(
    make_stand: Callable[[Mapping[str, str]], Stand], capsys: pytest.CaptureFixture[str]
) -> None:
    stand = make_stand({"pipelines/shop.toml": PIPELINE, **VIEWS})
    shop = stand.root / "shop.sqlite"
    change(shop, "CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER)", "INSERT INTO orders VALUES (1, 7)")
    change(shop, "CREATE TABLE people (id INTEGER, Name TEXT)", "INSERT INTO people VALUES (7, 'Ada')")

    def hakiri(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run_command([arguments[0], "--project", str(stand.root), "--json", *arguments[1:]])
        return code, json.loads(capsys.readouterr().out)

    code, told = hakiri("apply")
    assert (code, told["views"]["errors"]) == (0, [])
    assert [one["view"] for one in told["views"]["done"]] == ["both", "named", "over"]
    assert hakiri("sql", "select * from both") == (0, [{"id": 1, "Name": "Ada"}])
    assert hakiri("sql", "select most from over, kept") == (0, [{"most": 1}])
    change(shop, "INSERT INTO orders VALUES (2, 7)", "INSERT INTO people VALUES (8, 'Ada')")
    (stand.root / "views/over.sql").write_text("SELECT nope FROM kept")
    code, told = hakiri("apply")
    assert (code, [error["code"] for error in told["views"]["errors"]]) == (1, ["HK830"])
    assert told["runs"][0]["status"] == "succeeded"
    assert hakiri("sql", "select count(*) as n from both") == (0, [{"n": 2}])
    assert hakiri("sql", "select * from over") == (0, [{"most": 2}]), "as it was made, over what the hook has kept"
