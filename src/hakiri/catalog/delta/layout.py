"""A row has few columns in Delta, because planning a MERGE costs by the column: what nobody filters by is one text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from hakiri.catalog.store import Row
from hakiri.catalog.tables import Table, Value

BODY = "body"


@cache
def texts(table: Table) -> tuple[str, ...]:
    """The text columns of the Delta table."""
    apart = tuple(name for name in table.texts if name not in table.packed)
    return (*apart, BODY) if table.packed else apart


@cache
def ints(table: Table) -> tuple[str, ...]:
    """The integer columns of the Delta table."""
    return tuple(name for name in table.ints if name not in table.packed)


def columns(table: Table) -> tuple[str, ...]:
    """All columns of the Delta table but those that only a commit needs."""
    return (*texts(table), *ints(table))


def pack(table: Table, row: Row) -> dict[str, Value]:
    """The row as Delta keeps it. '' and 0 stand for nothing, so the body leaves them out."""
    packed = {name: row[name] for name in table.packed if row[name]}
    return {name: json.dumps(packed) if name == BODY else row[name] for name in columns(table)}


def unpack(table: Table, kept: Mapping[str, Sequence[Value]]) -> Iterable[tuple[Value, ...]]:
    """The rows in the catalog's column order, from the Delta table's columns."""
    bodies = [json.loads(str(body)) for body in kept.get(BODY, ())]
    nothing: dict[str, Value] = {**dict.fromkeys(table.texts, ""), **dict.fromkeys(table.ints, 0)}
    return zip(
        *(
            [body.get(name, nothing[name]) for body in bodies] if name in table.packed else kept[name]
            for name in table.columns
        ),
        strict=True,
    )
