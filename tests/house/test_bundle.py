"""The bundle of this repository says what it is called, how it is built, and where and as whom it is deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

REPO = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bundle() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((REPO / "databricks.yml").read_text(encoding="utf-8"))
    return read


def test_a_bundle_has_a_name_and_an_identity(bundle: dict[str, Any]) -> None:
    assert bundle["bundle"]["name"] == "hakiri"
    assert str(UUID(bundle["bundle"]["uuid"])) == bundle["bundle"]["uuid"]


def test_the_wheel_is_built_by_uv(bundle: dict[str, Any]) -> None:
    (wheel,) = bundle["artifacts"].values()
    assert (wheel["type"], wheel["path"]) == ("whl", ".")
    assert wheel["build"].startswith("uv build --wheel")


def test_every_variable_is_described_and_has_a_default(bundle: dict[str, Any]) -> None:
    for name, variable in bundle["variables"].items():
        assert variable["description"].strip(), name
        assert "default" in variable, name


def test_every_variable_is_documented(bundle: dict[str, Any]) -> None:
    text = (REPO / "docs/databricks-jobs.md").read_text(encoding="utf-8")
    table = text.partition("## Variables")[2].partition("##")[0]
    assert [name for name in bundle["variables"] if f"`{name}`" not in table] == []


def test_what_is_deployed_unasked_is_a_development(bundle: dict[str, Any]) -> None:
    assert list(bundle["targets"]) == ["dev", "prod"]
    assert bundle["targets"]["dev"] == {"mode": "development", "default": True}


def test_production_says_where_it_is_and_whose(bundle: dict[str, Any]) -> None:
    prod = bundle["targets"]["prod"]
    assert prod["mode"] == "production"
    assert prod["workspace"]["root_path"].startswith("/Workspace/Users/")
    assert prod["run_as"].keys() <= {"user_name", "service_principal_name"}
    assert len(prod["run_as"]) == 1
    assert [one["level"] for one in prod["permissions"]] == ["CAN_MANAGE"]


def test_production_keeps_what_pipelines_have_landed(bundle: dict[str, Any]) -> None:
    kept = bundle["targets"]["prod"]["resources"]
    named = [one for kind in ("schemas", "volumes") for one in kept[kind].values()]
    assert sorted((*kept["schemas"], *kept["volumes"])) == ["context", "state", "tables"]
    assert all(one["lifecycle"] == {"prevent_destroy": True} for one in named)
