"""Timestamped lines, as tests compare them."""

from __future__ import annotations

from datetime import datetime


def without_time(out: str) -> list[str]:
    """The lines without the instant that each begins with."""
    split = [line.split(" ", 1) for line in out.splitlines()]
    assert all(datetime.fromisoformat(first).tzinfo for first, _ in split)
    return [rest for _, rest in split]
