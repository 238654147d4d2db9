"""A condition for PostgreSQL names its values; the values themselves travel as parameters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time

from hakiri.extract.connectors.postgres.types import TYPE
from hakiri.extract.connectors.predicate import quoted
from hakiri.model.key import KeyValue
from hakiri.model.table import TableSchema

VALUE = "current_setting('{setting}')::{type}"
FROM_BLOCK = "ctid >= '({block:d},0)'::tid"
BELOW_BLOCK = "ctid < '({block:d},0)'::tid"

_INTEGERS = frozenset({"pg_catalog.int2", "pg_catalog.int4", "pg_catalog.int8", "pg_catalog.oid"})
_TIMES = frozenset({"pg_catalog.timestamp", "pg_catalog.timestamptz"})


@dataclass(slots=True)
class PostgresDialect:
    """How PostgreSQL writes a condition; collects the settings that its values are read from."""

    schema: TableSchema
    settings: dict[str, str] = field(default_factory=dict)

    def key(self, column: str) -> str:
        return quoted(column)

    def bind(self, column: str, value: KeyValue) -> str:
        setting = f"hakiri.v{len(self.settings)}"
        self.settings[setting] = to_text(value)
        return VALUE.format(setting=setting, type=self.type(column))

    def position(self, bound: int, *, at_least: bool) -> str:
        return (FROM_BLOCK if at_least else BELOW_BLOCK).format(block=bound)

    def type(self, column: str) -> str:
        """The type a value is cast to before it is compared with the column."""
        return str(self.schema.columns.field(column).metadata[TYPE].decode())

    def value(self, column: str, text: str) -> KeyValue:
        """The key value the server wrote as this text: a number or a time where Python has one, else the text."""
        kind = self.type(column)
        with suppress(ValueError):
            if kind in _INTEGERS:
                return int(text)
            if kind == "pg_catalog.date":
                return date.fromisoformat(text)
            if kind in _TIMES:
                return datetime.fromisoformat(text)
        return text


def to_text(value: KeyValue) -> str:
    """The value as PostgreSQL reads it."""
    match value:
        case bytes():
            return f"\\x{value.hex()}"
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value)
