"""Find and remove files of a table that no version within the retention needs.

delta-rs only lists files: it would also remove manifests of staged chunks, and files that have yet to land.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow.fs import FileSelector, FileSystem, FileType

from hakiri.land.delta.rust import features_of
from hakiri.land.errors import UpkeepFailed
from hakiri.land.query.session import reason_of
from hakiri.land.staged.sample import files_at

LISTED_WRONG = frozenset({"deletionVectors"})
"""Features with files that delta-rs may not know about."""

_CHANGES = "_change_data"


@dataclass(frozen=True, slots=True)
class Unneeded:
    """A file in a table's folder that no version within the retention needs."""

    path: str
    """The path within the table's folder."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of a table that can be removed."""

    files: tuple[Unneeded, ...] = ()
    left: str = ""
    """Why nothing is listed, although there may be something."""


def is_table(name: str, path: str) -> bool:
    """Return whether there is a Delta table. Raises UpkeepFailed."""
    try:
        return DeltaTable.is_deltatable(path)
    except (DeltaError, OSError) as error:
        raise UpkeepFailed(table=name, doing="look at", reason=reason_of(error)) from error


def list_unneeded(
    name: str, path: str, *, now: datetime, retention: timedelta, may_go: Callable[[str], bool]
) -> Listed:
    """List unneeded Parquet files older than this retention and the table's own. Touches nothing.

    `may_go` returns whether a path in the table's folder belongs to the table alone: files that have yet to land are
    there as well. Raises UpkeepFailed.
    """
    try:
        table = DeltaTable(path)
        if strange := sorted(features_of(table) & LISTED_WRONG):
            return Listed(left=f"not vacuumed: it uses {', '.join(strange)}, so let a post-hook VACUUM it")
        hours = math.ceil(retention / timedelta(hours=1))
        ours = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        own = set(table.vacuum(None, dry_run=True, full=True))  # by the table's own property
        kept = _taken_out(path, now - retention)
        found = (one for one in ours if one in own and one not in kept and _is_data(one) and may_go(one))
        return Listed(tuple(_old(path, found, now - retention)))
    except (DeltaError, OSError) as error:
        raise UpkeepFailed(table=name, doing="vacuum", reason=reason_of(error)) from error


def remove(name: str, path: str, files: Iterable[Unneeded]) -> None:
    """Remove the files, and the checksums that Spark keeps beside them. A repeat does no harm. Raises UpkeepFailed."""
    try:
        system, folder = files_at(path)
        for file in files:
            above, _, own = file.path.rpartition("/")
            for gone in (file.path, f"{above}/.{own}.crc".lstrip("/")):
                with suppress(FileNotFoundError):  # another process may remove it too
                    system.delete_file(f"{folder}/{gone}")
    except OSError as error:
        raise UpkeepFailed(table=name, doing="vacuum", reason=reason_of(error)) from error


def _taken_out(root: str, since: datetime) -> frozenset[str]:
    """Return the paths that commits since then removed: a checkpoint forgets them after the table's own retention."""
    system, folder = files_at(root)
    log = system.get_file_info(FileSelector(f"{folder}/_delta_log"))
    lines = (
        line
        for entry in log
        if entry.extension == "json" and entry.mtime > since
        for line in _read(system, entry.path).splitlines()
        if b'"remove"' in line
    )
    paths = [action["remove"]["path"] for action in map(json.loads, lines) if "remove" in action]
    return frozenset((*paths, *map(unquote, paths)))


def _read(system: FileSystem, path: str) -> bytes:
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())


def _is_data(path: str) -> bool:
    """Return whether the file has rows: Delta ignores names that begin with `.` or `_`, except partitions."""
    *folders, own = path.split("/")
    hidden = [one for one in folders if one.startswith((".", "_")) and "=" not in one and one != _CHANGES]
    return own.endswith(".parquet") and not own.startswith((".", "_")) and not hidden


def _old(root: str, paths: Iterable[str], before: datetime) -> Iterable[Unneeded]:
    """Yield the files that were not written since, judged by this machine's clock as well."""
    system, folder = files_at(root)
    for path in paths:
        info = system.get_file_info(f"{folder}/{path}")
        if info.type is FileType.File and info.mtime <= before:
            yield Unneeded(path, info.size)
