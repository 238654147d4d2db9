"""The dialect of PostgreSQL. Values are passed as settings of the transaction, never as SQL text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

from hakiri.extract.connectors.postgres.types import TEXTS, TYPE, below, bounded
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.model.key import KeyValue
from hakiri.model.table import TableSchema

BOUND = "hakiri.v{number}"
"""The setting with the value of this number, from 0."""
VALUE = "current_setting('{setting}')::{type}"
FROM_BLOCK = "ctid >= '({block:d},0)'::tid"
BELOW_BLOCK = "ctid < '({block:d},0)'::tid"


@dataclass(slots=True)
class PostgresDialect:
    """The syntax of PostgreSQL for one statement; `values` are the values of its settings."""

    schema: TableSchema
    values: list[str] = field(default_factory=list)

    def quoted(self, name: str) -> str:
        return quoted(name)

    def key(self, column: str) -> str:
        """Return the expression to compare by: a text cursor is compared bytewise, as in the landed table."""
        is_text = self.name(column) in TEXTS and column == self.schema.table.cursor
        return f'{quoted(column)} COLLATE "C"' if is_text else quoted(column)

    def bind(self, column: str, value: KeyValue) -> str:
        setting = BOUND.format(number=len(self.values))
        self.values.append(to_text(value))
        return VALUE.format(setting=setting, type=self.type(column))

    def bounded(self, column: str) -> str:
        return bounded(quoted(column), self.schema.columns.field(column).type, self.name(column))

    def below(self, column: str) -> str:
        return below(quoted(column), self.schema.columns.field(column).type, self.name(column))

    def position(self, bound: int, *, at_least: bool) -> str:
        return (FROM_BLOCK if at_least else BELOW_BLOCK).format(block=bound)

    def fetched(self, expression: str) -> str:
        return f"{expression}::text"

    def extremes(self, column: str) -> str:
        # Servers before 18 have no min(uuid); texts of UUIDs have the same order.
        is_uuid = self.type(column) == "pg_catalog.uuid"
        key = f'{quoted(column)}::text COLLATE "C"' if is_uuid else self.key(column)
        return f"min({key})::text, max({key})::text"

    def value(self, column: str, found: str) -> KeyValue:
        """Parse a value that the server wrote as text; keep the text if Python has no such type."""
        with suppress(ValueError):
            return _READ.get(self.name(column), str)(found)
        return found

    def type(self, column: str) -> str:
        """Return the type that a value is cast to before it is compared with the column."""
        return str(self.schema.columns.field(column).metadata[TYPE].decode())

    def name(self, column: str) -> str:
        """Return the name of a system type; for any other, a text that is no type name."""
        schema, _, name = self.type(column).replace('"', "").partition(".")
        return name if schema == "pg_catalog" else ""


def _real(text: str) -> float:
    number = float(text)
    if number != number:  # NaN has no order, so it cannot be a bound
        raise ValueError("not a number")
    return number


_READ: dict[str, Callable[[str], KeyValue]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), int),
    "numeric": Decimal,
    **dict.fromkeys(("float4", "float8"), _real),
    "date": date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamptz"), datetime.fromisoformat),
    "uuid": UUID,
}


def to_text(value: KeyValue) -> str:
    """Write a value in PostgreSQL's input syntax."""
    match value:
        case bytes():
            return f"\\x{value.hex()}"
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value)
