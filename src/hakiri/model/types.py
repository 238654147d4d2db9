"""Column types, with conversions from and to Delta logs, Spark SQL and plans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from hakiri.model.schema_name import quote


@dataclass(frozen=True, slots=True)
class Simple:
    """A type without parameters, by Delta's name: `long`, `timestamp_ntz`."""

    name: str


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class Array:
    element: Type


@dataclass(frozen=True, slots=True)
class Map:
    key: Type
    value: Type


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    is_nullable: bool = True


@dataclass(frozen=True, slots=True)
class Struct:
    """A record, or a whole table."""

    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """Return the field of this name, ignoring case like Delta."""
        return next((field for field in self.fields if field.name.lower() == name.lower()), None)

    def renamed(self, names: Mapping[str, str]) -> Struct:
        """Return the struct with some fields renamed."""
        return Struct(tuple(replace(field, name=names.get(field.name, field.name)) for field in self.fields))


Type = Simple | Decimal | Array | Map | Struct

_REAL = (Simple("float"), Simple("double"))


def is_real(kind: Type) -> bool:
    """Return whether values may be NaN or infinite."""
    return kind in _REAL


SQL_NAMES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "STRING",
    "binary": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
}

_DELTA_NAMES = {sql.lower(): name for name, sql in SQL_NAMES.items()}
_AWKWARD = frozenset(" ,;{}()\n\t=")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def from_delta(plain: Mapping[str, Any]) -> Struct:
    """Convert the parsed JSON of a schema in a Delta log."""
    found = _read(plain)
    if not isinstance(found, Struct):
        raise ValueError("a table is a struct")
    return found


def to_delta(kind: Type) -> Any:
    """Convert to the JSON values of a Delta log."""
    match kind:
        case Simple():
            return kind.name
        case Decimal():
            return f"decimal({kind.precision},{kind.scale})"
        case Array():
            return {"type": "array", "elementType": to_delta(kind.element), "containsNull": True}
        case Map():
            pair = {"keyType": to_delta(kind.key), "valueType": to_delta(kind.value)}
            return {"type": "map", **pair, "valueContainsNull": True}
        case Struct():
            fields = [
                {"name": one.name, "type": to_delta(one.type), "nullable": one.is_nullable, "metadata": {}}
                for one in kind.fields
            ]
            return {"type": "struct", "fields": fields}
        case _:
            assert_never(kind)


def sql_type(kind: Type) -> str:
    """Write the type in Spark SQL."""
    match kind:
        case Simple():
            return SQL_NAMES.get(kind.name, kind.name.upper())
        case Decimal():
            return f"DECIMAL({kind.precision},{kind.scale})"
        case Array():
            return f"ARRAY<{sql_type(kind.element)}>"
        case Map():
            return f"MAP<{sql_type(kind.key)},{sql_type(kind.value)}>"
        case Struct():
            return f"STRUCT<{', '.join(f'{quote(one.name)}: {sql_type(one.type)}' for one in kind.fields)}>"
        case _:
            assert_never(kind)


def plain_type(spelling: str) -> Type:
    """Parse a type that is not nested, as plans write it: the text of `sql_type` in lower case."""
    return _read(_DELTA_NAMES.get(spelling, spelling))


def columns_of(table: Struct) -> tuple[tuple[str, str], ...]:
    """Return each column with its type as plans write it: `decimal(10,2)`, `array<string>`."""
    return tuple((one.name, sql_type(one.type).lower()) for one in table.fields)


def sql_columns(table: Struct) -> str:
    """Write the columns as the schema for a Spark reader."""
    return ", ".join(f"{quote(one.name)} {sql_type(one.type)}" for one in table.fields)


def names_within(kind: Type) -> Iterator[str]:
    """Yield every field name at any depth."""
    match kind:
        case Struct():
            for one in kind.fields:
                yield one.name
                yield from names_within(one.type)
        case Array():
            yield from names_within(kind.element)
        case Map():
            yield from names_within(kind.key)
            yield from names_within(kind.value)
        case Simple() | Decimal():
            return
        case _:
            assert_never(kind)


def needs_mapped_names(table: Struct) -> bool:
    """Return whether some name is allowed only with Delta's column mapping."""
    return any(_AWKWARD & set(name) for name in names_within(table))


def _read(plain: Any) -> Type:
    match plain:
        case str():
            found = _DECIMAL.fullmatch(plain)
            return Decimal(int(found[1]), int(found[2])) if found else Simple(plain)
        case {"type": "struct", "fields": [*fields]}:
            return Struct(tuple(Field(one["name"], _read(one["type"]), bool(one["nullable"])) for one in fields))
        case {"type": "array", "elementType": element}:
            return Array(_read(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return Map(_read(key), _read(value))
        case _:
            raise ValueError("not a type of a Delta schema")
