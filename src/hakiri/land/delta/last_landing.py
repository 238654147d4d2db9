"""Find out which pipeline landed last in a table, on this disk without any library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.land.delta.log import commit_info
from hakiri.land.delta.spark_errors import is_missing_table
from hakiri.land.stamp import Mark, Stamp, from_text
from hakiri.land.target import Target, folder_of, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECENT_COMMITS = 100
"""How many commits of a table that Spark reads are searched for the last landing."""


@dataclass(frozen=True, slots=True)
class LastLanding:
    """The newest commit of a landing."""

    version: int
    stamp: Stamp


def last_landing(target: Target, spark: Callable[[], SparkSession] | None) -> LastLanding | None:
    """Find the newest commit of a landing; None if there is none, or no table.

    A table that is not on this disk needs a session; without one the result is None.
    """
    folder = folder_of(target)
    marks: Iterable[tuple[int, Mark | None]] = _recent(target, spark) if folder is None else _logged(folder)
    return next((LastLanding(version, mark.stamp) for version, mark in marks if mark is not None), None)


def _logged(folder: Path) -> Iterable[tuple[int, Mark | None]]:
    files = ((int(path.stem), path) for path in (folder / "_delta_log").glob("*.json") if path.stem.isdigit())
    return (
        (version, from_text(commit_info(path).get("userMetadata"))) for version, path in sorted(files, reverse=True)
    )


def _recent(target: Target, spark: Callable[[], SparkSession] | None) -> Iterable[tuple[int, Mark | None]]:
    if spark is None:
        return ()
    from hakiri.land.delta.history import describe_history

    session = spark()
    try:
        return [(one.version, one.mark) for one in describe_history(session, target, limit=RECENT_COMMITS)]
    except Exception as error:
        if is_missing_table(error) or not session.catalog.tableExists(sql_name(target)):
            return ()
        raise
