"""A table that mirrors changes has a feed, which is bound to its source's columns before it is given a batch."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hakiri.errors import ChangesUnfit, ColumnReserved
from hakiri.extract.changes.debezium import Envelopes, tell_envelopes
from hakiri.extract.changes.plain import tell_plain
from hakiri.extract.changes.told import Unwrapped, unwrap
from hakiri.extract.connectors.declared import arrow_type
from hakiri.model.change import MIRRORED, OP_COLUMN
from hakiri.spec.faults import guess
from hakiri.spec.feed import feed_load, is_enveloped, mirror_key, sequence_columns
from hakiri.spec.load import LoadSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True)
class Feed:
    """The changes of one table. It pickles."""

    table: str
    load: LoadSpec
    key: tuple[str, ...]
    columns: tuple[tuple[str, str | None], ...] = ()
    """The columns of the rows, as declared, with their types."""

    def bind(self, schema: pa.Schema) -> pa.Schema:
        """The columns of the changes that rows with these columns tell. Raises ChangesUnfit or ColumnReserved."""
        return self(pa.RecordBatch.from_pylist([], schema=schema)).rows.schema

    def __call__(self, batch: pa.RecordBatch) -> Unwrapped:
        """The changes that a batch tells. Pure: a repeat gives the same. Raises as `bind` does."""
        reserved = {OP_COLUMN, *MIRRORED}
        if is_enveloped(self.load):
            told = tell_envelopes(batch, self._envelopes())
            sequence = sequence_columns(self.load, told.rows)
            reserved |= set(sequence)
            own = [name for name in told.rows if name not in sequence]
        else:
            told = tell_plain(batch, self.load.changes, self.key, table=self.table)
            sequence, own = self.load.sequence_by, list(told.rows)
        for name in (*self.key, *sequence):
            if name not in told.rows:
                reason = f"there is no column `{name}`"
                raise ChangesUnfit(table=self.table, reason=reason, guess=guess(name, told.rows))
        for name in own:
            if name.casefold() in reserved:
                raise ColumnReserved(table=self.table, column=name)
        return unwrap(batch, told, key=self.key, sequence=sequence)

    def _envelopes(self) -> Envelopes:
        is_typed = bool(self.columns) and all(kind for _, kind in self.columns)
        return Envelopes(
            table=self.table,
            key=self.key,
            sequence=self.load.sequence_by,
            names=tuple(name for name, _ in self.columns),
            kind=pa.struct([(name, arrow_type(kind)) for name, kind in self.columns if kind]) if is_typed else None,
        )


def feed_of(pipeline: PipelineSpec, table: TableSpec) -> Feed | None:
    """The table's feed; None where it holds the rows that are read."""
    load = feed_load(pipeline, table)
    if load is None:
        return None
    columns = tuple((column.name, column.type) for column in table.columns)
    return Feed(table.name, load, mirror_key(table, load), columns)
