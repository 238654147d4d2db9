"""Limit a landing to the part of the table that can hold a staged key, in literals by which Delta skips files.

This part is called the reach. A column gives no bound if the bound might exclude a matching row: floats have NaN and
two zeros, text may be folded by a collation or rewritten on its way through SQL, and a column that changes its type
changes its order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hakiri.land.sql import column, text
from hakiri.model.types import Decimal, Field, Simple, Struct

REACH = "/* hakiri reach */ TRUE"
"""Placeholder for the reach in the statements of a mode; unreplaced, it is the whole table."""

EVERYWHERE = "TRUE"
"""The reach if no key column gives a bound."""

FEW = 64
"""Up to this many staged rows, each key is listed; for more, the least and the greatest."""
_MOST_LISTED = 1_000
_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Bound:
    """A key column that limits the reach."""

    field: Field
    is_listed: bool = False
    """Whether the table is partitioned by it, so that its values are few and are listed."""


def bounds(key: Sequence[str], schema: Struct, stored: Struct, partition_by: Sequence[str]) -> tuple[Bound, ...]:
    """Return the key columns that limit the reach."""
    parts = {name.lower() for name in partition_by}
    fields = [(schema.find(name), stored.find(name)) for name in key]
    return tuple(
        Bound(new, new.name.lower() in parts)
        for new, old in fields
        if new is not None and old is not None and new.type == old.type and _suffix(new) is not None
    )


def asked(bound: Bound, rows: int) -> str:
    """Return the aggregate over this many staged rows from which `reach` is built."""
    name = column(bound.field.name)
    if bound.is_listed or rows <= FEW:
        return f"COLLECT_SET(CAST({name} AS STRING))"
    return f"ARRAY(CAST(MIN({name}) AS STRING), CAST(MAX({name}) AS STRING))"


def reach(found: Sequence[tuple[Bound, Sequence[str]]], rows: int, *, of: str = "t") -> str:
    """Return the condition that a stored row has to meet to have a staged key."""
    return " AND ".join(filter(None, (_condition(bound, values, rows, of) for bound, values in found))) or EVERYWHERE


def _condition(bound: Bound, values: Sequence[str], rows: int, of: str) -> str:
    name, literals = column(bound.field.name, of=of), [_literal(bound.field, value) for value in values]
    if not literals:
        return ""
    if bound.is_listed or rows <= FEW:
        if None in literals or len(literals) > _MOST_LISTED:
            return ""
        # Not IN: Delta uses only its least and greatest value to skip files.
        return "(" + " OR ".join(f"{name} = {one}" for one in literals) + ")"
    sides = zip((">=", "<="), literals, strict=True)
    return " AND ".join(f"{name} {sign} {one}" for sign, one in sides if one is not None)


_SUFFIXES = {"byte": "Y", "short": "S", "integer": "", "long": "L"}
_WORDS = {"date": "DATE ", "timestamp": "TIMESTAMP ", "timestamp_ntz": "TIMESTAMP_NTZ ", "string": ""}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?")


def _suffix(field: Field) -> str | None:
    match field.type:
        case Decimal():
            return "BD"
        case Simple(name):
            return _SUFFIXES.get(name, _WORDS.get(name))
        case _:
            return None


def _literal(field: Field, value: str) -> str | None:
    """Return a value that Spark wrote as text as a literal of the column's type; None if that is not certain."""
    mark = _suffix(field)
    if mark is None or len(value) > _LONGEST:
        return None
    match field.type:
        case Simple("string"):
            # Spark would replace what looks like a variable before it parses the statement.
            return text(value) if value.isprintable() and "$" not in value else None
        case Simple(name) if name in _WORDS:
            return f"{mark}'{value}'" if _MOMENT.fullmatch(value) else None
        case _:
            return f"{value}{mark}"
