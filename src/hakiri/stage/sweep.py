"""Removes old files of attempts that did not win. Never removes those of a winning attempt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hakiri.stage.layout import RUNS, attempt_of, parents
from hakiri.stage.port import Entry, Files


@dataclass(frozen=True, slots=True)
class Remnant:
    """The folder of an attempt that did not win."""

    folder: str
    files: int
    bytes: int
    newest: datetime


@dataclass(frozen=True, slots=True)
class Sweep:
    """The remnants that a sweep found old enough, and those it removed."""

    found: tuple[Remnant, ...]
    removed: tuple[Remnant, ...] = ()


def find_remnants(files: Files, *, winning: Collection[str], now: datetime, retention: timedelta) -> Sweep:
    """Return what `sweep` would remove, without removing it.

    An attempt is as old as its newest file, so one that is still being written is never old, whatever the state of its
    lease. `winning` are the folders of winning attempts in the catalog, like `StagedChunk.folder`.
    """
    if retention <= timedelta():
        raise ValueError("without a retention a sweep would meet attempts that are being written")
    return Sweep(tuple(one for one in _remnants(files, winning) if now - one.newest > retention))


def sweep(files: Files, *, winning: Collection[str], now: datetime, retention: timedelta) -> Sweep:
    """Remove what `find_remnants` finds, and folders that become empty. A repeat has nothing left to do.

    Each attempt is checked again before it is removed: one that was written to meanwhile stays.
    """
    return _removed(files, find_remnants(files, winning=winning, now=now, retention=retention).found)


def sweep_beaten(files: Files, *, winning: Collection[str], beaten_by: Mapping[str, int]) -> Sweep:
    """Remove attempts that can no longer win, however young: those with a lower number than the winner.

    `beaten_by` has the winning numbers by the name of the chunk's folder. A repeat has nothing left to do.
    """
    remnants = _remnants(files, winning)
    return _removed(files, tuple(one for one in remnants if _is_beaten(one.folder, beaten_by)))


def _is_beaten(folder: str, beaten_by: Mapping[str, int]) -> bool:
    chunk, attempt = folder.split("/")[-2:]
    number = attempt.removeprefix("attempt-")
    return number.isdecimal() and int(number) < beaten_by.get(chunk, 0)


def _remnants(files: Files, winning: Collection[str]) -> Iterable[Remnant]:
    attempts: dict[str, list[Entry]] = defaultdict(list)
    for entry in files.walk(RUNS):
        if folder := _attempt_of(entry):
            attempts[folder].append(entry)
    return (_remnant(folder, entries) for folder, entries in sorted(attempts.items()) if folder not in winning)


def _removed(files: Files, found: tuple[Remnant, ...]) -> Sweep:
    removed = tuple(remnant for remnant in found if _remove(files, remnant))
    for folder in sorted({above for remnant in removed for above in _between(remnant.folder)}, key=len, reverse=True):
        files.remove(folder)  # fails, and the folder stays, if it contains another attempt
    return Sweep(found, removed)


def _attempt_of(entry: Entry) -> str | None:
    """Return the attempt's folder that contains the entry; None for a file in place of such a folder."""
    folder = attempt_of(entry.path)
    return None if folder == entry.path and not entry.is_folder else folder


def _remnant(folder: str, entries: Iterable[Entry]) -> Remnant:
    listed = list(entries)
    kept = [entry for entry in listed if not entry.is_folder]
    return Remnant(
        folder=folder,
        files=len(kept),
        bytes=sum(entry.bytes for entry in kept),
        newest=max(entry.changed_at for entry in listed),
    )


def _remove(files: Files, remnant: Remnant) -> bool:
    inside = list(files.walk(remnant.folder))
    if any(entry.changed_at > remnant.newest for entry in inside):
        return False
    for entry in inside:
        files.remove(entry.path)
    return files.remove(remnant.folder)


def _between(folder: str) -> list[str]:
    """Return the folders of the chunk, the node and the run."""
    return [above for above in parents(folder) if above.startswith(f"{RUNS}/")]
