"""What an edit of a manifest did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ManifestEdit:
    """What was done: the files written and removed, and what a person should know about it."""

    pipeline: str
    written: tuple[str, ...]
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
