"""Hook SQL is one of a few statements about one table, or it is refused before anything runs."""

from __future__ import annotations

import pytest

from hakiri.spec.sql.statement import TABLE, read_statement

STORED = "delta.`/lake/orders`"


@pytest.mark.parametrize(
    ("statement", "table", "run"),
    [
        ("OPTIMIZE orders", "orders", f"OPTIMIZE {STORED}"),
        ("optimize {table};", TABLE, f"optimize {STORED}"),
        ("OPTIMIZE `sales`.orders ZORDER BY (a, `b c`)", "sales.orders", f"OPTIMIZE {STORED} ZORDER BY (a, `b c`)"),
        (
            "OPTIMIZE {table} WHERE day >= '2026-01-01' AND region IN ('a', 'b')",
            TABLE,
            f"OPTIMIZE {STORED} WHERE day >= '2026-01-01' AND region IN ('a', 'b')",
        ),
        ("VACUUM {table}", TABLE, f"VACUUM {STORED}"),
        ("VACUUM {table} RETAIN 168 HOURS DRY RUN", TABLE, f"VACUUM {STORED} RETAIN 168 HOURS DRY RUN"),
        ("ANALYZE TABLE {table} COMPUTE STATISTICS NOSCAN", TABLE, f"ANALYZE TABLE {STORED} COMPUTE STATISTICS NOSCAN"),
        ("REFRESH TABLE orders", "orders", f"REFRESH TABLE {STORED}"),
        ("EXPLAIN SELECT id FROM {table}", TABLE, f"EXPLAIN SELECT id FROM {STORED} AS `{{table}}`"),
        (
            "EXPLAIN COST WITH o AS (SELECT * FROM orders) SELECT o.id FROM o",
            "orders",
            f"EXPLAIN COST WITH o AS (SELECT * FROM {STORED} AS `orders`) SELECT o.id FROM o",
        ),
    ],
)
def test_an_admin_statement_runs_on_the_table_it_names(statement: str, table: str, run: str) -> None:
    read = read_statement(statement)
    assert read.tables == (table,)
    assert read.on(STORED) == run


def test_a_setting_names_no_table() -> None:
    read = read_statement("SET spark.sql.shuffle.partitions = 8")
    assert (read.tables, read.on(STORED)) == ((), "SET spark.sql.shuffle.partitions = 8")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP TABLE orders", "may not DROP"),
        ("delete from orders", "may not DELETE"),
        ("TRUNCATE TABLE orders", "may not TRUNCATE"),
        ("ALTER TABLE orders CLUSTER BY (a)", "may not ALTER"),
        ("RESTORE TABLE orders TO VERSION AS OF 1", "may not RESTORE"),
        ("SELECT 1", "begins with"),
        ("CALL system.clear()", "begins with"),
        ("CLUSTER orders", "begins with"),
        ("WITH x AS (SELECT 1) DELETE FROM orders", "begins with"),
        ("(OPTIMIZE orders)", "begins with"),
        ("", "begins with"),
        ("OPTIMIZE orders; DROP TABLE orders", "one SQL statement"),
        ("OPTIMIZE orders;;", "one SQL statement"),
        ("OPTIMIZE orders -- really", "must not contain comments"),
        ("OPTIMIZE /* x */ orders", "must not contain comments"),
        ("OPTIMIZE orders # x", "must not contain comments"),
        ("OPTIMIZE orders DROP", "written like"),
        ("OPTIMIZE delta.`/a`.b.c", "written like"),
        ("OPTIMIZE a, b", "written like"),
        ("VACUUM orders RETAIN 0 HOURS", "168 hours"),
        ("VACUUM orders RETAIN 167 HOURS", "168 hours"),
        ("VACUUM orders RETAIN 1e9 HOURS", "written like"),
        ("ANALYZE TABLES IN sales COMPUTE STATISTICS", "written like"),
        ("REFRESH '/some/path'", "written like"),
        ("REFRESH FUNCTION f", "written like"),
        ("SET spark.databricks.delta.retentionDurationCheck.enabled = false", "may set"),
        ("SET spark.hadoop.fs.s3a.secret.key = x", "may set"),
        ("SET spark.sql.shuffle.partitions = 1 2", "written like"),
        ("SET ROLE admin", "written like"),
        ("EXPLAIN INSERT INTO orders SELECT 1", "one SELECT"),
        ("EXPLAIN DROP TABLE orders", "one SELECT"),
        ("EXPLAIN WITH x AS (DELETE FROM orders) SELECT * FROM x", "more than read"),
        ("EXPLAIN SELECT reflect('java.lang.System', 'exit')", "not a function"),
        ("EXPLAIN SELECT secret('a', 'b')", "not a function"),
        ("EXPLAIN SELECT TRANSFORM(a) USING 'cat' FROM orders", "more than read"),
        ("EXPLAIN SELECT * FROM range(10)", "not a function"),
        ("EXPLAIN CODEGEN", "one SELECT"),
        ("OPTIMIZE orders WHERE a = (SELECT max(a) FROM orders)", "only compare columns with values"),
        ("OPTIMIZE orders WHERE reflect('a', 'b') = 1", "only compare columns with values"),
        ("OPTIMIZE orders WHERE a = 1 ORDER BY a", "not a condition"),
        ("OPTIMIZE orders WHERE a = 1 UNION SELECT 1", "not a condition"),
        ("OPTIMIZE orders WHERE", "written like"),
        ("OPTIMIZE orders WHERE )(", "not SQL"),
    ],
)
def test_whatever_else_a_hook_could_run_is_refused(statement: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_statement(statement)
