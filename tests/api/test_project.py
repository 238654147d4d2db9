"""The Python API does through `import hakiri as hk` what the commands do, and shows it in a notebook."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import hakiri as hk
from hakiri.results import ApplyResult, Rows, Shown
from projects import MakeProject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANIFEST = """\
[project]
name = "api"
[[pipeline]]
id = "shop"
source = { connector = "files", config = { path = "." } }
incremental = { column = "day" }
quality = { row_level = [{ type = "range", field = "price", max = 100, on_fail = "skip" }] }
[[pipeline.tables]]
name = "orders"
columns = [{ name = "id", type = "bigint" }, { name = "price", type = "double" }, { name = "day", type = "date" }, \
{ name = "note", type = "string" }]
"""
ORDERS = """\
id,price,day,note
1,10,2026-01-01,<b>bold</b>
2,20,2026-01-02,plain
3,900,2026-01-03,dear
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("api")
    (root / "hakiri.toml").write_text(MANIFEST)
    (root / "orders").mkdir()
    (root / "orders" / "first.csv").write_text(ORDERS)
    return root


@pytest.fixture(scope="module")
def applied(folder: Path, spark: SparkSession) -> ApplyResult:
    assert spark
    return hk.open(folder).apply("shop")


@pytest.fixture
def project(folder: Path, applied: ApplyResult) -> hk.Project:
    assert applied.is_ok
    return hk.open(folder)


def test_importing_hakiri_loads_neither_spark_nor_polars() -> None:
    program = "import sys, hakiri; print(*sorted(name for name in sys.modules if name.startswith('hakiri')))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["hakiri"]


def test_every_public_name_is_there_and_no_other() -> None:
    assert [name for name in hk.__all__ if getattr(hk, name) is None] == []
    with pytest.raises(AttributeError, match="`nothing`"):
        hk.nothing  # noqa: B018 the access is the test


def test_a_plan_has_the_chunks_the_columns_and_the_text_of_the_command(project: hk.Project) -> None:
    plan = project.plan("shop", full_refresh=True)
    assert [(one.id, one.reads) for one in plan.chunks] == [("0002-00001", "orders/first.csv")]
    assert [(one.name, one.type) for one in plan.columns][:2] == [("id", "bigint"), ("price", "double")]
    assert plan.has_work
    assert plan.document["pipelines"]
    assert str(plan).startswith("shop: ")
    assert "To do: 1 chunk of 1 table" in str(plan)


def test_an_apply_tells_what_landed(applied: ApplyResult) -> None:
    (run,) = applied.runs
    assert (run.pipeline, run.status, run.rows, run.rows_read) == ("shop", "succeeded", 2, 3)
    (landing,) = run.landings
    assert (landing.table, landing.number, landing.rows, landing.quarantined) == ("orders", 1, 2, 1)
    assert re.search(r"^shop +succeeded +3 +2 ", str(applied), re.MULTILINE)


def test_status_runs_and_journal_are_of_that_run(project: hk.Project, applied: ApplyResult) -> None:
    status = project.status()["shop"]
    assert (status.phase, status.done, status.rows, status.latest_status) == ("streaming", 1, 2, "succeeded")
    (run,) = project.runs("shop")
    assert run.run == applied.runs[0].run == status.latest_run
    events = [one.event for one in project.journal(run.run[:-2])]
    assert (events[0], events[-1]) == ("run_started", "run_ended")
    staged = next(one for one in project.journal(run.run) if one.event == "chunk_staged")
    assert staged.facts["table"] == "orders"


def test_landed_rows_are_asked_in_sql(project: hk.Project) -> None:
    answer = project.sql("select id, price from orders order by id")
    assert answer == Rows(("id", "price"), ((1, 10.0), (2, 20.0)))
    assert project.sql("select id from orders", limit=1).has_more
    assert answer.to_polars()["price"].to_list() == [10.0, 20.0]
    assert project.quarantine() == {"orders_quarantine": {"range:price": 1}}


def test_a_table_has_its_landings_its_cursor_and_its_rows(project: hk.Project) -> None:
    table = project.table("orders")
    assert table == project.table("shop.orders")
    assert [(one.number, one.status, one.version) for one in table.landings] == [(1, "landed", 0)]
    assert [(one.id, one.generation, one.status) for one in table.chunks] == [("0001-00001", 1, "done")]
    assert len(table.schema_log) == 1
    assert table.sql_name.startswith("delta.`")
    assert len(table.rows(limit=1)) == 1
    with pytest.raises(hk.HakiriError, match="no table `order`"):
        project.table("order")


def test_one_chunk_is_debugged_without_the_catalog(project: hk.Project, tmp_path: Path) -> None:
    chunk = project.chunk("shop", "orders")
    found = chunk.debug(rows=1)
    assert (found.tally["read"], found.tally["staged"], found.tally["quarantined"]) == (3, 2, 1)
    assert sum(found.broken.values()) == 1
    assert found.staged["id"].to_list() == [1]
    assert isinstance(found.quarantined, pl.DataFrame)
    kept = chunk.debug(folder=tmp_path)
    assert [(tmp_path / file).exists() for file in kept.files] == [True, True]
    assert len(project.runs("shop")) == 1
    with pytest.raises(hk.HakiriError, match="no chunk `9`"):
        project.chunk("shop", "orders", 9)


def test_an_error_ends_with_its_whole_report(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": MANIFEST.replace("incremental", "incremantal")})
    with pytest.raises(hk.HakiriError) as raised:
        hk.open(root)
    (note,) = raised.value.__notes__
    assert "hakiri.toml:6" in note
    assert "did you mean `incremental`?" in note


def test_a_manifest_that_is_edited_counts_from_the_next_call_on(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": MANIFEST})
    project = hk.open(root)
    (root / "hakiri.toml").write_text(MANIFEST.replace('id = "shop"', 'id = "store"'))
    assert [one.id for one in project.pipelines()] == ["store"]
    assert project.settings_of("store")["incremental"]["column"] == "day"


@pytest.mark.usefixtures("spark")
def test_an_apply_that_left_work_undone_raises_unless_told_otherwise(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": MANIFEST.replace('path = "."', 'path = "nowhere"')})
    project = hk.open(root)
    with pytest.raises(hk.HakiriError) as raised:
        project.apply()
    assert "failed" in raised.value.__notes__[0]
    result = project.apply(raises=False)
    assert not result.is_ok
    assert result.errors[0].code in str(result)


def test_a_rewind_names_the_chunks_to_read_again(make_project: MakeProject) -> None:
    project = hk.open(make_project({"hakiri.toml": MANIFEST}))
    assert project.rewind("shop", "2026-01-01", "2026-02-01", reason="RT-481").chunks == {}
    with pytest.raises(hk.HakiriError):
        project.rewind("shop", reason=" ")


def test_results_are_frozen_and_escape_what_they_show(project: hk.Project) -> None:
    shown: list[Shown] = [
        project.pipelines(),
        project.plan(),
        project.status(),
        project.runs(),
        project.sql("select note from orders order by id"),
        project.table("orders"),
        project.chunk("shop", "orders").debug(),
        project.journal(project.runs().runs[0].run),
    ]
    for result in shown:
        html = result._repr_html_()
        assert re.search(r"<(table|pre)>", html)
        assert "<b>" not in html
        assert str(result) == repr(result) != ""
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, dataclasses.fields(result)[0].name, None)  # type: ignore[arg-type]
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown[4]._repr_html_()
    assert "<b>bold</b>" in str(shown[4])
    assert json.dumps(project.plan().document)
