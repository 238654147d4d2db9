"""A view's SELECT is read whole: what it reads is known, and nothing else gets into it."""

from __future__ import annotations

import pytest

from hakiri.spec.sql.select import read_select

STORED = {"orders": "delta.`/o`", "ORDERS": "delta.`/o`", "sales.people": "delta.`/p`"}


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("SELECT * FROM orders", "SELECT * FROM delta.`/o` AS `orders`"),
        ("SELECT o.a FROM orders AS o", "SELECT o.a FROM delta.`/o` AS o"),
        ("SELECT orders.a FROM `orders`", "SELECT orders.a FROM delta.`/o` AS `orders`"),
        (
            "SELECT sales.people.a, 'sales.people' FROM sales.people",
            "SELECT `people`.a, 'sales.people' FROM delta.`/p` AS `people`",
        ),
        (
            "SELECT 1 FROM orders o WHERE o.id IN (SELECT id FROM sales.people) -- why\nUNION SELECT 2",
            "SELECT 1 FROM delta.`/o` o WHERE o.id IN (SELECT id FROM delta.`/p` AS `people`) -- why\nUNION SELECT 2",
        ),
        (
            "WITH x AS (SELECT 1 AS a) SELECT x.a, count(*) FROM x, orders GROUP BY x.a",
            "WITH x AS (SELECT 1 AS a) SELECT x.a, count(*) FROM x, delta.`/o` AS `orders` GROUP BY x.a",
        ),
        (
            "WITH X AS (SELECT 1) SELECT * FROM x, ORDERS",
            "WITH X AS (SELECT 1) SELECT * FROM x, delta.`/o` AS `ORDERS`",
        ),
        (
            "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders",
            "WITH orders AS (SELECT * FROM delta.`/o` AS `orders`) SELECT * FROM orders",
        ),
    ],
)
def test_each_table_gives_way_to_where_it_is_stored(text: str, over: str) -> None:
    assert read_select(text).over(STORED) == over


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT 1; SELECT 2", "not one statement"),
        ("", "not one statement"),
        ("CREATE TABLE x AS SELECT 1", "not a SELECT"),
        ("DESCRIBE orders", "not a SELECT"),
        ("OPTIMIZE orders", "not a SELECT"),
        ("SELECT * FROM", "not SQL"),
        ("SELECT 1 -- \\\n/*\n FROM other -- */", "ends in a backslash"),
        ("SELECT " + "(" * 5_000, "not SQL"),
        ("SELECT * FROM orders, orders", "Alias already used"),
        ("SELECT * FROM orders VERSION AS OF 1", "needs an alias"),
        ("SELECT * FROM read_files('/etc')", "not a function"),
        ("SELECT http_request(conn => 'x')", "not a function"),
    ],
)
def test_what_is_not_one_reading_query_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_select(text)
