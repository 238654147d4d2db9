"""The executor port: reads and commits the Delta tables of a catalog, by delta-rs or by Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hakiri.catalog.delta.layout import columns
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.store import Row
from hakiri.catalog.tables import Table

Wanted = Mapping[Table, frozenset[int] | None]
"""Tables to read, each with the buckets that are needed; None for all."""


class Executor(Protocol):
    """Reads and commits catalog tables. A commit fails unless the replica held the newest version. Not thread-safe."""

    def refresh(
        self, wanted: Wanted, replica: Replica, *, since: int | None = None, along: tuple[Table, ...] = ()
    ) -> None:
        """Update the replica to the newest version of these tables, at least for these buckets. A repeat is cheap.

        The replica's copy of the other tables is never older than that of the first one; moving rows between tables
        relies on this. A table that was read after `since` need not be read again. If a statement has to be sent, it
        may also read the tables of `along`.
        """
        ...

    def moment(self) -> int:
        """Return the current moment, to be passed as `since` to a later `refresh`."""
        ...

    def can_try(self, table: Table) -> bool:
        """Return whether to try a commit without refreshing the replica first.

        True only if a refresh is expensive and no other process seems to write the table.
        """
        ...

    def commit(self, changes: Changes) -> bool:
        """Commit the changes as the version that follows the replica's.

        Returns False if another process committed that version first; then nothing was written. If the answer to a
        commit is lost, the commit is looked up, so the result is always certain. Raises CatalogUnavailable.
        """
        ...

    def progress(self, pipeline: str | None) -> list[Row] | None:
        """Count chunks without the replica; None if that would not be faster."""
        ...

    def tend(self, table: Table) -> None:
        """Compact small files, and remove those that no version of the last day needs.

        Gives way to the commits of others. Does nothing on a repeat, or if the table does not exist yet.
        """
        ...

    def found_version(self) -> int:
        """Return the version of the rows; this release's if there are no tables. Raises CatalogTooNew."""
        ...

    def set_versions(self, version: int, *, migrated: int) -> None:
        """Set the version of the tables, and of the rows in them. A repeat changes nothing.

        Raises CatalogUnavailable.
        """
        ...

    def close(self) -> None:
        """Release open resources. A repeat does nothing."""
        ...


def merge_condition(table: Table, buckets: list[int]) -> str:
    """Return the condition that joins source `s` to target `t`. Lists the buckets, so that no other file is read."""
    same = " AND ".join(f"t.{name} = s.{name}" for name in ("bucket", *table.key))
    return f"{same} AND t.bucket IN ({', '.join(str(bucket) for bucket in buckets)})"


def merge_values(table: Table) -> dict[str, str]:
    """Return the values of updated and inserted rows. `revision` counts the table's commits."""
    return {name: f"s.{name}" for name in (*columns(table), "revision")}
