"""Column types as values.

Each notation has a module that parses and writes it: `arrow`, `delta` (the JSON of Delta logs) and `text` (Spark SQL,
plans and manifests). `widening` compares types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

MAX_DIGITS = 38
"""The most digits of a decimal, in Delta and in Arrow's decimal128."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A type without parameters, by Delta's name: `long`, `timestamp_ntz`. A table may have names not listed here."""

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

BOOLEAN = Simple("boolean")
BYTE, SHORT, INTEGER, LONG = Simple("byte"), Simple("short"), Simple("integer"), Simple("long")
FLOAT, DOUBLE = Simple("float"), Simple("double")
STRING, BINARY = Simple("string"), Simple("binary")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Simple("date"), Simple("timestamp"), Simple("timestamp_ntz")


def decimal_for(precision: int, scale: int) -> Decimal | None:
    """Return the decimal for a source's precision and scale; None if it needs too many digits.

    `numeric(2,-3)` means thousands and `numeric(3,5)` small fractions; Delta has neither, so both get more digits.
    """
    precision, scale = (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
    return Decimal(precision, scale) if precision <= MAX_DIGITS else None


def is_real(kind: Type) -> bool:
    """Return whether values may be NaN or infinite."""
    return kind in (FLOAT, DOUBLE)


def parts(kind: Type) -> tuple[tuple[str, Type], ...]:
    """Return the types directly within a nested type: fields by name, `element`, or `key` and `value`."""
    match kind:
        case Struct():
            return tuple((one.name, one.type) for one in kind.fields)
        case Array():
            return (("element", kind.element),)
        case Map():
            return (("key", kind.key), ("value", kind.value))
        case Simple() | Decimal():
            return ()
        case _:
            assert_never(kind)


def within(kind: Type) -> Iterator[Type]:
    """Yield the type, and every type within it at any depth."""
    yield kind
    for _, part in parts(kind):
        yield from within(part)


def needs_mapped_names(table: Struct) -> bool:
    """Return whether some name, at any depth, is allowed only with Delta's column mapping."""
    return any(_AWKWARD & set(name) for one in within(table) if isinstance(one, Struct) for name in one.names)


_AWKWARD = frozenset(" ,;{}()\n\t=")
