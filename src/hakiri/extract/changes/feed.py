"""The feed of a table that mirrors changes: turns batches of messages or rows into changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.changes.debezium import Envelopes, tell_envelopes
from hakiri.extract.changes.describe import learned, messages_schema
from hakiri.extract.changes.normalize import Unwrapped, unwrap
from hakiri.extract.changes.plain import tell_plain
from hakiri.extract.connectors.declared import arrow_type, has_numbers, source_table
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of, split_places, with_places
from hakiri.extract.errors import ChangesUnfit, ColumnReserved
from hakiri.model.columns.change import CHANGE, KEPT_COLUMN, MIRRORED
from hakiri.model.span import WholeTable
from hakiri.model.table import TableSchema
from hakiri.spec.feed import feed_load, mirror_key, sequence_columns
from hakiri.spec.load import ChangesSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.validation_errors import guess


@dataclass(frozen=True, slots=True)
class Feed:
    """The changes of one table. It pickles."""

    table: str
    changes: ChangesSpec
    """What a change looks like."""
    sequence_by: tuple[str, ...]
    """The columns or fields that order the changes of a key, as the manifest names them."""
    key: tuple[str, ...]
    columns: tuple[tuple[str, str | None], ...] = ()
    """The columns of the rows, as declared, with their types."""

    learned: pa.StructType | None = None
    """The columns that the schemas of a sample define."""

    @property
    def is_typed(self) -> bool:
        """Return whether the type of every column is declared."""
        return bool(self.columns) and all(kind for _, kind in self.columns)

    def bind(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the changes for a source with these columns. Raises ChangesUnfit or ColumnReserved."""
        return self(pa.RecordBatch.from_pylist([], schema=schema)).rows.schema

    def taught(self, schema: pa.Schema) -> Feed:
        """Return the feed with the row type that `described` has found."""
        kind = learned(schema)
        return self if kind is None else replace(self, learned=kind)

    def __call__(self, batch: pa.RecordBatch) -> Unwrapped:
        """Return the changes in a batch. Pure: a repeat gives the same. Raises as `bind` does."""
        batch, places = split_places(batch)
        reserved = {*CHANGE, KEPT_COLUMN, *MIRRORED}
        if self.changes.is_enveloped:
            changes = tell_envelopes(batch, self._envelopes())
            sequence = sequence_columns(self.changes, self.sequence_by, changes.rows)
            reserved |= set(sequence)
            own = [name for name in changes.rows if name not in sequence]
        else:
            changes = tell_plain(batch, self.changes, self.key, table=self.table)
            sequence, own = self.sequence_by, list(changes.rows)
        for name in (*self.key, *sequence):
            if name not in changes.rows:
                reason = f"there is no column `{name}`"
                raise ChangesUnfit(table=self.table, reason=reason, guess=guess(name, changes.rows))
            if types.is_nested(kind := changes.rows[name].type):
                raise ChangesUnfit(table=self.table, reason=f"`{name}` is {kind}, which has no order")
        for name in sequence:
            if dict(self.columns).get(name) is None and has_numbers(changes.rows[name]):
                raise ChangesUnfit(table=self.table, reason=f"{_AS_TEXT.format(name)}{self._way_out}")
        for name in own:
            if name.casefold() in reserved:
                raise ColumnReserved(table=self.table, column=name)
        return unwrap(batch, changes, key=self.key, sequence=sequence, places=places)

    def without_tombstones(self, faults: pa.RecordBatch) -> pa.RecordBatch:
        """Drop Kafka tombstones (the line `null`) from what a connector could not read."""
        if not self.changes.is_enveloped or kind_of(faults) is not BatchKind.QUARANTINED:
            return faults
        is_tombstone = pc.equal(pc.utf8_trim_whitespace(faults.column("raw")), "null")
        return faults.filter(pc.invert(pc.fill_null(is_tombstone, fill_value=False)))

    @property
    def _way_out(self) -> str:
        if self.changes.is_enveloped:
            return "name another field of `source` under `load.sequence_by`"
        return "declare the types of the columns under `columns`"

    def _envelopes(self) -> Envelopes:
        declared = [(name, arrow_type(kind)) for name, kind in self.columns if kind]
        return Envelopes(
            table=self.table,
            key=self.key,
            sequence=self.sequence_by,
            names=tuple(name for name, _ in self.columns),
            kind=pa.struct(declared) if self.is_typed else None,
            learned=self.learned,
        )


_AS_TEXT = "`{}` orders them and is text with numbers in it, of which 10 comes before 9: "


def feed_of(pipeline: PipelineSpec, table: TableSpec) -> Feed | None:
    """Return the table's feed; None if the source has rows instead of changes."""
    load = feed_load(pipeline, table)
    if load is None:
        return None
    columns = tuple((column.name, column.type) for column in table.columns)
    return Feed(table.name, load.changes, load.sequence_by, mirror_key(table, load), columns)


def described(connector: Connector, pipeline: PipelineSpec, table: TableSpec) -> TableSchema:
    """Describe the table at its source, for a feed in the form that `Feed.taught` needs. Raises SourceError."""
    found = connector.describe(source_table(pipeline, table))
    feed = feed_of(pipeline, table)
    if feed is None:
        return found
    if feed.changes.is_enveloped:
        found = messages_schema(found, lambda asked: connector.read(asked, WholeTable()), is_typed=feed.is_typed)
    return replace(found, columns=with_places(found.columns))
