"""Mark views and tables with the project that made them, so that those of others are never replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hakiri.land.delta.spark_errors import is_missing_table
from hakiri.land.sql import DETAIL, text
from hakiri.land.target import PathTarget, Target, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEW = "hakiri.view"
"""The property of a view that Hakiri made; its value is the project."""
REFRESHED = "hakiri.refreshed"
"""The property of a table that a hook keeps for a view; its value is the project."""

PROPERTIES = "SHOW TBLPROPERTIES {table}"


def ownership_clause(mark: str, project: str) -> str:
    """Return the SQL clause that sets the mark."""
    return f"TBLPROPERTIES ({text(mark)} = {text(project)})"


def properties_at(session: SparkSession, target: Target) -> Mapping[str, str] | None:
    """Return the properties of the table at the target; None if there is none."""
    if not isinstance(target, PathTarget):
        return properties_of(session, sql_name(target))
    try:
        return dict(session.sql(DETAIL.format(table=sql_name(target))).collect()[0]["properties"])
    except Exception as error:
        if is_missing_table(error):
            return None
        raise


def properties_of(session: SparkSession, name: str) -> Mapping[str, str] | None:
    """Return the properties of the table or view with this SQL name; None if there is none."""
    if not session.catalog.tableExists(name):
        return None
    return {row["key"]: row["value"] for row in session.sql(PROPERTIES.format(table=name)).collect()}
