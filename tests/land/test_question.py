"""Which tables a query is about is known from its text, and anything but one SELECT is refused."""

from __future__ import annotations

import pytest

from hakiri.land.errors import QueryRefused
from hakiri.land.query.parse import BACKTICKS, understand

KNOWN = ("orders", "public.orders", "crm.Users", "ts", "date")


@pytest.mark.parametrize(
    ("asked", "sql", "tables"),
    [
        ("select * from orders", 'select * from "orders"', ("orders",)),
        ("select 1 ;\n", "select 1", ()),
        ("select id from public.orders", 'select id from "public.orders"', ("public.orders",)),
        ('select id from "public"."orders" o', 'select id from "public.orders" o', ("public.orders",)),
        ('select id from "public.orders"', 'select id from "public.orders"', ("public.orders",)),
        ("SELECT * FROM CRM.users", 'SELECT * FROM "crm.Users"', ("crm.Users",)),
        ('select * from "CRM.users"', 'select * from "CRM.users"', ()),
        (
            "select public.orders.id, o.ts from public.orders, orders as o where public.orders.id = o.id",
            'select "public.orders".id, o.ts from "public.orders", "orders" as o where "public.orders".id = o.id',
            ("public.orders", "orders"),
        ),
        (
            "select * from orders o join public . orders p on o.id = p.id, crm.Users",
            'select * from "orders" o join "public.orders" p on o.id = p.id, "crm.Users"',
            ("orders", "public.orders", "crm.Users"),
        ),
        (
            "select * from (select * from orders) x, ts where a in (select b from public.orders)",
            'select * from (select * from "orders") x, "ts" where a in (select b from "public.orders")',
            ("orders", "ts", "public.orders"),
        ),
        (
            "with big as (select * from orders) select * from big order by orders, ts",
            'with big as (select * from "orders") select * from big order by orders, ts',
            ("orders",),
        ),
        (
            "select 'from orders', \"orders\" /* from orders */ from nowhere -- join orders",
            "select 'from orders', \"orders\" /* from orders */ from nowhere",
            (),
        ),
        (
            "select date.a from date /*+ from ts */ order\n by 1",
            'select "date".a from "date" /*+ from ts */ order\n by 1',
            ("date",),
        ),
        ("select $$ from ts $$ from orders", 'select $$ from ts $$ from "orders"', ("orders",)),
        ("(select 1 from orders) union (select 2)", '(select 1 from "orders") union (select 2)', ("orders",)),
    ],
)
def test_a_question_names_its_tables(asked: str, sql: str, tables: tuple[str, ...]) -> None:
    found = understand(asked, KNOWN)
    assert (found.sql, found.tables) == (sql, tables)


@pytest.mark.parametrize(
    ("asked", "sql"),
    [
        (r"""select 'it\'s "x" here', "n" from orders""", r"""select 'it\'s "x" here', `n` from `orders`"""),
        (r"""select '\\', "n" from orders -- '""", r"""select '\\', `n` from `orders`"""),
        (r"""select r'\', "n" from orders -- '""", r"""select r'\', `n` from `orders`"""),
        (r"""select R"'", "n" from orders -- '""", r"""select R"'", `n` from `orders`"""),
        ("""select 'it''s "x"', "n" from orders""", """select 'it''s "x"', `n` from `orders`"""),
        ("""select bar'x "y"', "n" from orders""", """select bar'x "y"', `n` from `orders`"""),
    ],
)
def test_a_text_ends_where_spark_ends_it(asked: str, sql: str) -> None:
    assert understand(asked, KNOWN, mark=BACKTICKS).sql == sql


def test_a_backslash_is_a_sign_like_others_to_datafusion() -> None:
    asked = r"""select '\', "n" from orders -- '"""
    assert understand(asked, KNOWN).sql == r"""select '\', "n" from "orders" """.strip()


@pytest.mark.parametrize(
    "sql",
    [
        "",
        " ;",
        "-- nothing",
        "insert into orders select 1",
        "delete from orders",
        "copy (select 1) to 'x.csv'",
        "create table x as select 1",
        "explain select 1",
        "set a = 1",
        "select 1; select 2",
        "select * into x from orders",
        "with x as (select 1) insert into orders select * from x",
        "/* select */ drop table orders",
        "'select' from orders",
        "select 'a text without its end from orders",
    ],
)
def test_anything_but_one_select_is_refused(sql: str) -> None:
    with pytest.raises(QueryRefused):
        understand(sql, KNOWN)
