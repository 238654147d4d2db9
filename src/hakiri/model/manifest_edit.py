"""The result of editing manifests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ManifestEdit:
    """The files that an edit wrote and removed, and remarks for the user."""

    pipeline: str
    written: tuple[str, ...]
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
