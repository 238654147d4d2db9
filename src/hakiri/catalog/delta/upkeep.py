"""Compacts and vacuums the catalog's tables on a path."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from hakiri.catalog.delta.properties import COMPACT_EVERY, VACUUM_EVERY
from hakiri.catalog.tables import Table

VACUUM_HOURS = 24


class Upkeep:
    """Compacts and vacuums after every so many commits of a process. Commits write checkpoints themselves."""

    def __init__(
        self, *, compact_every: int = COMPACT_EVERY, vacuum_every: int = VACUUM_EVERY, vacuum_hours: int = VACUUM_HOURS
    ) -> None:
        self._compact_every = compact_every
        self._vacuum_every = vacuum_every
        self._vacuum_hours = vacuum_hours
        self._commits: Counter[Table] = Counter()

    def after_commit(self, table: Table, handle: DeltaTable) -> None:
        """Compact or vacuum if it is due. Failures are ignored: the commit stands, and a later one tries again."""
        self._commits[table] += 1
        count = self._commits[table]
        with suppress(DeltaError):
            if count % self._compact_every == 0:
                handle.optimize.compact()
            if count % self._vacuum_every == 0:
                self._vacuum(handle)

    def tend(self, handle: DeltaTable, folder: Path) -> None:
        """Compact and vacuum now: short processes never reach the number of commits after which it is due."""
        with suppress(CommitFailedError):  # give way to other commits
            handle.optimize.compact()
            # Files already removed stay in the list as long as the log mentions them.
            if any((folder / name).exists() for name in self._vacuum(handle, is_rehearsal=True)):
                self._vacuum(handle)

    def _vacuum(self, handle: DeltaTable, *, is_rehearsal: bool = False) -> list[str]:
        return handle.vacuum(self._vacuum_hours, dry_run=is_rehearsal, enforce_retention_duration=False, full=True)
