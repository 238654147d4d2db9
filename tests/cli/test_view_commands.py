"""Views in a plan, in an apply and in a query, as a user meets them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from cli.conftest import Hakiri
from hakiri import wiring
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.settings import Settings
from projects import MakeProject

TOML = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = ["orders"]
"""
DAILY = "SELECT city, count(*) AS N FROM Orders GROUP BY city"

Land = Callable[[], None]


@pytest.fixture
def land(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Land:
    """A shop of which nothing has landed yet, and a way to have it landed; no pipeline runs, so no Spark is started."""
    root = make_project({"hakiri.toml": TOML, "views/daily.sql": DAILY})
    with closing(sqlite3.connect(root / "shop.sqlite")) as source:
        source.execute("CREATE TABLE orders (id INTEGER, city TEXT)")
    monkeypatch.chdir(root)
    monkeypatch.setattr("hakiri.run.apply._run_all", lambda *_: ())
    settings = Settings(cwd=root)
    project = wiring.workplace(settings).read()

    def land() -> None:
        table = pa.table({"id": [1, 2, 3], "city": ["a", "b", "a"], "seen": pa.array([0, 0, 0], pa.timestamp("us"))})
        write_deltalake(f"{wiring.tables_root(project)}/orders", table)
        with wiring.services(settings, project) as parts:
            landing = Landing(TableKey("shop", "orders"), 1, (), LandingStatus.LANDED, version=0)
            parts.catalog.restore_landing(landing)

    return land


def write(text: str, name: str = "daily") -> None:
    Path("views", f"{name}.sql").write_text(text, encoding="utf-8")


def test_a_view_is_planned_applied_and_asked(hakiri: Hakiri, land: Land) -> None:
    assert "  + daily (create, once `orders` landed)" in hakiri("plan").out
    early = hakiri("apply", "--json")
    assert (early.code, early.json()["views"]["waiting"]) == (0, [{"view": "daily", "waits_for": ["orders"]}])
    missing = hakiri("sql", "select * from daily")
    assert (missing.code, "error[HK657]: `daily` has not landed yet" in missing.err) == (1, True)
    land()
    assert hakiri("plan", "--json").json()["views"] == [{"view": "daily", "change": "create", "waits_for": []}]
    assert "  view daily: created" in hakiri("apply").out.splitlines()
    assert "views:" not in hakiri("plan").out
    assert hakiri("sql", "select * from daily order by city", "--json").json() == [
        {"city": "a", "N": 2},
        {"city": "b", "N": 1},
    ]


def test_a_view_that_no_longer_binds_fails_the_apply_and_answers_as_before(hakiri: Hakiri, land: Land) -> None:
    land()
    hakiri("apply")
    write("SELECT town FROM orders")
    failed = hakiri("apply")
    assert failed.code == 1
    assert "error[HK830]: the view `daily` does not fit" in failed.err
    assert "its former definition stays" in failed.err
    assert hakiri("apply", "--json").json()["views"]["errors"][0]["code"] == "HK830"
    assert len(hakiri("sql", "select * from daily", "--json").json()) == 2


def test_views_over_views_are_asked_over_what_was_made_of_them(hakiri: Hakiri, land: Land) -> None:
    land()
    write("SELECT CITY, n * 10 AS ten FROM Daily", "ten")
    hakiri("apply")
    write("SELECT city, 0 AS n FROM orders")
    asked = "with orders as (select 7 as x) select ten, x from ten, orders where city = 'a'"
    assert hakiri("sql", asked, "--json").json() == [{"ten": 20, "x": 7}], "its own `orders` is not the views'"
    Path("views/ten.sql").unlink()
    assert "  view ten: dropped" in hakiri("apply").out
    gone = hakiri("sql", "select * from tenn")
    assert "did you mean" not in gone.err
    assert "did you mean `daily`?" in hakiri("sql", "select * from dayly").err


def test_what_only_spark_can_answer_is_told(hakiri: Hakiri, land: Land) -> None:
    land()
    write("SELECT date_format(seen, 'yyyy') AS y FROM orders")
    failed = hakiri("apply")
    assert (failed.code, "is answered by Spark alone" in failed.err) == (1, True)


def test_the_check_knows_the_views(hakiri: Hakiri, land: Land) -> None:
    assert land
    assert hakiri("check").out.endswith("1 pipeline: shop; 1 view: daily\n")
    assert hakiri("check", "--json").json()["views"] == ["daily"]
    write("SELECT 1\nFROM order")
    wrong = hakiri("check")
    assert (wrong.code, "--> views/daily.sql:2" in wrong.err) == (1, True)
    assert "did you mean `orders`?" in wrong.err


def test_a_sealed_plan_covers_the_views(hakiri: Hakiri, land: Land) -> None:
    land()
    assert hakiri("plan", "--out", "plan.json").code == 0
    write("SELECT count(*) AS n FROM orders")
    moved = hakiri("apply", "--plan", "plan.json")
    assert (moved.code, "error[HK601]" in moved.err) == (1, True)
    write(DAILY)
    assert "  view daily: created" in hakiri("apply", "--plan", "plan.json").out
