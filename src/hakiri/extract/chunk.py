"""One chunk is read, reshaped, judged and handed on batch by batch, and every row of it is accounted for (G6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.errors import HakiriError
from hakiri.extract.changes.feed import Feed
from hakiri.extract.changes.normalize import by_values
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.errors import ChunkTooLarge
from hakiri.extract.hash import content_of
from hakiri.extract.landing_types import to_landing
from hakiri.extract.provenance import Provenance, with_provenance
from hakiri.extract.quarantine_rows import faults_aside, stamped
from hakiri.extract.rules.judge import Judged, judge, named
from hakiri.extract.sink import Sink
from hakiri.extract.transform.reshape import CHUNK_BYTES, Reshape, Reshaping
from hakiri.model.key import KeyValue
from hakiri.model.quarantine_row import set_aside
from hakiri.model.span import Span
from hakiri.model.staged import HASH_COLUMN, Content, Tally
from hakiri.model.table import TableSchema
from hakiri.spec.quality import AnyRowRule

_SLICE_ROWS = 131_072
"""As many rows as go on at once, where a transform has put a chunk's rows together."""


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """What to ask a connector for."""

    schema: TableSchema
    span: Span
    columns: tuple[str, ...] | None = None
    since: KeyValue | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of a chunk's rows, and how far the cursor reaches in them."""

    tally: Tally
    cursor_low: KeyValue | None = None
    cursor_high: KeyValue | None = None
    broken: Mapping[str, int] = field(default_factory=dict)
    """How many rows broke each rule."""
    content: Content | None = None
    """Of the rows that were staged; None where nobody asked."""
    notes: tuple[str, ...] = ()
    """What is to be known of the read as a whole."""


def extract_chunk(
    connector: Connector | None,
    read: ChunkRead,
    sink: Sink,
    *,
    provenance: Provenance,
    rules: tuple[AnyRowRule, ...] = (),
    reshape: Reshape | None = None,
    feed: Feed | None = None,
    tells_content: bool = False,
) -> Extracted:
    """Hand every row of a chunk to the sink, holding one batch at a time; without a connector there is none.

    With a feed, what is read are changes of rows, and those are handed on. A transform that has to see a whole chunk
    holds its rows, up to CHUNK_BYTES of them; ChunkTooLarge beyond that.

    A repeat needs a sink of its own: the rows come again from the first. Raises SourceError where the source fails,
    ExtractError where the rows do, MemoryError, and whatever the sink raises. The connection is closed either way.
    """
    conduct = _Conduct(read.schema, sink, provenance, rules, reshape, feed, Content() if tells_content else None)
    with closing(_batches(connector, read)) as batches:
        for batch in batches:
            match kind_of(batch):
                case BatchKind.ROWS:
                    conduct.rows(batch)
                case BatchKind.NOTES:
                    conduct.notes += batch.column("reason").to_pylist()
                case _:
                    conduct.faults(batch)
    if not conduct.saw_rows:
        # The sink learns the columns of a chunk without rows, too.
        conduct.rows(_empty(read.schema.select(read.columns or read.schema.names)))
    conduct.finish()
    return conduct.extracted


