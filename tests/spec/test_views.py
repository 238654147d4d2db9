"""What is wrong with a view is told at the check, with file and line; the others come in the order of their making."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hakiri.errors import ManifestError
from hakiri.model.installed import ConnectorFacts
from hakiri.model.view import View
from hakiri.spec.errors import InvalidProject
from hakiri.spec.read import Project, read_project
from hakiri.spec.view import expanded
from projects import MakeProject

PIPELINE = """\
id = "shop"
source = { connector = "x" }
tables = ["Orders", "crm.people"]
"""


@pytest.fixture
def check(make_project: MakeProject) -> Any:
    def check(views: dict[str, str], pipeline: str = PIPELINE) -> Project:
        files = {f"views/{name}": text for name, text in views.items()}
        root: Path = make_project({"pipelines/shop.toml": pipeline, **files})
        return read_project(root, connectors={"x": ConnectorFacts()}, shown_from=root)

    return check


def problems_of(check: Any, views: dict[str, str], pipeline: str = PIPELINE) -> tuple[ManifestError, ...]:
    with pytest.raises(InvalidProject) as caught:
        check(views, pipeline)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "code", "line", "said"),
    [
        ("SELECT *\nFROM orders\nWHERE (", "HK117", 3, "it is not SQL"),
        ("DROP TABLE orders", "HK117", 1, "not a SELECT"),
        ("SELECT 1; SELECT 2", "HK117", 1, "not one statement"),
        ("", "HK117", 1, "not one statement"),
        ("-- why\nSELECT *\nFROM order", "HK118", 3, "reads `order`, and the project lands no table of that name"),
        ("SELECT *\nFROM delta.`/etc`", "HK118", 2, "lands no table of that name"),
        ("SELECT * FROM orders_quarantine", "HK118", 1, "lands no table of that name"),
        ("SELECT *\nFROM v", "HK117", 2, "it reads itself"),
    ],
)
def test_a_view_that_cannot_be_meant_is_told_with_its_line(
    check: Any, text: str, code: str, line: int, said: str
) -> None:
    (problem,) = problems_of(check, {"v.sql": text})
    (place,) = problem.places()
    assert (problem.code, place.file, place.line) == (code, "views/v.sql", line)
    assert said in problem.message()


def test_a_table_that_was_misspelt_is_guessed(check: Any) -> None:
    (problem,) = problems_of(check, {"v.sql": "SELECT * FROM crm.poeple"})
    assert problem.help() == "did you mean `crm.people`?"


def test_a_message_about_sql_has_no_marks_for_a_terminal_in_it(check: Any) -> None:
    (problem,) = problems_of(check, {"v.sql": "SELEC 1 FROM orders"})
    assert problem.message().isprintable()
    assert "near `1`" in problem.message()


def test_views_that_read_each_other_are_told_as_the_circle_that_they_are(check: Any) -> None:
    circle = {"a.sql": "SELECT *\nFROM c", "b.sql": "SELECT * FROM a", "c.sql": "SELECT * FROM B", "d.sql": "SELECT 1"}
    (problem,) = problems_of(check, circle)
    assert "a -> c -> b -> a" in problem.message()
    assert [str(place) for place in problem.places()] == ["views/a.sql:2"]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("orders", "the table `Orders`"),
        ("crm.People", "the table `crm.people`"),
        ("orders_quarantine", "the table `Orders_quarantine`"),
    ],
)
def test_a_name_that_a_table_has_is_no_views(check: Any, name: str, owner: str) -> None:
    (problem,) = problems_of(check, {f"{name}.sql": "SELECT 1 AS x"})
    assert (problem.code, owner in problem.message()) == ("HK119", True)
    assert [place.file for place in problem.places()] == [f"views/{name}.sql"]


def test_a_dot_makes_no_other_name_because_a_schema_has_none(check: Any) -> None:
    (problem,) = problems_of(check, {"sales.daily.sql": "SELECT 1 AS x", "sales_daily.sql": "SELECT 2 AS x"})
    assert problem.code == "HK119"


def test_the_table_for_rejected_rows_that_a_manifest_names_is_taken_too(check: Any) -> None:
    pipeline = f'{PIPELINE}quality = {{ quarantine = {{ table = "rejects" }} }}\n'
    (problem,) = problems_of(check, {"Rejects.sql": "SELECT 1 AS x"}, pipeline)
    assert problem.code == "HK119"


def test_views_that_differ_in_case_alone_are_told_with_both_files(check: Any) -> None:
    (problem,) = problems_of(check, {"daily.sql": "SELECT 1 AS x", "Daily.sql": "SELECT 2 AS x"})
    assert problem.code == "HK119"
    assert [place.file for place in problem.places()] == ["views/Daily.sql", "views/daily.sql"]


@pytest.mark.parametrize("name", ["a b.sql", "a.b.c.d.sql", "1st.sql"])
def test_a_file_whose_name_no_table_could_have_is_no_view(check: Any, name: str) -> None:
    (problem,) = problems_of(check, {name: "SELECT 1 AS x"})
    assert "is not a table name" in problem.message()


def test_a_file_that_is_not_text_is_told(check: Any, tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views/v.sql").write_bytes(b"SELECT '\xff'")
    (problem,) = problems_of(check, {})
    assert (problem.code, problem.places()[0].file) == ("HK101", "views/v.sql")


def test_a_view_is_not_to_blame_for_a_pipeline_that_cannot_be_read(check: Any) -> None:
    (problem,) = problems_of(check, {"v.sql": "SELECT * FROM orders"}, 'id = "shop"\ntables = ["orders"]\n')
    assert problem.places()[0].file == "pipelines/shop.toml"


def test_each_view_comes_after_those_that_it_reads(check: Any) -> None:
    project = check(
        {
            "a.sql": "SELECT * FROM m JOIN Z USING (id)",
            "m.sql": "SELECT * FROM ORDERS ;\n",
            "z.sql": "WITH a AS (SELECT 1 AS id) SELECT a.id FROM a JOIN m ON m.id = a.id",
            ".hidden.sql": "nothing",
            "README.md": "nothing",
        }
    )
    assert project.views == (
        View("m", "SELECT * FROM ORDERS", ("Orders",)),
        View("z", "WITH a AS (SELECT 1 AS id) SELECT a.id FROM a JOIN m ON m.id = a.id", ("m",)),
        View("a", "SELECT * FROM m JOIN Z USING (id)", ("m", "z")),
    )


def test_a_view_that_a_hook_refreshes_is_known_for_one(check: Any) -> None:
    hook = 'load = { post_hook = { type = "refresh_mat_view", view = "Daily" } }\n'
    project = check({"daily.sql": "SELECT * FROM orders", "other.sql": "SELECT * FROM daily"}, PIPELINE + hook)
    assert project.refreshed == {"daily"}


def test_a_view_over_views_is_one_query_over_tables() -> None:
    views = {
        "low": View("low", "SELECT id FROM Orders -- all", ("orders",)),
        "high": View("high", "SELECT low.id FROM low, ORDERS AS o", ("low", "orders")),
    }
    assert expanded(views["high"], views, {"orders": "delta.`/o`"}) == (
        "SELECT low.id FROM (\nSELECT id FROM delta.`/o` AS `Orders` -- all\n) AS `low`, delta.`/o` AS o"
    )
