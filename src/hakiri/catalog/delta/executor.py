"""Whoever runs the statements, a commit lands on exactly the state the decision was made on, or not at all."""

from __future__ import annotations

from typing import Protocol

from hakiri.catalog.delta.layout import columns
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.store import Row
from hakiri.catalog.tables import Table


class Executor(Protocol):
    """Reads and commits catalog tables. Called by one thread at a time."""

    def refresh(self, table: Table, replica: Replica, buckets: frozenset[int] | None) -> None:
        """Bring the replica to the table's newest version, at least for these buckets. A repeat is cheap."""
        ...

    def commit(self, changes: Changes) -> bool:
        """Write the changes as the next version after the refreshed one.

        False means that someone else wrote that version first and nothing of ours is there. A commit whose answer was
        lost is looked up, so True and False are both certain. Raises CatalogUnavailable.
        """
        ...

    def progress(self, pipeline: str | None) -> list[Row] | None:
        """Counts without a replica, where there is a quicker way than filling one."""
        ...

    def tend(self, table: Table) -> None:
        """Write small files anew as few, and remove those that no version of the last day rests on.

        Others' commits come first. A repeat finds nothing more to do, and so does a table that is not made yet.
        """
        ...

    def close(self) -> None:
        """Let go of what is open. A repeat does nothing."""
        ...


def merge_condition(table: Table, buckets: list[int]) -> str:
    """When a source row `s` is the target row `t`. The buckets are spelled out so that no other file is read."""
    same = " AND ".join(f"t.{name} = s.{name}" for name in ("bucket", *table.key))
    return f"{same} AND t.bucket IN ({', '.join(str(bucket) for bucket in buckets)})"


def merge_values(table: Table) -> dict[str, str]:
    """What a matched row is set to, and a new one made of. `revision` counts the table's commits."""
    return {name: f"s.{name}" for name in (*columns(table), "revision")}
