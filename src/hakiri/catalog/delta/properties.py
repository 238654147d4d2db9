"""Delta properties of catalog tables: serializable isolation, and a log kept for a week."""

from __future__ import annotations

from collections.abc import Iterable

from hakiri.catalog.errors import LineageTampered

PROPERTIES = {
    "delta.isolationLevel": "Serializable",
    "delta.checkpointInterval": "50",
    # A paused writer must not find its version free again, so the log is kept longer than any allowed pause.
    "delta.logRetentionDuration": "interval 7 days",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}

COMPACT_EVERY = 64
VACUUM_EVERY = 1_024

_APPENDING = frozenset({"CREATE TABLE", "CREATE TABLE AS SELECT", "MERGE", "OPTIMIZE", "VACUUM START", "VACUUM END"})


def require_append_only(store: str, append_only: str | None, commits: Iterable[tuple[int, str]]) -> None:
    """Raise LineageTampered if the table may be, or has been, changed by anything but appends.

    Delta itself refuses UPDATE, DELETE and overwrite, but not RESTORE or dropping the property.
    """
    if append_only != "true":
        raise LineageTampered(store=store, evidence="the property delta.appendOnly was taken off")
    for version, operation in commits:
        if operation not in _APPENDING:
            raise LineageTampered(store=store, evidence=f"version {version} is a {operation}")
