"""`hakiri doctor` looks at everything it can, says what to do about what is ill, and leaves with the right code."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from hakiri.model.chunk import Chunk, ChunkKey, Failure, FailureKind, TableKey, Window
from hakiri.model.ledger import Pipeline, Run, RunStatus
from hakiri.model.span import WholeTable
from hakiri.model.types import LONG, Field, Struct
from hakiri.plan.reading import Reading, to_json
from hakiri.run.schema_history import SchemaDecision
from hakiri.settings import Settings
from hakiri.wiring import services, workplace
from projects import MakeProject

PIPELINE = """\
[project]
name = "test"
[[pipeline]]
id = "orders"
source = { connector = "x", config = { token = "${secret:ORDERS_TOKEN}" } }
secrets = ["ORDERS_TOKEN"]
tables = ["orders"]
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": PIPELINE})
    monkeypatch.chdir(root)
    # An empty folder of jars: Spark is not started, and why is a finding like any other.
    (root / "jars").mkdir()
    monkeypatch.setenv("HAKIRI_JARS", "jars")
    monkeypatch.delenv("ORDERS_TOKEN", raising=False)
    return root


def findings(hakiri: Hakiri) -> dict[str, tuple[str, str]]:
    answer = hakiri("doctor", "--json")
    assert answer.code == 1
    return {one["name"]: (one["health"], one["detail"]) for one in answer.json()["findings"]}


@pytest.mark.usefixtures("project")
def test_what_is_ill_is_told_with_what_to_do(hakiri: Hakiri) -> None:
    found = findings(hakiri)
    assert found["manifests"] == ("ok", "project test, pipelines: 1")
    assert found["disk"][0] == "ok"
    assert found["secrets of orders"][0] == "failed"
    assert "set the environment variable ORDERS_TOKEN" in found["secrets of orders"][1]
    assert found["delta jars"][0] == "failed"
    assert "HAKIRI_JARS" in found["delta jars"][1]
    assert found["spark: start"] == ("not looked at", "needs delta jars")


@pytest.mark.usefixtures("project")
def test_a_secret_that_is_set_is_named_and_not_shown(hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDERS_TOKEN", "hunter2-hunter2")
    assert findings(hakiri)["secrets of orders"] == ("ok", "ORDERS_TOKEN set")


def test_an_invalid_project_does_not_keep_spark_from_being_looked_at(project: Path, hakiri: Hakiri) -> None:
    (project / "hakiri.toml").write_text("[project")
    found = findings(hakiri)
    assert found["manifests"][0] == "failed"
    assert "hakiri.toml:1" in found["manifests"][1]
    assert "delta jars" in found


def test_a_reference_of_the_engine_that_leads_nowhere_is_a_finding(
    project: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_REMOTE", raising=False)
    (project / "hakiri.toml").write_text('[project]\nname = "test"\n[engine]\nremote = "${env:NO_SUCH_REMOTE}"\n')
    assert "${env:NO_SUCH_REMOTE} has no value" in findings(hakiri)["spark settings"][1]


@pytest.mark.usefixtures("project")
def test_the_text_says_the_same(hakiri: Hakiri) -> None:
    answer = hakiri("doctor")
    assert answer.code == 1
    assert "failed  secrets of orders" in answer.out
    assert "help: set the environment variable ORDERS_TOKEN" in answer.out
    assert "all well" not in answer.out


ODD = ', { name = "odd", columns = ["id", { name = "seen", type = "bigint" }] }'
SHOP = f"""\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.db" }} }}
tables = ["orders", "cities"{ODD}]
incremental = "seen"
"""


@pytest.fixture
def shop(project: Path) -> Path:
    (project / "hakiri.toml").write_text(SHOP)
    with closing(sqlite3.connect(project / "shop.db")) as source, source:
        source.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, seen TIMESTAMP)")
        source.execute("CREATE TABLE cities (id INTEGER PRIMARY KEY, seen TIMESTAMP)")
        source.execute("CREATE INDEX cities_seen ON cities (seen)")
        source.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, seen TEXT)")
    return project


@pytest.mark.usefixtures("shop")
def test_each_table_that_is_refused_or_has_no_index_on_its_cursor_is_a_finding(hakiri: Hakiri) -> None:
    found = findings(hakiri)
    assert found["shop: cities"] == ("ok", "can be planned")
    assert found["shop: orders"][0] == "caution"
    assert "orders: the source has no index on the cursor `seen`" in found["shop: orders"][1]
    assert found["shop: odd"][0] == "failed"
    assert "error[HK615]" in found["shop: odd"][1]
    assert found["last run of shop"] == ("ok", "none yet")
    assert "warn    shop: orders" in hakiri("doctor").out


def test_failed_chunks_and_a_failed_run_are_findings_with_the_command_that_helps(shop: Path, hakiri: Hakiri) -> None:
    (shop / "hakiri.toml").write_text(SHOP.replace(ODD, ""))
    settings = Settings(cwd=shop)
    key = ChunkKey("shop", "orders", "0001-00001")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with services(settings, workplace(settings).read()) as parts:
        parts.catalog.register(Pipeline("shop"))
        parts.catalog.add_chunks([Chunk(key, ordinal=0, window=Window(), predicate=to_json(Reading(WholeTable())))])
        (lease,) = parts.catalog.claim("shop", node="n")
        parts.catalog.fail(lease, Failure(FailureKind.PERMANENT, message="it broke"))
        parts.catalog.record_run(Run("r1", "shop", RunStatus.RUNNING, now))
        parts.catalog.record_run(Run("r1", "shop", RunStatus.FAILED, now, finished_at=now, error="HK851: it broke"))
    found = findings(hakiri)
    advice = "once the cause is fixed, `hakiri run shop --retry-failed` tries them again"
    assert found["shop: orders"][0] == "failed"
    assert "error[HK851]" in found["shop: orders"][1]
    assert advice in found["shop: orders"][1]
    assert "error[HK127]: the last run of `shop` failed: HK851: it broke" in found["last run of shop"][1]
    assert "hakiri journal r1" in found["last run of shop"][1]
    assert advice in hakiri("plan", "shop").out, "plan gives the same advice"


def test_a_table_that_cannot_take_what_its_source_has_now_is_a_finding(shop: Path, hakiri: Hakiri) -> None:
    (shop / "hakiri.toml").write_text(SHOP.replace(ODD, ""))
    settings = Settings(cwd=shop)
    landed = SchemaDecision(columns=Struct((Field("id", LONG), Field("seen", LONG))), key=("id",))
    with services(settings, workplace(settings).read()) as parts:
        parts.catalog.register(Pipeline("shop"))
        parts.catalog.append_schema(TableKey("shop", "cities"), landed.to_text(), after=0)
    found = findings(hakiri)
    assert found["shop: cities"][0] == "failed"
    assert "error[HK803]" in found["shop: cities"][1]
    assert "`seen`" in found["shop: cities"][1]
    assert found["shop: orders"][0] == "caution"
