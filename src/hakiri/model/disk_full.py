"""Recognizes a full disk in the errors of all libraries."""

from __future__ import annotations

FULL = "the disk is full"


def is_full(failure: BaseException) -> bool:
    """Return whether a write failed because the disk is full. Matches the text: few libraries give an errno."""
    said = str(failure)
    return any(mark in said for mark in _MARKS)


_MARKS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
