"""Register tables and views under their names, for queries without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from hakiri.land.errors import TableNotLanded, TableUnreadable
from hakiri.model.view import View

READABLE = frozenset({"timestampNtz", "columnMapping", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"})
"""Table features that delta-rs was tested to read correctly."""

CREATE = "CREATE VIEW {view} AS {query}"
COLUMNS = "SELECT * FROM {name} LIMIT 0"

_MAX_REASON = 500


class QuerySession:
    """The tables and views of a query. Each table is opened once, when it is registered."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        """`tables` are paths or addresses by name."""
        self._tables = tables
        self._builder = QueryBuilder()
        self._laid_out: dict[str, tuple[str, ...]] = {}

    def lay_out(self, names: Iterable[str]) -> None:
        """Open and register these tables; keep open ones. Raises TableNotLanded or TableUnreadable."""
        for name in names:
            if name not in self._laid_out:
                table = open_table(name, self._tables[name])
                self._builder.register(quoted(name), table)
                self._laid_out[name] = tuple(field.name for field in table.schema().fields)

    def lay_out_view(self, view: View) -> None:
        """Register the view; the views that it reads have to be registered before.

        Raises ValueError, in one line, if it does not fit what it reads; TableNotLanded or TableUnreadable.
        """
        from hakiri.land.views.translate import translate  # the parser takes a while to load
        from hakiri.spec.view import over

        self.lay_out(read for read in view.reads if read not in self._laid_out)
        text = over(view, {read: f"`{read}`" for read in view.reads})
        query = translate(text, [column for read in view.reads for column in self._laid_out[read]])
        try:
            self.execute(CREATE.format(view=quoted(view.name), query=query))
            columns = self.execute(COLUMNS.format(name=quoted(view.name))).schema.names
        except DeltaError as error:
            raise ValueError(reason_of(error)) from error
        self._laid_out[view.name] = tuple(columns)

    def execute(self, sql: str) -> pa.RecordBatchReader:
        """Run the query. Raises DeltaError."""
        return pa.RecordBatchReader.from_stream(self._builder.execute(sql))


def open_table(name: str, path: str) -> DeltaTable:
    """Open a table if all its features can be read. Raises TableNotLanded or TableUnreadable."""
    try:
        table = DeltaTable(path)
        protocol = table.protocol()
    except TableNotFoundError as error:
        raise TableNotLanded(table=name) from error
    except (DeltaError, OSError) as error:
        raise TableUnreadable(table=name, reason=reason_of(error)) from error
    if strange := sorted(set(protocol.reader_features or ()) - READABLE):
        raise TableUnreadable(table=name, reason=f"it uses {', '.join(strange)}")
    return table


def reason_of(error: Exception) -> str:
    """Return the engine's message, in one short line."""
    return " ".join(str(error).split())[:_MAX_REASON]


def quoted(name: str) -> str:
    """Quote a name as one identifier of the engine, dots included."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
