"""`hakiri sql` answers for people and for programs."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from cli.conftest import Hakiri
from hakiri.settings import Settings
from hakiri.wiring import tables_root, workplace
from projects import MakeProject

TOML = """\
[project]
name = "test"
[[pipeline]]
id = "shop"
source = { connector = "x" }
tables = ["public.orders", "events"]
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": TOML})
    monkeypatch.chdir(root)
    amounts = [None if number == 3 else Decimal(number) / 10 for number in range(150)]
    rows = {
        "id": pa.array(range(150), pa.int64()),
        "amount": pa.array(amounts, pa.decimal128(9, 2)),
        "note": ['say "[red]"'] * 150,
    }
    tables = tables_root(workplace(Settings(cwd=root)).read())
    write_deltalake(f"{tables}/public.orders", pa.table(rows))
    write_deltalake(f"{tables}/public.orders_quarantine", pa.table({"reason": ["bad"]}))
    return root


@pytest.mark.usefixtures("project")
def test_people_see_a_table_that_is_cut_and_says_so(hakiri: Hakiri) -> None:
    answer = hakiri("sql", "select * from public.orders order by id")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].split() == ["id", "amount", "note"]
    assert lines[5].split() == ["3", "NULL", "say", '"[red]"']
    assert lines[-2:] == ["100 rows", "cut after 100 rows; --limit N shows more"]
    assert "cut" not in hakiri("sql", "select * from public.orders", "--limit", "150").out


@pytest.mark.usefixtures("project")
def test_programs_get_every_row_exactly(hakiri: Hakiri) -> None:
    rows = hakiri("sql", "select id, amount from public.orders order by id", "--json").json()
    assert len(rows) == 150
    assert rows[2:4] == [{"id": 2, "amount": "0.20"}, {"id": 3, "amount": None}]
    answer = hakiri("sql", "select id, amount, note from public.orders order by id", "--csv")
    read = list(csv.reader(io.StringIO(answer.out)))
    assert (read[0], read[3], len(read)) == (["id", "amount", "note"], ["2", "0.20", 'say "[red]"'], 151)
    short = hakiri("sql", "select id from public.orders", "--csv", "--limit", "2")
    assert (len(short.out.splitlines()), "cut after 2 rows" in short.err) == (3, True)


@pytest.mark.usefixtures("project")
def test_columns_that_share_a_name_are_all_there(hakiri: Hakiri) -> None:
    sql = "select a.id, b.id from public.orders a join public.orders b on a.id + 1 = b.id where a.id = 1"
    assert hakiri("sql", sql, "--json").json() == [{"id": 1, "id_2": 2}]


@pytest.mark.usefixtures("project")
def test_rows_that_were_set_aside_can_be_asked(hakiri: Hakiri) -> None:
    assert hakiri("sql", 'select * from "public.orders_quarantine"', "--json").json() == [{"reason": "bad"}]


@pytest.mark.usefixtures("project")
def test_what_cannot_be_answered_says_what_to_do(hakiri: Hakiri) -> None:
    for sql, code, said in (
        ("select * from public.order", "HK651", "did you mean `public.orders`?"),
        ("select * from events", "HK657", "`hakiri apply` lands it"),
        ("drop table events", "HK652", "only SELECT is answered"),
        ("select nope from public.orders", "HK652", "nope"),
    ):
        answer = hakiri("sql", sql)
        assert (answer.code, answer.out) == (1, "")
        assert f"error[{code}]" in answer.err
        assert said in answer.err
    assert hakiri("sql", "select 1", "--json", "--csv").code == 2
