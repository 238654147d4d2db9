"""Lock files with which processes on one machine take turns. They avoid lost races; correctness does not need them."""

from __future__ import annotations

import fcntl
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Protocol

from hakiri.catalog.store import unavailable
from hakiri.catalog.tables import Table
from hakiri.model.clock import Clock

PAUSES_SECONDS = (*(0.002 * 2**step for step in range(4)), *(0.05 for _ in range(1_000)))
"""Pauses between tries for the `next` lock. After the last, the caller goes on without it, so that a stopped process
can delay others but never block them."""

NEXT_PAUSES_SECONDS = (0.002,) * 20_000
"""Pauses between tries for the write lock; only the holder of the `next` lock tries."""


class Locks(Protocol):
    """Coordinates the processes that write the same tables."""

    @contextmanager
    def turn(self, table: Table) -> Iterator[None]:
        """Take turns with other writers, as far as they can be coordinated."""
        ...

    def close(self) -> None:
        """Release open resources. A repeat does nothing."""
        ...


class NoLocks:
    """No coordination: writers compete at the commit."""

    @contextmanager
    def turn(self, table: Table) -> Iterator[None]:  # noqa: ARG002 - no locks
        yield

    def close(self) -> None:
        """Do nothing."""


class FileLocks:
    """Two lock files per table: one to write, and one to be the next writer. The OS releases them when a holder dies.

    A process that has just written queues behind the next one, so its threads can join one later commit.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._open: dict[str, IO[bytes]] = {}

    @contextmanager
    def turn(self, table: Table) -> Iterator[None]:
        writing, following = self._file(f"{table.name}.lock"), self._file(f"{table.name}.next.lock")
        with ExitStack() as turn:
            with self._held(following, PAUSES_SECONDS):
                turn.enter_context(self._held(writing, NEXT_PAUSES_SECONDS))
            yield

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _file(self, name: str) -> IO[bytes]:
        if name not in self._open:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._open[name] = (self._folder / name).open("ab")
            except OSError as cause:
                raise unavailable(str(self._folder), cause) from cause
        return self._open[name]

    @contextmanager
    def _held(self, file: IO[bytes], pauses_seconds: tuple[float, ...]) -> Iterator[None]:
        """Hold the lock, or go on without it if it cannot be acquired."""
        locked = any(self._lock(file, pause) for pause in pauses_seconds)
        try:
            yield
        finally:
            if locked:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _lock(self, file: IO[bytes], pause_seconds: float) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._clock.sleep(random.uniform(0, pause_seconds))  # noqa: S311 - jitter, not security
            return False
        return True
