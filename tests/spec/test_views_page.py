"""What the page on views shows is a project that the check takes, and what it says is answered, is."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from hakiri.land.query.session import QuerySession
from hakiri.model.installed import ConnectorFacts
from hakiri.spec.read import read_project
from projects import MakeProject

PAGE = (Path(__file__).parents[2] / "docs/views.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(toml|sql)\n(.*?)```", PAGE, re.DOTALL)
NAMED = {re.split(r"\s+", text, maxsplit=2)[1]: text for _, text in BLOCKS}


def test_the_views_of_the_page_answer(make_project: MakeProject, tmp_path: Path) -> None:
    assert sorted(NAMED) == ["hakiri.toml", "views/best_countries.sql", "views/revenue.sql"]
    root = make_project(NAMED)
    project = read_project(root, connectors={"sqlite": ConnectorFacts()}, shown_from=root)
    assert [view.name for view in project.views] == ["revenue", "best_countries"]
    orders = {"id": [1, 2], "customer_id": [7, 7], "status": ["paid", "returned"], "amount": [5, 3]}
    write_deltalake(tmp_path / "orders", pa.table(orders))
    write_deltalake(tmp_path / "customers", pa.table({"id": [7], "country": ["IT"]}))
    session = QuerySession({name: str(tmp_path / name) for name in ("orders", "customers")})
    for view in project.views:
        session.lay_out_view(view)
    assert session.execute("SELECT * FROM best_countries").read_all().to_pylist() == [{"country": "IT", "revenue": 5}]


@pytest.mark.parametrize("kind", ["values", "texts", "time", "aggregates", "windows"])
def test_every_function_of_the_page_is_compared_with_sparks(kind: str) -> None:
    (row,) = re.findall(rf"^\| {kind} \| (.*) \|$", PAGE, re.MULTILINE)
    names = re.findall(r"\b[a-z]\w*\b", re.sub(r"\(.*?\)|and aggregates.*|intervals", "", row))
    compared = (Path(__file__).parents[1] / "land/test_view_functions.py").read_text(encoding="utf-8")
    assert names
    assert [name for name in names if f"{name}(" not in compared] == []
