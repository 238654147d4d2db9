"""Hand a table over to another pipeline, by a commit without rows that carries the new pipeline's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError

from hakiri.land.delta.durable import make_durable
from hakiri.land.delta.history import Commit, LandedCommit, describe_history, landings_of
from hakiri.land.delta.last_landing import RECENT_COMMITS
from hakiri.land.delta.spark import translated
from hakiri.land.delta.spark_session import isolated_session, stamping
from hakiri.land.errors import TableContended
from hakiri.land.stamp import Stamp, stamp_of, to_text
from hakiri.land.target import Target, folder_of, sql_name
from hakiri.model.ledger import Landing
from hakiri.model.staged import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]


def hand_over(project: str, landing: Landing, target: Target, spark: Session) -> int:
    """Commit the landing, which has no rows, and return its version. From then on the table belongs to its pipeline.

    A repeat commits again, so the caller looks first (`last_landing`). Raises TableContended and LandingFailed.
    """
    stamp, folder = stamp_of(project, landing, ()), folder_of(target)
    version = _commit_here(folder, stamp) if folder is not None else None
    if version is None:
        version = _commit_by_spark(target, stamp, landing, spark)
    make_durable(target, version)
    return version


def all_landings(commits: Iterable[Commit], app_id: str) -> tuple[LandedCommit, ...]:
    """List the landings under this name by number, with those taken over from other names.

    A landing without chunks is a handover: all earlier landings of the table belong to its name from then on.
    """
    found = tuple(commits)
    own = landings_of(found, app_id)
    handover = max((one.version for one in own if not one.mark.stamp.chunks), default=-1)
    names = {commit.mark.stamp.app_id for commit in found if commit.mark is not None} - {app_id}
    taken = (one for name in names for one in landings_of(found, name) if one.version < handover)
    return tuple(sorted((*own, *taken), key=lambda one: one.mark.stamp.number))


def _commit_here(folder: Path, stamp: Stamp) -> int | None:
    """Commit by delta-rs; None if only Spark can write to the table."""
    table = DeltaTable(folder)
    properties = CommitProperties(
        app_transactions=[Transaction(stamp.app_id, stamp.number)],
        custom_metadata={"userMetadata": to_text(stamp, Tally())},
        max_commit_retries=0,
    )
    try:
        table.create_write_transaction(
            [], mode="append", schema=table.schema(), partition_by=[], commit_properties=properties
        )
    except CommitFailedError as error:
        raise TableContended(table=stamp.table.table, number=stamp.number) from error
    except DeltaError:
        return None
    return table.version() + 1


def _commit_by_spark(target: Target, stamp: Stamp, landing: Landing, spark: Session) -> int:
    with translated(landing):
        session = isolated_session(spark())
        rows = session.table(sql_name(target)).limit(0)
        rows.writeTo(sql_name(target)).options(**stamping(stamp, Tally())).append()
        commits = describe_history(session, target, limit=RECENT_COMMITS)
        return max(one.version for one in commits if one.mark is not None and one.mark.stamp == stamp)
