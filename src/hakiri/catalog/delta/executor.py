"""Whoever runs the statements, a commit lands on exactly the state the decision was made on, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hakiri.catalog.delta.layout import columns
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.store import Row
from hakiri.catalog.tables import Table

Wanted = Mapping[Table, frozenset[int] | None]
"""Tables to read, and the buckets of each that are needed; None for all of them."""


class Executor(Protocol):
    """Reads and commits catalog tables. Called by one thread at a time."""

    def refresh(
        self, wanted: Wanted, replica: Replica, *, since: int | None = None, along: tuple[Table, ...] = ()
    ) -> None:
        """Bring the replica to the newest version of these tables, at least for these buckets. A repeat is cheap.

        What the replica holds of the others is never older than what it holds of the first table, which a move from
        one table to another relies on. A table that was read after the moment `since` need not be read again. If a
        statement has to be sent, the tables of `along` may be read with it.
        """
        ...

    def moment(self) -> int:
        """Return the present moment, for a later `refresh` to read nothing twice."""
        ...

    def can_try(self, table: Table) -> bool:
        """Whether to try a commit on what the replica holds of the table, without a refresh first.

        Only where a refresh is expensive and nobody else seems to write the table.
        """
        ...

    def commit(self, changes: Changes) -> bool:
        """Write the changes as the next version after the one that the replica holds.

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
