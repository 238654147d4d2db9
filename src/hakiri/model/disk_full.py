"""That a disk is full is one fact, whichever library ran into it."""

from __future__ import annotations

FULL = "the disk is full"


def is_full(failure: BaseException) -> bool:
    """Whether something could not be written for want of room. Told by text: few libraries pass the number on."""
    said = str(failure)
    return any(mark in said for mark in _MARKS)


_MARKS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
