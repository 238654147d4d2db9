"""Processes of one machine take turns at a table, which saves them lost races and proves nothing."""

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
"""How long to wait between tries to be next. After the last the turn is taken without the lock: a stopped neighbour
costs time, never progress."""

NEXT_PAUSES_SECONDS = (0.002,) * 20_000
"""The same for the one who is next, and alone in asking."""


class Locks(Protocol):
    """Others who write the same tables."""

    @contextmanager
    def turn(self, table: Table) -> Iterator[None]:
        """Write in turn with the others, as far as they can be reached."""
        ...

    def close(self) -> None:
        """Let go of what is open. A repeat does nothing."""
        ...


class NoLocks:
    """Whoever else writes is met at the commit."""

    @contextmanager
    def turn(self, table: Table) -> Iterator[None]:  # noqa: ARG002 - nobody to wait for
        yield

    def close(self) -> None:
        """Nothing is open."""


class FileLocks:
    """Two lock files per table, which the system gives back when their holder dies: one to write, and one to be next.

    Whoever has just written waits behind the one who is next, and its threads gather for the commit after.
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
        """Hold the lock, or go on without it when it cannot be had."""
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
            self._clock.sleep(random.uniform(0, pause_seconds))  # noqa: S311 - spreads the tries, guards nothing
            return False
        return True
