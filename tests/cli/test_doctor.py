"""`hakiri doctor` looks at everything it can, says what to do about what is ill, and leaves with the right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Hakiri
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
    assert "nothing is set for ${env:NO_SUCH_REMOTE}" in findings(hakiri)["spark settings"][1]


@pytest.mark.usefixtures("project")
def test_the_text_says_the_same(hakiri: Hakiri) -> None:
    answer = hakiri("doctor")
    assert answer.code == 1
    assert "failed  secrets of orders" in answer.out
    assert "help: set the environment variable ORDERS_TOKEN" in answer.out
    assert "all well" not in answer.out
