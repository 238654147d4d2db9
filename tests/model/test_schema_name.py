"""A schema may be called whatever Unity Catalog takes, and every statement names it in quotes."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from hakiri import wiring
from hakiri.catalog.delta.spark import SparkExecutor
from hakiri.engine.probe import exercise
from hakiri.jobs.parameters import parse
from hakiri.land.target import quarantine_of, sql_name
from hakiri.model.schema_name import check_schema, check_table, quote_schema
from hakiri.run.manifest import relocate
from hakiri.settings import Settings
from hakiri.wiring import parts
from projects import MakeProject

NAME = "my-catalog.hakiri-eu"
QUOTED = "`my-catalog`.`hakiri-eu`"
PROJECT = f"""\
[project]
name = "test"

[context]
tables = "{NAME}"

[[pipeline]]
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
tables = ["orders"]
triggers = [{{ type = "table_update", tables = ["my-catalog.raw-eu.events"] }}]
"""


@pytest.mark.parametrize("name", ["hakiri", "main.hakiri", NAME, "dev_ana-maria.größe", "a" * 255])
def test_a_schema_may_be_called_so(name: str) -> None:
    assert check_schema(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "a.", "a b", "a/b", "a.b.c", "a\tb", "a\x7fb", "a\u00a0b", "a`b", "a;b", "${var.tables}", "a" * 256],
)
def test_a_schema_may_not_be_called_so(name: str) -> None:
    with pytest.raises(ValueError, match="is not a schema"):
        check_schema(name)


def test_a_table_has_one_part_more() -> None:
    assert check_table(f"{NAME}.orders") == f"{NAME}.orders"
    with pytest.raises(ValueError, match="is not a table"):
        check_table(f"{NAME}.orders.more")


def test_a_task_takes_such_a_schema() -> None:
    given = parse("hakiri-doctor", ["--project", "x", "--tables", NAME, "--state", f"{NAME}_state"])
    assert (given.tables, given.state) == (NAME, f"{NAME}_state")


def test_a_landed_table_is_named_in_quotes(make_project: MakeProject) -> None:
    root = make_project({"hakiri.toml": PROJECT})
    project = wiring.workplace(Settings(cwd=root, project=root)).read()
    target = wiring.target(project, "orders")
    assert sql_name(target) == f"{QUOTED}.`orders`"
    assert sql_name(quarantine_of(target)) == f"{QUOTED}.`orders_quarantine`"
    moved = relocate(project, tables="other-one.lake")
    assert sql_name(wiring.target(moved, "orders")) == "`other-one`.`lake`.`orders`"


def statements(session: MagicMock) -> list[str]:
    return [str(call.args[0]) for call in session.sql.call_args_list]


def test_the_catalog_names_its_schema_in_quotes() -> None:
    session: Any = MagicMock()
    session.sql.return_value.collect.return_value = []
    SparkExecutor(session, NAME)
    named, listed, probed = statements(session)
    assert (named, listed) == (f"DESCRIBE SCHEMA {QUOTED}", f"SHOW TABLES IN {QUOTED}")
    assert f" {QUOTED}.`chunks` " in probed


def test_a_probe_names_its_schema_in_quotes() -> None:
    session: Any = MagicMock()
    next(steps := exercise(session, schema=NAME))
    steps.close()
    (dropped,) = statements(session)
    assert dropped.startswith(f"DROP TABLE IF EXISTS {QUOTED}.`hakiri_probe_")


def test_whether_a_catalog_is_there_is_asked_in_quotes(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project({"hakiri.toml": PROJECT})
    session: Any = MagicMock()
    session.catalog.databaseExists.return_value = False
    monkeypatch.setattr(parts, "open_session", lambda _engine: session)
    settings = Settings(cwd=root, project=root)
    project = relocate(wiring.workplace(settings).read(), state=NAME)
    with wiring.existing_catalog(settings, project) as catalog:
        assert catalog is None
    session.catalog.databaseExists.assert_called_once_with(QUOTED)


def test_a_quote_in_a_name_does_not_end_it() -> None:
    assert quote_schema("a`b") == "`a``b`"
