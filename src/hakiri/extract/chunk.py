"""Extracts one chunk: reads, transforms and checks it batch by batch, and accounts for every row (G6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.errors import HakiriError
from hakiri.extract.changes.feed import Feed
from hakiri.extract.changes.normalize import by_values
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.token import token_of
from hakiri.extract.errors import ChunkTooLarge
from hakiri.extract.hash import content_of
from hakiri.extract.landing_types import to_landing
from hakiri.extract.provenance import Provenance, with_provenance
from hakiri.extract.quarantine_rows import faults_aside, stamped
from hakiri.extract.rules.judge import Judged, judge, named
from hakiri.extract.sink import Sink
from hakiri.extract.transform.reshape import CHUNK_BYTES, Reshape, Reshaping
from hakiri.model.columns.quarantine import set_aside
from hakiri.model.key import KeyValue
from hakiri.model.span import PageToken, Span
from hakiri.model.staged import HASH_COLUMN, Content, Tally
from hakiri.model.table import TableSchema
from hakiri.spec.quality import AnyRowRule

_SLICE_ROWS = 131_072
"""Rows per batch after a transform that needs the whole chunk."""


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """The part of a table to read."""

    schema: TableSchema
    span: Span
    columns: tuple[str, ...] | None = None
    since: KeyValue | None = None
    walks: bool = False
    """Whether to go on from token to token until a page has no rows, because a part of the pages must not land."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of an extraction: row counts, and the cursor values that were read."""

    tally: Tally
    cursor_low: KeyValue | None = None
    cursor_high: KeyValue | None = None
    broken: Mapping[str, int] = field(default_factory=dict)
    """How many rows broke each rule."""
    content: Content | None = None
    """Of the staged rows; None unless requested."""
    notes: tuple[str, ...] = ()
    """Remarks on the read as a whole."""
    token: KeyValue | None = None
    """Where the next read continues, if the source has said it."""


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
    """Read a chunk and pass its rows to the sink, one batch at a time. Without a connector there are no rows.

    With a feed, the source has changes of rows, and those are passed on. A transform that needs a whole chunk keeps
    its rows in memory, up to CHUNK_BYTES; a larger chunk raises ChunkTooLarge.

    A repeat needs a new sink, because it starts from the first row. Raises SourceError for the source, ExtractError
    for the rows, MemoryError, and whatever the sink raises. Always closes the connection.
    """
    extraction = _Extraction(read.schema, sink, provenance, rules, reshape, feed, Content() if tells_content else None)
    part: ChunkRead | None = read
    while part is not None:
        before = extraction.read_rows
        with closing(_batches(connector, part)) as batches:
            for batch in batches:
                match kind_of(batch):
                    case BatchKind.ROWS:
                        extraction.rows(batch)
                    case BatchKind.NOTES:
                        extraction.notes += batch.column("reason").to_pylist()
                    case BatchKind.TOKEN:
                        extraction.token = token_of(batch)
                    case _:
                        extraction.faults(batch)
        part = extraction.next_page(part) if extraction.read_rows > before else None
    if not extraction.saw_rows:
        # The sink needs the columns even if the chunk has no rows.
        extraction.rows(_empty(read.schema.select(read.columns or read.schema.names)))
    extraction.finish()
    return extraction.extracted


class _Extraction:
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
        self.token: KeyValue | None = None
        self._pages: set[str] = set()

    @property
    def extracted(self) -> Extracted:
        low, high = self._bounds or (None, None)
        return Extracted(self._tally, low, high, dict(self._broken), self._content, tuple(self.notes), self.token)

    @property
    def read_rows(self) -> int:
        return self._tally.read

    def next_page(self, read: ChunkRead) -> ChunkRead | None:
        """Return the read of the page after this one; None if the read is not to be continued, or the page is last."""
        if not read.walks or not isinstance(self.token, str) or self.token in self._pages:
            return None
        self._pages.add(self.token)  # a server that leads back to a page that was read gives no end
        return replace(read, span=PageToken(self.token), since=self.token)

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
        """Transform the rows that were held until the chunk was complete."""
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
        """Pass quarantined rows to the sink, and return how many of them do not also land."""
        count = 0
        for rows in found:
            self._sink.accept_quarantined(stamped(rows, self._provenance, table=self._table))
            count += set_aside(rows)
        return count

    def _judge(self, rows: pa.RecordBatch) -> Judged:
        """Apply the rules to the rows. Values that a change does not contain are not checked."""
        if self._feed is None or not self._rules:
            return judge(rows, self._rules, table=self._table, key=self._key)
        judged = [
            judge(some, tuple(one for one in self._rules if one.rule.field in known), table=self._table, key=self._key)
            for some, known in by_values(rows)
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
        """Extend the cursor bounds by all rows that were read, even if they do not land."""
        if self._cursor is None or self._cursor not in batch.schema.names:
            return
        found = pc.min_max(_nameable(batch.column(self._cursor))).as_py()
        if found["min"] is None or found["min"] != found["min"]:
            return  # NULL and NaN cannot be a cursor position
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
        raise  # running out of memory is not a failure of the source
    except Exception as failure:
        raise connector.classify(failure, read.schema.table) from failure


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _nameable(column: pa.Array) -> pa.Array:
    """Drop times outside the years that Python supports: they cannot be a cursor position."""
    if not pa.types.is_timestamp(column.type) and not pa.types.is_date(column.type):
        return column
    zone = UTC if pa.types.is_timestamp(column.type) and column.type.tz else None
    first = pa.scalar(datetime.min.replace(tzinfo=zone), column.type)
    last = pa.scalar(datetime.max.replace(tzinfo=zone), column.type)
    return column.filter(pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last)))


def _key(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
