"""Land a pipeline's tables one at a time, while others are read; a table that fails stops none of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from types import TracebackType
from typing import Self

from hakiri.errors import HakiriError
from hakiri.model.chunk import ChunkKey
from hakiri.model.errors import SessionLost
from hakiri.run.context import RunContext
from hakiri.run.events import TableFailed
from hakiri.run.journal import Journal
from hakiri.run.land_table import TableLander, TableLanding


class PipelineLander:
    """Lands the tables of a pipeline beside its reading. Every landing goes through here."""

    def __init__(self, context: RunContext, landers: Mapping[str, TableLander]) -> None:
        self._context = context
        self._landers = landers
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"land-{context.spec.id}")
        self._lock = Lock()
        self._fresh: dict[str, set[ChunkKey]] = defaultdict(set)
        self._bytes: dict[str, int] = defaultdict(int)
        self._queued: list[Future[None]] = []
        self._refused: set[str] = set()
        self.done: list[TableLanding] = []
        self.errors: list[HakiriError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown()

    @property
    def has_reread(self) -> bool:
        """Whether chunks have to be read again before they can land."""
        return any(lander.has_reread for lander in self._landers.values())

    def note_staged(self, chunk: ChunkKey, size: int) -> None:
        """Note a staged chunk, and start landing its table once enough is staged. Any thread may call."""
        if chunk.table not in self._landers:
            return  # its table is refused in this run
        with self._lock:
            self._fresh[chunk.table].add(chunk)
            self._bytes[chunk.table] += size
            if self._bytes[chunk.table] < self._context.services.worth_bytes:
                return
            self._bytes[chunk.table] = 0
            self._queued.append(self._pool.submit(self._land, chunk.table, is_last=False))

    def finish(self) -> None:
        """Land everything that is staged; after a stop it is left to the next run. Raises SessionLost."""
        for future in self._queued:
            future.result()
        for table in self._landers:
            if not self._context.stop.is_asked:
                self._land(table, is_last=True)

    def _land(self, table: str, *, is_last: bool) -> None:
        if table in self._refused or self._context.stop.is_asked:
            return
        with self._lock:
            fresh = frozenset(self._fresh[table])
        try:
            self.done += self._landers[table].land(is_last=is_last, fresh=fresh)
        except SessionLost:
            raise  # no table can land any more
        except HakiriError as error:
            self._refuse(table, error)
        except Exception as unforeseen:  # noqa: BLE001 a bug in one table must not stop the others
            self._refuse(table, self._context.as_bug(unforeseen))
        self._landers[table].hooks.after()

    def _refuse(self, table: str, error: HakiriError) -> None:
        self._refused.add(table)
        self.errors.append(error)
        record_table_failed(self._context.journal, table, error)


def record_table_failed(journal: Journal, table: str, error: HakiriError) -> None:
    """Record that nothing more lands in a table in this run, and why."""
    journal.record(TableFailed(table=table, code=error.code, message=error.message()))
