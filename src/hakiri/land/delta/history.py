"""A table's own log tells which landings it holds, so a catalog that was lost can be written again."""

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
    """One version of a table: what it says of itself, and where a RESTORE went back to."""

    version: int
    mark: Mark | None
    restored_to: int | None = None
    operation: str = ""

    @property
    def keeps_rows(self) -> bool:
        """Whether the table holds the same rows as before it, wherever they lie."""
        return self.mark is None and self.operation in KEEP_ROWS


@dataclass(frozen=True, slots=True)
class LandedCommit:
    """One landing a table has received."""

    version: int
    mark: Mark
    is_undone: bool
    """Whether a later RESTORE took its rows away again. Its number stays spent."""

    def landing(self) -> Landing:
        """The landing as the catalog keeps it."""
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
    """Every commit that the table's log still tells of, newest first; none where there is no table.

    The session is asked for only if the table lies elsewhere than on this disk.
    """
    folder = folder_of(target)
    if folder is not None:
        return read_log(folder) if DeltaTable.is_deltatable(str(folder)) else ()
    session = spark()
    return describe_history(session, target) if session.catalog.tableExists(sql_name(target)) else ()


def read_log(folder: Path, *, limit: int | None = None) -> tuple[Commit, ...]:
    """The newest commits of a table on this disk, newest first, without a JVM."""
    return commits_of(DeltaTable(folder), limit=limit)


def commits_of(table: DeltaTable, *, limit: int | None = None) -> tuple[Commit, ...]:
    """The newest commits up to the version that is open."""
    return tuple(_commit(plain, plain.get("operationParameters")) for plain in table.history(limit))


def describe_history(spark: SparkSession, target: Target, *, limit: int | None = None) -> tuple[Commit, ...]:
    """The newest commits of any table Spark can name, newest first."""
    name = sql_name(target)
    statement = DESCRIBE_HISTORY.format(table=name) if limit is None else RECENT.format(table=name, limit=limit)
    rows = spark.sql(statement).collect()  # as it is: to select some of its columns would be a job of its own
    return tuple(_commit(row.asDict(), row["operationParameters"]) for row in rows)


def landings_of(commits: Iterable[Commit], app_id: str) -> tuple[LandedCommit, ...]:
    """The landings under this name, by number; what a RESTORE took back is marked as undone."""
    found, floor = [], None
    for commit in sorted(commits, key=lambda one: one.version, reverse=True):
        is_undone = floor is not None and commit.version > floor
        # A RESTORE that was itself taken back has no say in what the table holds.
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
