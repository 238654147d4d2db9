"""One chunk is read, reshaped, judged and handed on batch by batch, and every row of it is accounted for (G6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.errors import HakiriError, RowsMultiplied
from hakiri.extract.aside import faults_aside
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.hash import content_of
from hakiri.extract.landing_types import to_landing
from hakiri.extract.provenance import Provenance, with_provenance
from hakiri.extract.rules.judge import judge, named
from hakiri.extract.sink import Sink
from hakiri.model.key import KeyValue
from hakiri.model.quarantined import set_aside
from hakiri.model.span import Span
from hakiri.model.staged import HASH_COLUMN, Content, Tally
from hakiri.model.table import TableSchema
from hakiri.spec.quality import AnyRowRule

Transform = Callable[[pl.LazyFrame], pl.LazyFrame]
"""Reshapes the rows of one batch. It may change and drop rows; it sees no other batch."""


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


def extract_chunk(
    connector: Connector | None,
    read: ChunkRead,
    sink: Sink,
    *,
    provenance: Provenance,
    rules: tuple[AnyRowRule, ...] = (),
    transform: Transform | None = None,
    tells_content: bool = False,
) -> Extracted:
    """Hand every row of a chunk to the sink, holding one batch at a time; without a connector there is none.

    A repeat needs a sink of its own: the rows come again from the first. Raises SourceError where the source fails,
    ExtractError where the rows do, MemoryError, and whatever the transform or the sink raises. The connection is
    closed either way.
    """
    conduct = _Conduct(read.schema, sink, provenance, rules, transform, Content() if tells_content else None)
    with closing(_batches(connector, read)) as batches:
        for batch in batches:
            if kind_of(batch) is BatchKind.ROWS:
                conduct.rows(batch)
            else:
                conduct.faults(batch)
    if not conduct.saw_rows:
        # The sink learns the columns of a chunk without rows, too.
        conduct.rows(_empty(read.schema.select(read.columns or read.schema.names)))
    return conduct.extracted


class _Conduct:
    def __init__(
        self,
        schema: TableSchema,
        sink: Sink,
        provenance: Provenance,
        rules: tuple[AnyRowRule, ...],
        transform: Transform | None,
        content: Content | None,
    ) -> None:
        self._table = schema.name
        self._cursor = schema.table.cursor
        self._sink = sink
        self._provenance = provenance
        self._rules = named(rules)
        self._transform = transform
        self._tally = Tally()
        self._bounds: tuple[KeyValue, KeyValue] | None = None
        self._broken: Counter[str] = Counter()
        self._content = content
        self.saw_rows = False

    @property
    def extracted(self) -> Extracted:
        low, high = self._bounds or (None, None)
        return Extracted(self._tally, low, high, dict(self._broken), self._content)

    def rows(self, batch: pa.RecordBatch) -> None:
        self.saw_rows = True
        landing = to_landing(batch, table=self._table)
        self._widen(landing)
        reshaped = landing if self._transform is None else self._reshaped(landing, self._transform)
        judged = judge(reshaped, self._rules, table=self._table)
        for rows in judged.aside:
            self._sink.accept_quarantined(rows)
        kept = with_provenance(judged.kept, self._provenance, table=self._table)
        self._sink.accept(kept)
        if self._content is not None:
            self._content += content_of(kept.column(HASH_COLUMN))
        self._broken.update(judged.broken)
        self._tally += Tally(
            read=batch.num_rows,
            staged=judged.kept.num_rows,
            quarantined=sum(map(set_aside, judged.aside)),
            filtered=batch.num_rows - reshaped.num_rows,
        )

    def faults(self, batch: pa.RecordBatch) -> None:
        rows = faults_aside(batch)
        self._sink.accept_quarantined(rows)
        count = set_aside(rows)
        self._tally += Tally(read=count, quarantined=count)

    def _widen(self, batch: pa.RecordBatch) -> None:
        """The cursor reaches as far as what was read, whatever becomes of the rows."""
        if self._cursor is None or self._cursor not in batch.schema.names:
            return
        found = pc.min_max(batch.column(self._cursor)).as_py()
        if found["min"] is None or found["min"] != found["min"]:
            return  # NULL and NaN are no place to go on from
        low, high = _key(found["min"]), _key(found["max"])
        if self._bounds is not None:
            low, high = min(low, self._bounds[0]), max(high, self._bounds[1])
        self._bounds = low, high

    def _reshaped(self, batch: pa.RecordBatch, transform: Transform) -> pa.RecordBatch:
        frame = transform(pl.DataFrame(pa.Table.from_batches([batch])).lazy()).collect()
        if frame.height > batch.num_rows:
            raise RowsMultiplied(table=self._table, taken=batch.num_rows, given=frame.height)
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
        found = table.to_batches() or [_empty(table.schema)]
        return to_landing(found[0], table=self._table)


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


def _key(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
