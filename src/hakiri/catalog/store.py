"""The verbs are written once, because a store gives them one thing: a transaction that happens or does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from hakiri.catalog.errors import CatalogUnavailable
from hakiri.catalog.tables import Table, Value
from hakiri.model.disk_full import FULL, is_full
from hakiri.model.errors import NotWritable

T = TypeVar("T")
Row = Mapping[str, Any]


class Session(Protocol):
    """A transaction under way. Statements bind `:name` and every change ends in RETURNING *."""

    def rows(self, statement: str, **values: Value) -> list[Row]:
        """Run the statement and give its rows."""
        ...

    def many(self, statement: str, values: Iterable[Mapping[str, Value]]) -> list[Row]:
        """Run the statement once per set of values, and give all rows."""
        ...

    def pick(self, statement: str, **values: Value) -> list[Row]:
        """Select rows to change, passing over those another transaction is changing."""
        ...

    def hold(self, name: str) -> None:
        """Until this transaction ends, no other gets past a `hold` of the same name."""
        ...


class Store(Protocol):
    """Where rows are kept. Whatever a body raises undoes the body; it may be run again, so it changes nothing else."""

    def write(
        self,
        table: Table,
        body: Callable[[Session], T],
        *,
        reads: tuple[Table, ...] = (),
        buckets: frozenset[int] | None = None,
    ) -> T:
        """Run a body that changes rows of this one table, all or none, and reads the others.

        What the others hold is at least as new as what `table` holds. `buckets` narrows `table` to what is needed.
        """
        ...

    def read(
        self, tables: tuple[Table, ...], body: Callable[[Session], T], *, buckets: frozenset[int] | None = None
    ) -> T:
        """Run a body that only reads, seeing every write that ended before."""
        ...

    def one_look(self) -> AbstractContextManager[None]:
        """Let the reads of this thread see the writes that ended before this began, rather than before each read.

        A read sees the writes of this process in any case, and may see newer ones of others. Writes are not concerned.
        """
        ...

    def progress(self, pipeline: str | None) -> list[Row]:
        """Counts of current chunks per pipeline and status: pipeline_id, status, chunks, row_count, byte_count."""
        ...

    def tend(self) -> None:
        """Give back room that no row needs, and know better how to find rows. A repeat finds nothing more to do."""
        ...

    def close(self) -> None:
        """Let go of what is open. A repeat does nothing."""
        ...


def unavailable(store: str, cause: Exception) -> CatalogUnavailable | NotWritable:
    """What a failure of the store itself is told as."""
    if is_full(cause):
        return NotWritable(folder=store, reason=FULL)
    said = (line.strip() for line in str(cause).splitlines() if not _FRAME.match(line))
    return CatalogUnavailable(store=store, reason=" ".join(filter(None, said)))


_FRAME = re.compile(r"\s*(?:\d+: |at )")
"""Of a stack that delta-rs adds to what it says."""