class _Conduct:
    def __init__(
        self,
        schema: TableSchema,
        sink: Sink,
        provenance: Provenance,
        rules: tuple[AnyRowRule, ...],
        reshape: Reshape | None,
        feed: Feed | None,
        content: Content | None,
    ) -> None:
        self._table = schema.name
        self._key = feed.key if feed else schema.primary_key
        self._cursor = schema.table.cursor
        self._sink = sink
        self._provenance = provenance
        self._rules = named(rules)
        self._reshaping = reshape.open() if reshape else None
        self._sees_all = reshape is not None and reshape.sees_all
        self._feed = feed.taught(schema.columns) if feed else None
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._tally = Tally()
        self._bounds: tuple[KeyValue, KeyValue] | None = None
        self._broken: Counter[str] = Counter()
        self._content = content
        self.saw_rows = False
        self.notes: list[str] = []

    @property
    def extracted(self) -> Extracted:
        low, high = self._bounds or (None, None)
        return Extracted(self._tally, low, high, dict(self._broken), self._content, tuple(self.notes))

    def rows(self, batch: pa.RecordBatch) -> None:
        self.saw_rows = True
        landing = to_landing(batch, table=self._table)
        self._widen(landing)
        self._tally += Tally(read=batch.num_rows)
        if self._feed is not None:
            self._unwrap(landing, self._feed)
        elif self._reshaping is None:
            self._hand_on(landing)
        elif self._sees_all:
            self._hold(landing)
        else:
            self._reshape(pa.Table.from_batches([landing]), self._reshaping)

    def finish(self) -> None:
        """Reshape what was held for it."""
        if self._reshaping is not None and self._held:
            tables = [pa.Table.from_batches([batch]) for batch in self._held]
            self._held = []
            self._reshape(pa.concat_tables(tables, promote_options="default"), self._reshaping)

    def _unwrap(self, batch: pa.RecordBatch, feed: Feed) -> None:
        found = feed(batch)
        quarantined = self._set_aside(found.aside)
        self._tally += Tally(filtered=found.filtered, added=found.added, quarantined=quarantined)
        self._hand_on(found.rows)

    def _hold(self, batch: pa.RecordBatch) -> None:
        self._held_bytes += batch.nbytes
        if self._held_bytes > CHUNK_BYTES:
            raise ChunkTooLarge(table=self._table, limit_mib=CHUNK_BYTES >> 20)
        self._held.append(batch)

    def _reshape(self, rows: pa.Table, reshaping: Reshaping) -> None:
        found = reshaping(rows)
        self._tally += Tally(filtered=found.filtered, merged=found.merged, added=found.added)
        for start in range(0, max(found.rows.num_rows, 1), _SLICE_ROWS):
            self._hand_on(to_landing(found.rows.slice(start, _SLICE_ROWS), table=self._table))

    def _hand_on(self, rows: pa.RecordBatch) -> None:
        judged = self._judge(rows)
        quarantined = self._set_aside(judged.aside)
        kept = with_provenance(judged.kept, self._provenance, table=self._table)
        self._sink.accept(kept)
        if self._content is not None:
            self._content += content_of(kept.column(HASH_COLUMN))
        self._broken.update(judged.broken)
        self._tally += Tally(staged=judged.kept.num_rows, quarantined=quarantined)

    def _set_aside(self, found: Iterable[pa.RecordBatch]) -> int:
        """Hand quarantined rows on; how many of them are nowhere else."""
        count = 0
        for rows in found:
            self._sink.accept_quarantined(stamped(rows, self._provenance, table=self._table))
            count += set_aside(rows)
        return count

    def _judge(self, rows: pa.RecordBatch) -> Judged:
        """What the rules make of the rows. A value that a change does not bring is not judged."""
        if self._feed is None or not self._rules:
            return judge(rows, self._rules, table=self._table, key=self._key)
        judged = [
            judge(some, tuple(one for one in self._rules if one.rule.field in told), table=self._table, key=self._key)
            for some, told in by_values(rows)
        ]
        return Judged(
            pa.concat_batches([one.kept for one in judged]),
            tuple(aside for one in judged for aside in one.aside),
            sum((Counter(one.broken) for one in judged), Counter()),
        )

    def faults(self, batch: pa.RecordBatch) -> None:
        rows = batch if self._feed is None else self._feed.without_tombstones(batch)
        filtered = batch.num_rows - rows.num_rows
        quarantined = self._set_aside([faults_aside(rows)])
        self._tally += Tally(read=quarantined + filtered, quarantined=quarantined, filtered=filtered)

    def _widen(self, batch: pa.RecordBatch) -> None:
        """The cursor reaches as far as what was read, whatever becomes of the rows."""
        if self._cursor is None or self._cursor not in batch.schema.names:
            return
        found = pc.min_max(_nameable(batch.column(self._cursor))).as_py()
        if found["min"] is None or found["min"] != found["min"]:
            return  # NULL and NaN are no place to go on from
        low, high = _key(found["min"]), _key(found["max"])
        if self._bounds is not None:
            low, high = min(low, self._bounds[0]), max(high, self._bounds[1])
        self._bounds = low, high


def _batches(connector: Connector | None, read: ChunkRead) -> Generator[pa.RecordBatch, None, None]:
    if connector is None:
        return
    try:
        yield from connector.read(read.schema, read.span, columns=read.columns, since=read.since)
    except (HakiriError, MemoryError):
        raise  # a worker without memory is not the source's failure
    except Exception as failure:
        raise connector.classify(failure, read.schema.table) from failure


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _nameable(column: pa.Array) -> pa.Array:
    """The values but those of years that Python has no name for: they are no place to go on from either."""
    if not pa.types.is_timestamp(column.type) and not pa.types.is_date(column.type):
        return column
    zone = UTC if pa.types.is_timestamp(column.type) and column.type.tz else None
    first = pa.scalar(datetime.min.replace(tzinfo=zone), column.type)
    last = pa.scalar(datetime.max.replace(tzinfo=zone), column.type)
    return column.filter(pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last)))


def _key(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
