"""Names the points between two writes at which tests can kill the process.

`HAKIRI_STOP_AT=manifest_written` kills this process with SIGKILL the first time it passes that boundary;
`HAKIRI_STOP_AT=batch_written:3` the third time. A task on an executor of the same machine also kills its driver, as if
the machine failed. Without the variable, `passing` does nothing.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

STOP_AT = "HAKIRI_STOP_AT"


class Boundary(StrEnum):
    """The points between writes of one chunk and of one landing, in order."""

    PLANNED = "planned"  # the catalog has the round's chunks
    CLAIMED = "claimed"  # the catalog has leased the chunk
    BATCH_WRITTEN = "batch_written"  # a batch was passed to an attempt's file
    FILE_CLOSED = "file_closed"  # a staged file has its footer; nothing is durable yet
    SEALED = "sealed"  # every staged file is durable; nothing refers to them yet
    MANIFEST_WRITTEN = "manifest_written"  # the attempt and its folders are durable; the catalog does not know of it
    COMPLETED = "completed"  # the catalog names the winning attempt
    LANDING_RESERVED = "landing_reserved"  # the catalog has given the landing its number
    PRE_HOOKS_DONE = "pre_hooks_done"  # pre-hooks are recorded as done, post-hooks as due; nothing is written
    BEFORE_COMMIT = "before_commit"  # everything is ready for the Delta commit
    AFTER_COMMIT = "after_commit"  # Delta has committed; the catalog does not know of it
    LANDING_FINISHED = "landing_finished"  # the catalog has the landing's version
    SNAPSHOT_RECORDED = "snapshot_recorded"
    CURSOR_MOVED = "cursor_moved"
    HOOK_CALLED = "hook_called"  # a hook has done its work; the catalog does not know of it
    HOOK_NOTED = "hook_noted"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The n-th passing of a boundary, and the process to kill as well."""

    boundary: Boundary
    passing: int = 1
    driver: int | None = None
    machine: str = ""
    """The boot id of the driver's machine."""


def passing(boundary: Boundary) -> None:
    """Record the passing of a boundary. Kills the process if this is its crash point."""
    stop = _state.stop
    if stop is not None and boundary is stop.boundary:
        _count_down(stop)


def read_crash_point(text: str) -> CrashPoint | None:
    """Parse HAKIRI_STOP_AT; None for an empty text. Raises ValueError for an unknown boundary."""
    if not text:
        return None
    name, _, passing_text = text.partition(":")
    stop = CrashPoint(Boundary(name), int(passing_text or 1))
    if stop.passing < 1:
        raise ValueError(f"{STOP_AT}: passings are counted from 1")
    return stop


def crash_point_for_tasks() -> CrashPoint | None:
    """Return this process's crash point, to be passed to its tasks; usually None."""
    return _state.stop and replace(_state.stop, driver=os.getpid(), machine=_boot())


def set_crash_point(stop: CrashPoint) -> None:
    """Use the driver's crash point in this process. Passings are counted from here."""
    _state.stop = stop


@dataclass(slots=True)
class _State:
    stop: CrashPoint | None
    passed: int = 0


# Read once, so that passing a boundary costs one comparison.
_state = _State(read_crash_point(os.environ.get(STOP_AT, "")))


def _count_down(stop: CrashPoint) -> None:
    _state.passed += 1
    if _state.passed != stop.passing:
        return
    if stop.driver is not None and stop.machine == _boot():
        os.kill(stop.driver, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return os.urandom(8).hex()  # unknown: must not match another process
