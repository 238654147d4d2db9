"""What is wrong with a hook is told at the check, with file and line, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hakiri.model.installed import ConnectorFacts
from hakiri.spec.errors import InvalidProject, UnknownFunction
from hakiri.spec.read import Project, read_project
from projects import MakeProject

PROJECT = '[project]\nname = "p"\n[engine]\nkind = "local"\n[hooks]\nwebhook_hosts = ["*.example.com"]\n'
PIPELINE = """\
id = "shop"
source = { connector = "x" }
secrets = ["KEY"]
destination = { namespace = "crm" }
tables = ["orders", { name = "people", load = { mode = "truncate" } }]
[load]
HOOK
"""


def channel_of_text(args: Mapping[str, Any]) -> tuple[str, ...]:
    return () if isinstance(args.get("channel"), str) else ("its argument `channel` is missing",)


@pytest.fixture
def check(make_project: MakeProject) -> Any:
    def check(hook: str, **files: str) -> Project:
        pipeline = PIPELINE.replace("HOOK", hook)
        root: Path = make_project(
            {"hakiri.toml": PROJECT, "pipelines/shop.toml": pipeline, **{f"views/{k}.sql": v for k, v in files.items()}}
        )
        facts = {"x": ConnectorFacts()}
        return read_project(root, connectors=facts, shown_from=root, functions={"notify": channel_of_text})

    return check


@pytest.mark.parametrize(
    ("hook", "line", "why"),
    [
        ('post_hook = { type = "sql", statement = "OPTIMIZE people" }', 7, "only name the table that lands"),
        ('post_hook = { type = "sql", statement = "OPTIMIZE orders" }', 7, "only name the table that lands"),
        ('mode = "append"\npre_hook = [{ type = "sql", statement = "INSERT INTO x VALUES (1)" }]', 8, "may not INSERT"),
        (
            'post_hook = { type = "webhook", url = "https://hooks.example.org/" }',
            7,
            "sent to `hooks.example.org`",
        ),
        ('post_hook = { type = "webhook", url = "https://a.example.com:22/" }', 7, "may not be sent to"),
        ('post_hook = { type = "webhook", url = "https://169.254.169.254/" }', 7, "not an IP address"),
        ('post_hook = { type = "webhook", url = "https://a.example.com/", secret = "in clear" }', 7, "secret"),
        ('post_hook = { type = "webhook", url = "https://a.example.com/", secret = "${secret:OTHER}" }', 7, "OTHER"),
        ('post_hook = { type = "webhook", url = "https://a.example.com/", timeout = "1h" }', 7, "five minutes"),
        ('post_hook = { type = "custom_function", function = "os.system" }', 7, "a registered name"),
        ('post_hook = { type = "custom_function", function = "notify" }', 7, "`channel` is missing"),
        (
            'post_hook = { type = "custom_function", function = "n", args = { url = "${secret:KEY}" } }',
            7,
            "resolved",
        ),
        ('post_hook = { type = "custom_function", function = "notify", args = { channel = [1] } }', 7, "args"),
        ('post_hook = { type = "refresh_mat_view", view = "daily" }', 7, "there is no `views/daily.sql`"),
        ('post_hook = { type = "refresh_mat_view", view = "crm.Orders" }', 7, "is a table of the project"),
        ('post_hook = { type = "refresh_mat_view", view = "crm.orders_quarantine" }', 7, "is a table of the project"),
        ('post_hook = { type = "refresh_mat_view", view = "../x" }', 7, "is not a table name"),
    ],
)
def test_a_hook_that_cannot_be_meant_is_told_with_its_line(check: Any, hook: str, line: int, why: str) -> None:
    with pytest.raises(InvalidProject) as caught:
        check(hook)
    told = [one for one in caught.value.problems if why in one.message()]
    assert told, [one.text() for one in caught.value.problems]
    assert told[0].places()[0].file == "pipelines/shop.toml"
    assert told[0].places()[0].line == line


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT * FROM elsewhere", "lands no table of that name"),
        ("SELECT * FROM delta.`/etc`", "lands no table of that name"),
        ("DROP TABLE crm.orders", "not a SELECT"),
    ],
)
def test_a_view_that_is_not_a_query_of_landed_tables_is_told_with_its_file(check: Any, sql: str, why: str) -> None:
    with pytest.raises(InvalidProject) as caught:
        check('post_hook = { type = "refresh_mat_view", view = "daily" }', daily=sql)
    (told,) = caught.value.problems
    assert why in told.message()
    assert told.places()[0].file == "views/daily.sql"


def test_hooks_of_every_kind_that_can_be_meant_are_taken(check: Any) -> None:
    hooks = """post_hook = [
        { type = "sql", statement = "OPTIMIZE {table}" },
        { type = "sql", statement = "OPTIMIZE crm.Orders" },
        { type = "webhook", url = "https://hooks.example.com/${secret:KEY}", secret = "${secret:KEY}" },
        { type = "custom_function", function = "notify", args = { channel = "a" } },
        { type = "custom_function", function = "main.ops.notify", args = { n = 1 } },
        { type = "refresh_mat_view", view = "daily" },
    ]"""
    assert check(hooks, daily="SELECT count(*) AS n FROM crm.orders").warnings == ()


def test_a_function_that_is_not_installed_is_a_warning_that_guesses(check: Any) -> None:
    (warning,) = check('post_hook = { type = "custom_function", function = "notfy" }').warnings
    assert isinstance(warning, UnknownFunction)
    assert warning.help() == "did you mean `notify`?"


def test_sql_of_a_load_for_several_tables_may_not_name_one_of_them(make_project: MakeProject) -> None:
    pipeline = PIPELINE.replace('{ name = "people", load = { mode = "truncate" } }', '"people"')
    pipeline = pipeline.replace("HOOK", 'post_hook = { type = "sql", statement = "OPTIMIZE crm.orders" }')
    root = make_project({"pipelines/shop.toml": pipeline})
    with pytest.raises(InvalidProject) as caught:
        read_project(root, connectors={"x": ConnectorFacts()}, shown_from=root)
    (told,) = caught.value.problems
    assert "the load is for `crm.people` too" in told.message()
    assert told.help() == "write `{table}`, or give `crm.orders` a load of its own"
