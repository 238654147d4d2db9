"""Settings become the parts a verb needs; only this file knows which adapters there are."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.model.clock import Clock, SystemClock
from hakiri.run.doctor import Look
from hakiri.run.manifest import Workplace
from hakiri.run.surroundings import looks_around
from hakiri.settings import Settings


def workplace(settings: Settings) -> Workplace:
    """Where the command was called, with the connectors that are installed."""
    return Workplace(cwd=settings.cwd, project=settings.project, connectors={})


def looks(settings: Settings) -> Iterator[Look]:
    """Everything `hakiri doctor` looks at, the quick things first."""
    yield from looks_around(workplace(settings), settings.look_up)


def clock() -> Clock:
    """The machine's clock."""
    return SystemClock()
