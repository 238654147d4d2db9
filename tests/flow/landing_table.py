"""The table of docs/landing.md is what the kill matrix runs: each mode, each death, and the guarantee it puts to proof.

`python -m flow.landing_table`, with `tests` on the path, writes it; a test of the house compares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flow.kills import KILLS, MIRROR_KILLS, MODES, Case, Place, every, sample
from hakiri.model.crash_points import Boundary, CrashPoint

PAGE = Path(__file__).parents[2] / "docs" / "landing.md"
DEATHS = (*KILLS, *MIRROR_KILLS)
BEGIN, END = "<!-- generated: python -m flow.landing_table -->", "<!-- generated until here -->"

STAKES: dict[Boundary, tuple[str, str]] = {
    Boundary.PLANNED: ("G1", "the round planned twice, or never read"),
    Boundary.CLAIMED: ("G2", "a chunk that stays a dead worker's, or has two"),
    Boundary.BATCH_WRITTEN: ("G3", "half a file taken for a chunk"),
    Boundary.FILE_CLOSED: ("G3", "a file landed that is not on the disk"),
    Boundary.SEALED: ("G3", "an attempt landed that is not recorded"),
    Boundary.MANIFEST_WRITTEN: ("G2, G3", "two attempts at a chunk, and both landed"),
    Boundary.COMPLETED: ("G6, G10", "staged rows that never land"),
    Boundary.LANDING_RESERVED: ("G4", "a number used twice, or chunks it holds forever"),
    Boundary.PRE_HOOKS_DONE: ("G4, G10", "a landing whose post-hooks are never called"),
    Boundary.BEFORE_COMMIT: ("G6, G9", "rows set aside or landed in part"),
    Boundary.AFTER_COMMIT: ("G4", "the same rows landed again"),
    Boundary.LANDING_FINISHED: ("G5", "a cursor that stays behind, or runs ahead"),
    Boundary.SNAPSHOT_RECORDED: ("G5", "the same"),
    Boundary.CURSOR_MOVED: ("G5, G10", "a hook that is never called"),
    Boundary.HOOK_CALLED: ("G10", "a hook that is not recorded, and called again"),
    Boundary.HOOK_NOTED: ("G10", "a run that ends as if it had done nothing"),
}
"""For each boundary: the guarantees that a death there puts to proof, and what would come of it without them."""


def render() -> str:
    """The table, from the matrix as it is."""
    heads = ["killed after", "without", "there could be", *(f"`{mode}`" for mode in MODES)]
    rows = [heads, ["---"] * len(heads), *(_row(kill) for kill in DEATHS)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def written(page: str) -> str:
    """The table as the page has it."""
    return page.partition(f"{BEGIN}\n\n")[2].partition(f"\n\n{END}")[0]


def _row(kill: CrashPoint) -> list[str]:
    guarantees, otherwise = STAKES[kill.boundary]
    again = f" ({kill.passing})" if sum(one.boundary is kill.boundary for one in DEATHS) > 1 else ""
    return [f"`{kill.boundary}`{again}", guarantees, otherwise, *(_cell(kill, mode) for mode in MODES)]


def _cell(kill: CrashPoint, mode: str) -> str:
    cases = [case for case in every() if (case.kill, case.mode) == (kill, mode)]
    always = [_name(case) for case in sample() if (case.kill, case.mode) == (kill, mode)]
    return ", ".join([f"{len(cases)} cases" if cases else "-", *always])


def _name(case: Case) -> str:
    by_name = " by name" if case.place is Place.SCHEMA else ""
    return f"**{case.source} {case.catalog} {case.moment}{by_name}**"


def _lines(page: str) -> Iterator[str]:
    before, _, rest = page.partition(f"{BEGIN}\n")
    yield from (before, f"{BEGIN}\n\n{render()}\n\n{END}", rest.partition(END)[2])


if __name__ == "__main__":
    PAGE.write_text("".join(_lines(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
