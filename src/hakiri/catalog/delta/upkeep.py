"""The catalog's own tables on a path stay small, quick to open and free of litter by themselves."""

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
    """Counts a process's commits per table and tidies up now and then. Checkpoints are written by the commits."""

    def __init__(
        self, *, compact_every: int = COMPACT_EVERY, vacuum_every: int = VACUUM_EVERY, vacuum_hours: int = VACUUM_HOURS
    ) -> None:
        self._compact_every = compact_every
        self._vacuum_every = vacuum_every
        self._vacuum_hours = vacuum_hours
        self._commits: Counter[Table] = Counter()

    def after_commit(self, table: Table, handle: DeltaTable) -> None:
        """Compact or vacuum if it is time. A failure is no loss: the commit stands, and the next one tidies up."""
        self._commits[table] += 1
        count = self._commits[table]
        with suppress(DeltaError):
            if count % self._compact_every == 0:
                handle.optimize.compact()
            if count % self._vacuum_every == 0:
                self._vacuum(handle)

    def tend(self, handle: DeltaTable, folder: Path) -> None:
        """Compact and vacuum what lies in the folder: a process that ends soon never comes to its turn."""
        with suppress(CommitFailedError):  # others' commits come first
            handle.optimize.compact()
            # What is gone already is listed again for as long as the log tells of it.
            if any((folder / name).exists() for name in self._vacuum(handle, is_rehearsal=True)):
                self._vacuum(handle)

    def _vacuum(self, handle: DeltaTable, *, is_rehearsal: bool = False) -> list[str]:
        return handle.vacuum(self._vacuum_hours, dry_run=is_rehearsal, enforce_retention_duration=False, full=True)
