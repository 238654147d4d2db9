"""Write the table of docs/cursors.md: what each load mode holds of a source that is followed by a cursor of each type.

`python -m flow.cursor_table`, with `tests` on the path, writes it from the cases that `flow.test_cursors` applies; a
test of the house compares it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cursor_kinds import FILES, POSTGRES, POSTGRES_UNORDERED, SQLITE, SQLITE_UNORDERED, Kind, Unordered

PAGE = Path(__file__).parents[2] / "docs" / "cursors.md"
BEGIN, END = "<!-- generated: python -m flow.cursor_table -->", "<!-- generated until here -->"

MODES = ("append", "upsert", "incremental_watermark")
KINDS = {"postgres": POSTGRES, "sqlite": SQLITE, "files": FILES}
UNORDERED = {"postgres": POSTGRES_UNORDERED, "sqlite": SQLITE_UNORDERED}
DAYS = 4
"""As many applies; on the last day nothing has happened."""

Changes = dict[int, tuple[str, str | None]]
"""By the key of a row, its note and its cursor."""

INSERTED, UPDATED, EMPTIED, WITHOUT, TIED, MADE_ODD, LATE, ODD = 1, 2, 3, 4, 5, 6, 8, 90
EVENTS = {
    UPDATED: "updated",
    TIED: "tied",
    LATE: "late",
    WITHOUT: "NULL",
    EMPTIED: "set to NULL",
    ODD: "corrected",
    MADE_ODD: "made odd",
}
"""What happens to a row, by its key: the first odd one is corrected in the end, and a plain one made odd."""


def rows(kind: Kind, day: int) -> Changes:
    """What comes on a day."""
    low, high, top, later, last, next_one = kind.values
    odd = {ODD + number: (f"odd {number}", value) for number, value in enumerate(kind.odd)}
    late = {LATE: ("late", kind.late)} if kind.late else {}
    corrected = {ODD: ("corrected", next_one), MADE_ODD: ("made odd", kind.odd[-1])} if kind.odd else {}
    return [
        {INSERTED: ("first", low), UPDATED: ("old", high), EMPTIED: ("top", top), WITHOUT: ("none", None), **odd},
        {TIED: ("tied", top), MADE_ODD: ("later", later), UPDATED: ("changed", last)},
        {7: ("next", next_one), EMPTIED: ("emptied", None), **late, **corrected},
        {},
    ][day]


def expected(kind: Kind, mode: str, days: int) -> Counter[tuple[int, str]]:
    """The keys and notes that the table holds after so many days."""
    landed = [(key, *change) for day in range(days) for key, change in rows(kind, day).items()]
    if kind.is_set_aside:
        landed = [one for one in landed if one[2] not in kind.odd]
    if mode == "incremental_watermark":
        landed = [one for one in landed if one[0] != LATE]
    kept = [(key, note) for key, note, _ in landed]
    return Counter(dict(kept).items()) if mode == "upsert" else Counter(kept)


def render() -> str:
    """The table: a line for all types of a source that behave alike, and one for those that are refused."""
    heads = ["source", "types, with odd values", *(f"`{mode}`" for mode in MODES)]
    lines = [heads, ["---"] * len(heads)]
    for source, kinds in KINDS.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for kind in kinds:
            alike.setdefault(tuple(_cell(kind, mode) for mode in MODES), []).append(_type(kind))
        lines += [[source, "; ".join(told), *cells] for cells, told in alike.items()]
        if refused := [_unordered(one) for one in UNORDERED.get(source, ())]:
            lines.append([source, "; ".join(refused), *["refused, HK615"] * len(MODES)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written(page: str) -> str:
    """The table as the page has it."""
    return page.partition(f"{BEGIN}\n\n")[2].partition(f"\n\n{END}")[0]


def _type(kind: Kind) -> str:
    values = ", ".join(f"`{value}`" for value in kind.odd)
    return f"`{kind.declared}` ({'quarantined: ' * kind.is_set_aside}{values})" if values else f"`{kind.declared}`"


def _cell(kind: Kind, mode: str) -> str:
    """How many rows the table holds in the end for each that something has happened to."""
    missing = ({ODD, MADE_ODD} if not kind.odd else set()) | ({LATE} if not kind.late else set())
    held = Counter(key for key, _ in expected(kind, mode, DAYS).elements())
    return ", ".join(f"{event} {held[key]}" for key, event in EVENTS.items() if key not in missing)


def _unordered(case: Unordered) -> str:
    told = f"`{case.declared}`" if case.declared else "no type"
    told += f" holding {', '.join(f'`{value!r}`' for value in case.values[:3])}" if case.values else ""
    return f"{told} declared `{case.landed}`" if case.landed else told


def _lines(page: str) -> Iterator[str]:
    before, _, rest = page.partition(f"{BEGIN}\n")
    yield from (before, f"{BEGIN}\n\n{render()}\n\n{END}", rest.partition(END)[2])


if __name__ == "__main__":
    PAGE.write_text("".join(_lines(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
