"""The store port: transactions over the catalog's tables. The verbs of `Ledger` need nothing else from a backend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from hakiri.catalog.errors import CatalogUnavailable
from hakiri.catalog.tables import Table, Value
from hakiri.model.durable import FULL, is_full
from hakiri.model.errors import NotWritable

T = TypeVar("T")
Row = Mapping[str, Any]


class Session(Protocol):
    """An open transaction. Statements bind `:name`, and every statement that changes rows ends in RETURNING *."""

    def rows(self, statement: str, **values: Value) -> list[Row]:
        """Run the statement and return its rows."""
        ...

    def many(self, statement: str, values: Iterable[Mapping[str, Value]]) -> list[Row]:
        """Run the statement once per set of values, and return all rows."""
        ...

    def pick(self, statement: str, **values: Value) -> list[Row]:
        """Select rows to change, skipping those that another transaction is changing."""
        ...

    def hold(self, name: str) -> None:
        """Lock the name until this transaction ends."""
        ...


class Store(Protocol):
    """Stores rows. An error in a body rolls it back. A body may be run again, so it must have no other effects."""

    def write(
        self,
        table: Table,
        body: Callable[[Session], T],
        *,
        reads: tuple[Table, ...] = (),
        buckets: frozenset[int] | None = None,
    ) -> T:
        """Run a body that changes rows of this one table, all or none, and reads the others.

        The state of the others is at least as new as that of `table`. `buckets` limits which part of `table` is loaded.
        """
        ...

    def read(
        self, tables: tuple[Table, ...], body: Callable[[Session], T], *, buckets: frozenset[int] | None = None
    ) -> T:
        """Run a body that only reads. It sees every write that finished before."""
        ...

    def one_look(self) -> AbstractContextManager[None]:
        """Guarantee this thread's reads only the writes that finished before the block began, not before each read.

        A read always sees the writes of this process, and may see newer ones of others. Writes are not affected.
        """
        ...

    def progress(self, pipeline: str | None) -> list[Row]:
        """Count current chunks per pipeline and status: pipeline_id, status, chunks, row_count, byte_count."""
        ...

    def tend(self) -> None:
        """Free unused space and refresh statistics. A repeat has nothing left to do."""
        ...

    def close(self) -> None:
        """Release open resources. A repeat does nothing."""
        ...


def unavailable(store: str, cause: Exception) -> CatalogUnavailable | NotWritable:
    """Translate a failure of the store."""
    if is_full(cause):
        return NotWritable(folder=store, reason=FULL)
    said = (line.strip() for line in str(cause).splitlines() if not _FRAME.match(line))
    return CatalogUnavailable(store=store, reason=" ".join(filter(None, said)))


_FRAME = re.compile(r"\s*(?:\d+: |at )")
"""Separates a delta-rs message from the stack trace appended to it."""
