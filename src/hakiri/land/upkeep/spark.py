"""Optimize and vacuum a table of a catalog by Spark, whose catalog orders its commits among all writers."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hakiri.errors import HakiriError
from hakiri.land.decide.adoptable import MANY_FILES, SMALL_BYTES
from hakiri.land.delta.history import describe_history
from hakiri.land.delta.spark_errors import translating
from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.errors import TableContended, UpkeepFailed
from hakiri.land.sql import DETAIL
from hakiri.land.target import NamedTarget, sql_name
from hakiri.land.upkeep.compact import WRITTEN_MEANWHILE, Compacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


OPTIMIZE = "OPTIMIZE {table}"

VACUUM = "VACUUM {table} RETAIN {hours} HOURS"

VACUUM_AS_DECLARED = "VACUUM {table}"

KEEP = "ALTER TABLE {table} SET TBLPROPERTIES ('{property}' = 'interval {hours} hours')"

_TOO_SHORT = "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"
_RETENTION = "delta.deletedFileRetentionDuration"
_UNLESS_DECLARED = timedelta(days=7)
_LOOK_BACK = 100
_OPTIMIZED = "OPTIMIZE"
_VACUUMED = frozenset({"VACUUM START", "VACUUM END"})


def is_there(spark: SparkSession, name: str, target: NamedTarget) -> bool:
    """Return whether the table exists. Raises UpkeepFailed."""
    with _translated(name, "look at"):
        return bool(spark.catalog.tableExists(sql_name(target)))


def optimize_named(spark: SparkSession, name: str, target: NamedTarget, *, held: str = "") -> Compacted:
    """Rewrite many small files, and cluster new rows. A repeat does nothing.

    Files that others change meanwhile are left as they are; with a reason to hold back, nothing is written. Raises
    UpkeepFailed.
    """
    before = 0
    try:
        with _translated(name, "optimize", lambda: TableContended(table=name, number=0)):
            session = isolated_session(spark)
            detail = _detail(session, target)
            before = detail["numFiles"]
            if not _is_worth_it(session, target, detail):
                return Compacted(before, before)
            if held:
                return Compacted(before, before, held)
            session.sql(OPTIMIZE.format(table=sql_name(target))).collect()
            return Compacted(before, _detail(session, target)["numFiles"])
    except TableContended:
        return Compacted(before, before, WRITTEN_MEANWHILE)


def vacuum_named(spark: SparkSession, name: str, target: NamedTarget, retention: timedelta) -> None:
    """Remove files that no version within the retention needs; a longer retention declared by the table is kept.

    A table without one is given a long retention while this runs: otherwise its checkpoints would forget removed files
    that versions within the retention need. A repeat removes what has grown old since. Raises UpkeepFailed.
    """
    with _translated(name, "vacuum"):
        session = isolated_session(spark)
        table = sql_name(target)
        hours = math.ceil(retention / timedelta(hours=1))
        if retention > _UNLESS_DECLARED and _RETENTION not in _detail(session, target)["properties"]:
            session.sql(KEEP.format(table=table, property=_RETENTION, hours=hours)).collect()
        try:
            session.sql(VACUUM.format(table=table, hours=hours)).collect()
        except Exception as error:
            if _TOO_SHORT not in str(error):
                raise
            session.sql(VACUUM_AS_DECLARED.format(table=table)).collect()


def _detail(session: SparkSession, target: NamedTarget) -> Any:
    return session.sql(DETAIL.format(table=sql_name(target))).collect()[0]


def _is_worth_it(session: SparkSession, target: NamedTarget, detail: Any) -> bool:
    if detail["clusteringColumns"]:  # clustering needs OPTIMIZE even for few files
        commits = describe_history(session, target, limit=_LOOK_BACK)
        return next((one.operation != _OPTIMIZED for one in commits if one.operation not in _VACUUMED), True)
    files = detail["numFiles"]
    return bool(files > MANY_FILES and detail["sizeInBytes"] < SMALL_BYTES * files)


def _translated(
    name: str, doing: str, conflict: Callable[[], HakiriError] | None = None
) -> AbstractContextManager[None]:
    def failure(reason: str = "others wrote to it meanwhile") -> HakiriError:
        return UpkeepFailed(table=name, doing=doing, reason=reason)

    return translating(conflict or failure, failure, table=name)
