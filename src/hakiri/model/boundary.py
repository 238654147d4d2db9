"""Every write that a crash can cut in two has a name, and a test can kill the process at exactly that point.

`HAKIRI_STOP_AT=manifest_written` kills this process with SIGKILL the first time it passes that boundary;
`HAKIRI_STOP_AT=batch_written:3` the third time. Without the variable `passing` does nothing at all.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from enum import StrEnum

STOP_AT = "HAKIRI_STOP_AT"


class Boundary(StrEnum):
    """The write points of one chunk and of one landing, in the order in which they are passed."""

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
    SNAPSHOT_RECORDED = "snapshot_recorded"
    CURSOR_MOVED = "cursor_moved"
    HOOK_CALLED = "hook_called"  # a hook has done its work; the catalog has not heard of it
    HOOK_NOTED = "hook_noted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Where to stop: at the n-th passing of a boundary."""

    boundary: Boundary
    passing: int = 1


def passing(boundary: Boundary) -> None:
    """Note that this boundary is being passed. Returns at once, or, when told to stop here, never."""
    if _stop is not None and boundary is _stop.boundary:
        _count_down()


def read_stop(text: str) -> Stop | None:
    """What the environment asks for; None for an empty text, ValueError for a boundary that does not exist."""
    if not text:
        return None
    name, _, passing_text = text.partition(":")
    stop = Stop(Boundary(name), int(passing_text or 1))
    if stop.passing < 1:
        raise ValueError(f"{STOP_AT}: passings are counted from 1")
    return stop


# Read once, so that passing a boundary costs one comparison.
_stop = read_stop(os.environ.get(STOP_AT, ""))
_passed = 0


def _count_down() -> None:
    global _passed  # noqa: PLW0603 a process dies once
    _passed += 1
    if _stop is not None and _passed == _stop.passing:
        os.kill(os.getpid(), signal.SIGKILL)
