"""Write the table of docs/guarantees.md: what each load mode holds after its source has changed its shape.

`python -m flow.shape_table`, with `tests` on the path, writes it from the oracle of `flow.life`; a test of the house
compares it, and `flow.test_life` runs the same cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from flow.life import START
from flow.life_oracle import Oracle
from flow.life_sources import Kind, Row

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
BEGIN, END = "<!-- generated: python -m flow.shape_table -->", "<!-- generated until here -->"

KINDS = {
    "`append`, no key": Kind("sqlite", "append", has_key=False),
    "`append`, key and cursor": Kind("sqlite", "append"),
    "`incremental_watermark`": Kind("sqlite", "incremental_watermark"),
    "`upsert`": Kind("sqlite", "upsert"),
    "`truncate`": Kind("sqlite", "truncate", has_cursor=False),
    "`blue_green`": Kind("sqlite", "blue_green", has_cursor=False),
}
SHAPES: dict[str, tuple[Row, Row]] = {
    "a column is added, with a default": ({}, {"kind": "new"}),
    "a column is added, without one": ({}, {"kind": None}),
    "a column is dropped": ({"kind": "old"}, {}),
    "a column is renamed, which no `renamed` declares": ({"before": "old"}, {"after": "old"}),
}
"""For each change: what every row has in the columns concerned, before and after."""
SEEN = [START, START + timedelta(days=1), START + timedelta(days=2)]
"""The cursor of three rows: one that is not read again, one that is read again, and one that comes with the change."""


def life_of(shape: tuple[Row, Row]) -> tuple[list[Row], list[Row]]:
    """The rows of the source before and after the change."""
    rows = [{"id": number, "seen": seen} for number, seen in enumerate(SEEN, start=1)]
    return [{**row, **shape[0]} for row in rows[:2]], [{**row, **shape[1]} for row in rows]


def promised(kind: Kind, shape: tuple[Row, Row]) -> list[Row]:
    """What the table holds after the change, each row with the columns concerned."""
    oracle = Oracle(kind)
    for rows in life_of(shape):
        oracle.apply(rows)
    columns = dict.fromkeys([*shape[0], *shape[1]])
    return [{**columns, **row} for row in sorted(oracle.held, key=lambda row: row["id"])]


def render() -> str:
    """The table."""
    heads = ["the source", *KINDS]
    rows = [heads, ["---"] * len(heads)]
    rows += [
        [told, *(_cell(promised(kind, shape), shape) for kind in KINDS.values())] for told, shape in SHAPES.items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def written(page: str) -> str:
    """The table as the page has it."""
    return page.partition(f"{BEGIN}\n\n")[2].partition(f"\n\n{END}")[0]


def _cell(rows: list[Row], shape: tuple[Row, Row]) -> str:
    names = list(dict.fromkeys([*shape[0], *shape[1]]))
    return "; ".join(f"`{name}`: {', '.join(_value(row, name) for row in rows)}" for name in names)


def _value(row: Mapping[str, Any], name: str) -> str:
    return "NULL" if row[name] is None else str(row[name])


def _lines(page: str) -> Iterator[str]:
    before, _, rest = page.partition(f"{BEGIN}\n")
    yield from (before, f"{BEGIN}\n\n{render()}\n\n{END}", rest.partition(END)[2])


if __name__ == "__main__":
    PAGE.write_text("".join(_lines(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
