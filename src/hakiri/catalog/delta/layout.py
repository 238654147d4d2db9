"""Packs the columns that no query filters by into one JSON column: a MERGE takes longer with more columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from hakiri.catalog.store import Row
from hakiri.catalog.tables import Table, Value

BODY = "body"


@cache
def texts(table: Table) -> tuple[str, ...]:
    """Return the text columns of the Delta table."""
    apart = tuple(name for name in table.texts if name not in table.packed)
    return (*apart, BODY) if table.packed else apart


@cache
def ints(table: Table) -> tuple[str, ...]:
    """Return the integer columns of the Delta table."""
    return tuple(name for name in table.ints if name not in table.packed)


def columns(table: Table) -> tuple[str, ...]:
    """Return all columns of the Delta table except those that only commits use."""
    return (*texts(table), *ints(table))


def pack(table: Table, row: Row) -> dict[str, Value]:
    """Convert a row to Delta columns. '' and 0 mean no value, so the packed column omits them."""
    packed = {name: row[name] for name in table.packed if row[name]}
    return {name: json.dumps(packed) if name == BODY else row[name] for name in columns(table)}


def unpack(table: Table, kept: Mapping[str, Sequence[Value]]) -> Iterable[tuple[Value, ...]]:
    """Convert Delta columns to rows in the catalog's column order."""
    bodies = [json.loads(str(body)) for body in kept.get(BODY, ())]
    nothing: dict[str, Value] = {**dict.fromkeys(table.texts, ""), **dict.fromkeys(table.ints, 0)}
    return zip(
        *(
            [body.get(name, nothing[name]) for body in bodies] if name in table.packed else kept[name]
            for name in table.columns
        ),
        strict=True,
    )
