"""Histories of the simulation: which deeds follow each other, and where an apply dies."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from flow.life_sources import Kind
from hakiri.model import crash_points as boundary
from hakiri.model.crash_points import Boundary

BEFORE_READING = (Boundary.PLANNED, Boundary.CLAIMED)
AFTER_READING = (
    Boundary.COMPLETED,
    Boundary.LANDING_RESERVED,
    Boundary.BEFORE_COMMIT,
    Boundary.AFTER_COMMIT,
    Boundary.LANDING_FINISHED,
    Boundary.SNAPSHOT_RECORDED,
    Boundary.CURSOR_MOVED,
)
"""Where an apply is cut off: what a driver passes itself, so that no other process has to die."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens."""

    deed: str
    seed: int

    def __str__(self) -> str:
        return f"{self.deed}({self.seed})"


def steps_of(text: str) -> list[Step]:
    """Read steps as they are printed. Raises ValueError if one is not written like `insert(3)`."""
    found = [re.fullmatch(r"(\w+)\((\d+)\)", word) for word in text.split()]
    if not all(found):
        raise ValueError(f"a step is written like `insert(3)`: {text}")
    return [Step(one[1], int(one[2])) for one in found if one]


DEEDS = {
    "insert": 10,
    "update": 8,
    "delete": 2,
    "empty": 1,
    "move_key": 2,
    "full_refresh": 1,
    "rename_pipeline": 1,
}
"""What happens to every source, and how often."""
OF_TABLES = {
    "empty_and_refill": 2,
    "rename_column": 2,
    "widen": 1,
    "narrow": 1,
    "rekey_source": 1,
    "rewind": 1,
    "edit_lag": 1,
    "edit_cursor": 1,
}
OF_FILES = {"append_to_file": 4, "replace_file": 2, "remove_file": 2, "rename_file": 2, "repeat_keys": 3}
OF_ROWS = {
    "add_column": 3,
    "drop_column": 2,
    "edit_mode": 1,
    "edit_key": 1,
    "edit_columns": 1,
    "edit_transform": 1,
}
"""What does not happen to a log of changes."""
APPLIES = {"apply": 10, "apply_twice": 1, "apply_cut_off": 2, "leave_cut_off": 2}


def history(kind: Kind, dice: random.Random, rounds: int) -> list[Step]:
    """So many rounds of a few events and an apply."""
    own = {} if kind.mode == "cdc_mirror" else OF_ROWS | (OF_FILES if kind.is_of_files else OF_TABLES)
    steps: list[Step] = []
    for _ in range(rounds):
        for deeds, number in ((DEEDS | own, dice.randint(1, 4)), (APPLIES, 1)):
            chosen = dice.choices(list(deeds), list(deeds.values()), k=number)
            steps += [Step(deed, dice.randrange(1 << 30)) for deed in chosen]
    return steps


def shortened(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """The history without every step that it fails without."""
    kept = list(steps)
    for step in list(steps):
        fewer = [one for one in kept if one is not step]
        if fails(fewer):
            kept = fewer
    return kept


class Died(BaseException):
    """What an apply is cut off by."""


@dataclass
class Death:
    """Whether somebody was cut off."""

    is_over: bool = False


@contextmanager
def dying(place: Boundary) -> Iterator[Death]:
    """Inside, whoever passes the boundary for the first time is cut off there."""
    before, death = boundary._count_down, Death()

    def die(_stop: boundary.CrashPoint) -> None:
        boundary.set_crash_point(boundary.CrashPoint(place, passing=-1))
        boundary._count_down = lambda _: None
        raise Died

    boundary._count_down, boundary._state.stop = die, boundary.CrashPoint(place)
    try:
        yield death
    except Died:
        death.is_over = True
    finally:
        boundary._count_down, boundary._state.stop = before, None
