"""Write SQL that converts stored values to a landing's types, which may be wider or have more fields at any depth."""

from __future__ import annotations

from hakiri.land.sql import column, text
from hakiri.model.types import Array, Field, Map, Struct, Type
from hakiri.model.types.text import sql_type


def fitted_columns(stored: Struct, wanted: Struct, *, of: str) -> str:
    """Return a landing's columns, selected from a stored row; NULL for those that the table lacks."""
    return ", ".join(f"{fitted_column(stored, one, of=of)} AS {column(one.name)}" for one in wanted.fields)


def fitted_column(stored: Struct, wanted: Field, *, of: str) -> str:
    """Return one column of a landing, selected from a stored row; NULL if the table lacks it."""
    return _member(of, stored.find(wanted.name), wanted)


def fitted_value(value: str, own: Type, wanted: Type) -> str:
    """Return a value converted to a type that is wider, or has more or fewer members at any depth."""
    return _fitted(value, own, wanted)


def null_of(kind: Type) -> str:
    """Return NULL of this type."""
    return f"CAST(NULL AS {sql_type(kind)})"


def _member(of: str, own: Field | None, wanted: Field) -> str:
    return null_of(wanted.type) if own is None else _fitted(column(own.name, of=of), own.type, wanted.type)


def _fitted(value: str, own: Type, wanted: Type, depth: int = 0) -> str:
    """Convert a value; records are rebuilt member by member, because CAST does not add members."""
    one = f"hakiri_{depth}"
    match own, wanted:
        case _ if own == wanted:
            return value
        case Struct(), Struct():
            members = (f"{text(field.name)}, {_member(value, own.find(field.name), field)}" for field in wanted.fields)
            return f"IF({value} IS NULL, NULL, NAMED_STRUCT({', '.join(members)}))"
        case Array(), Array():
            return f"TRANSFORM({value}, {one} -> {_fitted(one, own.element, wanted.element, depth + 1)})"
        case Map(), Map():
            key, held = (
                _fitted(f"{one}.key", own.key, wanted.key, depth + 1),
                _fitted(f"{one}.value", own.value, wanted.value, depth + 1),
            )
            return f"MAP_FROM_ENTRIES(TRANSFORM(MAP_ENTRIES({value}), {one} -> STRUCT({key}, {held})))"
        case _:
            return f"CAST({value} AS {sql_type(wanted)})"
