"""Read from a table's own log which landings it holds, so that a lost catalog can be rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from hakiri.land.delta.log import restored_to
from hakiri.land.stamp import Mark, from_text
from hakiri.land.target import Target, folder_of, sql_name
from hakiri.model.ledger import Landing, LandingStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIBE_HISTORY = "DESCRIBE HISTORY {table}"
RECENT = "DESCRIBE HISTORY {table} LIMIT {limit}"

KEEP_ROWS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END", "CLUSTER BY", "SET TBLPROPERTIES"})


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of a table: the landing it carries, if any, and the version that a RESTORE went back to."""

    version: int
    mark: Mark | None
    restored_to: int | None = None
    operation: str = ""

    @property
    def keeps_rows(self) -> bool:
        """Whether the commit leaves all rows as they were, even if it moves them to other files."""
        return self.mark is None and self.operation in KEEP_ROWS


@dataclass(frozen=True, slots=True)
class LandedCommit:
    """A landing that a table has received."""

    version: int
    mark: Mark
    is_undone: bool
    """Whether a later RESTORE has removed its rows. The number stays used."""

    def landing(self) -> Landing:
        """Return the landing as the catalog stores it."""
        stamp = self.mark.stamp
        return Landing(
            table=stamp.table,
            number=stamp.number,
            chunks=stamp.chunks,
            status=LandingStatus.LANDED,
            version=self.version,
            cursor=stamp.cursor,
        )


def read_commits(target: Target, spark: Callable[[], SparkSession]) -> tuple[Commit, ...]:
    """Return all commits in the table's log, newest first; none if there is no table.

    The session is opened only if the table is not on this disk.
    """
    folder = folder_of(target)
    if folder is not None:
        return read_log(folder) if DeltaTable.is_deltatable(str(folder)) else ()
    session = spark()
    return describe_history(session, target) if session.catalog.tableExists(sql_name(target)) else ()


def read_log(folder: Path, *, limit: int | None = None) -> tuple[Commit, ...]:
    """Return the newest commits of a table on this disk, newest first, without a JVM."""
    return commits_of(DeltaTable(folder), limit=limit)


def commits_of(table: DeltaTable, *, limit: int | None = None) -> tuple[Commit, ...]:
    """Return the newest commits up to the opened version."""
    return tuple(_commit(plain, plain.get("operationParameters")) for plain in table.history(limit))


def describe_history(spark: SparkSession, target: Target, *, limit: int | None = None) -> tuple[Commit, ...]:
    """Return the newest commits of a table, newest first, by Spark."""
    name = sql_name(target)
    statement = DESCRIBE_HISTORY.format(table=name) if limit is None else RECENT.format(table=name, limit=limit)
    rows = spark.sql(statement).collect()  # all columns: selecting some of them would run another job
    return tuple(_commit(row.asDict(), row["operationParameters"]) for row in rows)


def landings_of(commits: Iterable[Commit], app_id: str) -> tuple[LandedCommit, ...]:
    """Return the landings under this name by number; those removed by a RESTORE are marked as undone."""
    found, floor = [], None
    for commit in sorted(commits, key=lambda one: one.version, reverse=True):
        is_undone = floor is not None and commit.version > floor
        # A RESTORE that was itself undone does not count.
        if commit.restored_to is not None and not is_undone:
            floor = commit.restored_to
        if commit.mark is not None and commit.mark.stamp.app_id == app_id:
            found.append(LandedCommit(commit.version, commit.mark, is_undone))
    return tuple(sorted(found, key=lambda one: one.mark.stamp.number))


def _commit(plain: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> Commit:
    return Commit(
        version=int(plain["version"]),
        mark=from_text(plain.get("userMetadata")),
        restored_to=restored_to(plain.get("operation"), parameters),
        operation=plain.get("operation") or "",
    )
