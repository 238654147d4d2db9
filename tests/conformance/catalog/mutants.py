"""Catalogs broken on purpose: a suite that passes one of them proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from deltalake import DeltaTable, write_deltalake

from hakiri.catalog import leases as work
from hakiri.catalog.delta import rust
from hakiri.catalog.delta.locks import NoLocks
from hakiri.catalog.delta.replica import Changes
from hakiri.catalog.lease_watch import LeaseWatch
from hakiri.catalog.tables import SCHEMAS


@dataclass(frozen=True)
class Mutant:
    """What is broken, on which subject, and the test that must notice."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    subject: str
    caught_in: str
    caught_by: str


def without_fence(patch: pytest.MonkeyPatch) -> None:
    for name in ("RENEW", "COMPLETE", "END"):
        statement = getattr(work, name).replace("AND fence = :fence AND holder = :holder", "")
        patch.setattr(work, name, statement)


def plain_append(patch: pytest.MonkeyPatch) -> None:
    merge = rust.merge_changes

    def append(handle: DeltaTable, changes: Changes, revision: int, name: str) -> None:
        if changes.table is not SCHEMAS:
            return merge(handle, changes, revision, name)
        source = rust._source(changes, revision).drop_columns(["is_gone"])
        return write_deltalake(handle, source, mode="append")

    patch.setattr(rust, "merge_changes", append)
    # The file lock would hide what it does not promise to prevent.
    patch.setattr(rust, "FileLocks", lambda *_: NoLocks())


def without_expiry(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LeaseWatch, "is_dead", lambda *_: False)


MUTANTS = {
    "no-fence": Mutant(
        without_fence, "sqlite", "test_takeover.py", "test_a_late_complete_of_the_old_holder_is_refused"
    ),
    "plain-append": Mutant(
        plain_append, "delta_rs", "test_history.py", "test_racing_writers_leave_no_gap_and_no_duplicate"
    ),
    "no-expiry": Mutant(
        without_expiry, "sqlite", "test_takeover.py", "test_a_dead_holders_chunk_is_taken_over_after_the_lease"
    ),
}
