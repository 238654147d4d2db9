"""Sample values of a column at its source, to show with a type that is refused."""

from __future__ import annotations

from contextlib import suppress

from hakiri.errors import SourceError
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.land.staged.sample import leading_column, show_values
from hakiri.model.table import TableSchema


def sample_source(connector: Connector, schema: TableSchema, column: str) -> tuple[str, ...]:
    """Return a few values of the column, or of a field within one; none if the source gives none.

    No more is read than the first batch of rows.
    """
    name = leading_column(schema.names, column)
    if name is None:
        return ()
    with suppress(SourceError):
        for piece in connector.survey(schema).pieces[:1]:
            batches = connector.read(schema, piece.span, columns=(name,))
            rows = next((batch for batch in batches if kind_of(batch) is BatchKind.ROWS), None)
            return show_values([rows.column(name)], column[len(name) + 1 :]) if rows is not None else ()
    return ()
