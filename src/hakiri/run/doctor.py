"""Check a project's environment point by point, with advice for each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from hakiri.errors import HakiriError, as_json, render
from hakiri.model.clock import Clock


class Health(StrEnum):
    """The outcome of one check."""

    WELL = "ok"
    WARY = "caution"
    ILL = "failed"
    UNKNOWN = "not looked at"


@dataclass(frozen=True)
class Seen:
    """What a check saw, with a remark although nothing is wrong."""

    detail: str
    cautions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((self.detail, *(f"warning: {caution}" for caution in self.cautions)))


@dataclass(frozen=True)
class Look:
    """One check. `at` returns what it saw, or raises what is wrong."""

    name: str
    at: Callable[[], str | Seen]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The outcome of one check, and how long it took."""

    name: str
    health: Health
    seconds: float
    detail: str
    error: HakiriError | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "health": self.health.value,
            "seconds": round(self.seconds, 3),
            "detail": self.detail,
            "error": as_json(self.error) if self.error else None,
        }


def examine(looks: Iterable[Look], clock: Clock) -> Iterator[Finding]:
    """Run the checks one after the other, and skip those that need one that failed."""
    missing: set[str] = set()
    for look in looks:
        lacking = [name for name in look.needs if name in missing]
        if lacking:
            missing.add(look.name)
            yield Finding(look.name, Health.UNKNOWN, 0.0, f"needs {lacking[0]}")
            continue
        started = clock.now()
        error: HakiriError | None = None
        try:
            seen = look.at()
            health = Health.WARY if isinstance(seen, Seen) and seen.cautions else Health.WELL
            detail = str(seen)
        except HakiriError as failure:
            missing.add(look.name)
            health, detail, error = Health.ILL, render(failure), failure
        seconds = (clock.now() - started).total_seconds()
        yield Finding(look.name, health, seconds, detail, error)
