"""Every write that a crash can cut in two has a name, and a test can kill the process at exactly that point.

`HAKIRI_STOP_AT=manifest_written` kills this process with SIGKILL the first time it passes that boundary;
`HAKIRI_STOP_AT=batch_written:3` the third time. A task on an executor of the same machine takes its driver along, as a
machine would that fails. Without the variable `passing` does nothing at all.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

STOP_AT = "HAKIRI_STOP_AT"


class Boundary(StrEnum):
    """The write points of one chunk and of one landing, in the order in which they are passed."""

    PLANNED = "planned"  # the catalog has the round's chunks
    CLAIMED = "claimed"  # the catalog has leased the chunk
    BATCH_WRITTEN = "batch_written"  # a batch was handed to an attempt's file
    FILE_CLOSED = "file_closed"  # a staged file has its footer; nothing is durable yet
    SEALED = "sealed"  # every staged file is durable; nothing names them yet
    MANIFEST_WRITTEN = "manifest_written"  # the attempt and the way to it are durable; the catalog has not heard of it
    COMPLETED = "completed"  # the catalog names the winning attempt
    LANDING_RESERVED = "landing_reserved"  # the catalog has given the landing its number
    PRE_HOOKS_DONE = "pre_hooks_done"  # every pre-hook is noted, and that post-hooks are owed; nothing is written yet
    BEFORE_COMMIT = "before_commit"  # everything is ready for the Delta commit
    AFTER_COMMIT = "after_commit"  # Delta has committed; the catalog has not heard of it
    LANDING_FINISHED = "landing_finished"  # the catalog has the landing's version
    SNAPSHOT_RECORDED = "snapshot_recorded"
    CURSOR_MOVED = "cursor_moved"
    HOOK_CALLED = "hook_called"  # a hook has done its work; the catalog has not heard of it
    HOOK_NOTED = "hook_noted"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Where to stop: at the n-th passing of a boundary, and which process to take along."""

    boundary: Boundary
    passing: int = 1
    driver: int | None = None
    machine: str = ""
    """The boot of the machine that the driver runs on."""


def passing(boundary: Boundary) -> None:
    """Note that this boundary is being passed. Returns at once, or, when told to stop here, never."""
    stop = _state.stop
    if stop is not None and boundary is stop.boundary:
        _count_down(stop)


def read_crash_point(text: str) -> CrashPoint | None:
    """What the environment asks for; None for an empty text, ValueError for a boundary that does not exist."""
    if not text:
        return None
    name, _, passing_text = text.partition(":")
    stop = CrashPoint(Boundary(name), int(passing_text or 1))
    if stop.passing < 1:
        raise ValueError(f"{STOP_AT}: passings are counted from 1")
    return stop


def crash_point_for_tasks() -> CrashPoint | None:
    """What this process was told, for its tasks to be told the same; None nearly always."""
    return _state.stop and replace(_state.stop, driver=os.getpid(), machine=_boot())


def set_crash_point(stop: CrashPoint) -> None:
    """Stop where the driver was told to. Passings are counted on from here."""
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
        return os.urandom(8).hex()  # two processes that cannot tell are not taken for neighbours
