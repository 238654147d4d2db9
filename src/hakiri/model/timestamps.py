"""Writes instants as text that sorts chronologically in every store."""

from __future__ import annotations

from datetime import UTC, datetime


def to_text(instant: datetime) -> str:
    """Write `2026-05-12T08:14:00.000000Z`: always UTC, always the same width."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def to_brief(instant: datetime) -> str:
    """Write `2026-05-12T08:14:00Z`: UTC, with a fraction only if it is not zero."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """Parse what `to_text` wrote."""
    return datetime.fromisoformat(text)
