"""How many rows were set aside by each rule is told by the table that keeps them, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hakiri.land.delta.spark_errors import translating
from hakiri.land.errors import TableNotLanded, TableUnreadable
from hakiri.land.query.rust import ask
from hakiri.land.target import PathTarget, Target, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = "SELECT rule_id, COUNT(*) AS found FROM {table} GROUP BY rule_id ORDER BY found DESC, rule_id"


def count_rules(name: str, target: Target, spark: Callable[[], SparkSession]) -> dict[str, int]:
    """Rows by rule, the most first; nothing where there is no table. Raises QueryError, or what a session raises."""
    if isinstance(target, PathTarget):
        try:
            answer = ask(COUNT.format(table="kept"), {"kept": target.path})
        except TableNotLanded:
            return {}
        return {str(rule): int(str(count)) for rule, count in answer.rows}

    def failure(reason: str) -> TableUnreadable:
        return TableUnreadable(table=name, reason=reason)

    with translating(lambda: failure("others write to it"), failure, table=name):
        session = spark()
        if not session.catalog.tableExists(sql_name(target)):
            return {}
        return {row["rule_id"]: row["found"] for row in session.sql(COUNT.format(table=sql_name(target))).collect()}
