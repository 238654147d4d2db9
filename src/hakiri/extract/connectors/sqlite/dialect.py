"""The dialect of SQLite. Values are bound to `?` in the order of the statement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pyarrow import types

from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sqlite.types import below, bounded, from_sqlite, instant_function, is_temporal, to_sqlite
from hakiri.model.key import KeyValue
from hakiri.model.table import TableSchema

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class SqliteDialect:
    """The syntax of SQLite for one statement."""

    schema: TableSchema
    rowid: str | None
    values: list[Any] = field(default_factory=list)

    def quoted(self, name: str) -> str:
        return quoted(name)

    def key(self, column: str) -> str:
        # Times are stored as texts in several spellings; as instants they have one order.
        if is_temporal(self._type(column)):
            return f"{instant_function(self._type(column))}({quoted(column)})"
        # Bytewise, as in the landed table, whatever collation the column has.
        is_text = types.is_string(self._type(column)) and column == self.schema.table.cursor
        return f"{quoted(column)} COLLATE BINARY" if is_text else quoted(column)

    def bind(self, column: str, value: KeyValue) -> str:
        bound = to_sqlite(value, self._type(column))
        if isinstance(bound, str) and _SURROGATE.search(bound):
            # Stored text may not be UTF-8, but the driver binds only UTF-8. Other text is bound as it is, because the
            # bytes of a cast are taken for the encoding of the file.
            self.values.append(bound.encode("utf-8", "surrogateescape"))
            return "CAST(? AS TEXT)"
        self.values.append(bound)
        return "?"

    def bounded(self, column: str) -> str:
        return bounded(self.key(column), self._type(column))

    def below(self, column: str) -> str:
        return below(self.key(column), self._type(column))

    def position(self, bound: int, *, at_least: bool) -> str:
        self.values.append(bound)
        return f"{self.rowid or 'rowid'} {'>=' if at_least else '<'} ?"

    def fetched(self, expression: str) -> str:
        return expression

    def extremes(self, column: str) -> str:
        return f"min({self.key(column)}), max({self.key(column)})"

    def value(self, column: str, found: Any) -> KeyValue:
        return from_sqlite(found, self._type(column))

    def _type(self, column: str) -> Any:
        return self.schema.columns.field(column).type
