"""An instant has one text, so that text sorts as time does in every store."""

from __future__ import annotations

from datetime import UTC, datetime


def to_text(instant: datetime) -> str:
    """`2026-05-12T08:14:00.000000Z`: always UTC, always the same width."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def to_brief(instant: datetime) -> str:
    """`2026-05-12T08:14:00Z`: UTC, with a fraction of the second only where there is one."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """The instant `to_text` wrote."""
    return datetime.fromisoformat(text)
