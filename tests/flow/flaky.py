"""A source that fails as it is told to, wherever it is read: the faults are used up in order, one for each read."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import pyarrow as pa

from hakiri.errors import SourceError
from hakiri.extract.errors import SourceFailed
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import KeyRange, Span, cut
from hakiri.model.table import SourceTable, TableSchema

COLUMNS = pa.schema([("id", pa.int64()), ("seen", pa.int64())])


def kill_worker() -> None:
    """End this process as the kernel ends one that takes too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def exhaust_memory() -> None:
    """Ask Arrow for more than this process may have."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (64 << 20), before[1]))
    try:
        pa.allocate_buffer(1 << 30)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


Fault = Exception | Callable[[], None]
"""What goes wrong in the middle of a read: something it raises, or something that happens to its process."""


@dataclass(frozen=True)
class Flaky:
    """Rows 0 to 99 in chunks of 25; `folder` counts the reads of all processes."""

    folder: Path
    faults: tuple[Fault | None, ...] = ()
    poisoned: int | None = None
    """The number in the place of which a chunk always fails."""
    pause: float = 0.0
    """Between two batches of five rows."""
    pieces: int = 4
    twins: bool = False
    """Whether all rows are equal, and no key tells them apart."""

    def hint(self) -> BackfillHint:
        return BackfillHint(CursorKind.MONOTONIC, safe_parallelism=2)

    def probe(self, table: SourceTable) -> str:
        return f"flaky {table.name}"

    def describe(self, table: SourceTable) -> TableSchema:
        return TableSchema(table, COLUMNS, () if self.twins else ("id",))

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:  # noqa: ARG002
        rows = self._numbers(KeyRange(("id",)), since)
        if since is not None:
            return Survey((Piece(KeyRange(("id",)), rows=len(rows)),), low=0, high=99, is_exact=True)
        size = 100 // self.pieces
        spans = cut(("id",), [(start,) for start in range(size, 100, size)], with_nulls=True)
        # As large as a chunk may be, so that none is joined with its neighbour.
        return Survey(tuple(Piece(span, rows=1_000_000) for span in spans), low=0, high=99)

    def read(
        self,
        schema: TableSchema,
        span: Span,
        *,
        columns: tuple[str, ...] | None = None,  # noqa: ARG002
        since: KeyValue | None = None,
    ) -> Iterator[pa.RecordBatch]:
        fault = self._next_fault()
        numbers = self._numbers(span, since)
        for start in range(0, len(numbers), 5):
            if fault is not None and start:
                _strike(fault)
            batch = numbers[start : start + 5]
            if self.poisoned in batch:
                raise SourceFailed(connector="flaky", table=schema.name, reason="this row is cursed")
            sleep(self.pause)
            shown = [0] * len(batch) if self.twins else batch
            yield pa.RecordBatch.from_pydict({"id": shown, "seen": shown}, schema=COLUMNS)

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int | None:  # noqa: ARG002
        return len(self._numbers(span, since))

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return SourceFailed(connector="flaky", table=table.name, reason=str(failure))

    @property
    def reads(self) -> int:
        return len(list(self.folder.iterdir()))

    def _numbers(self, span: Span, since: KeyValue | None) -> list[int]:
        assert isinstance(span, KeyRange)
        low = span.low[0] if span.low else 0
        high = span.high[0] if span.high else 100
        return [number for number in range(100) if low <= number < high and (since is None or number >= since)]  # type: ignore[operator]

    def _next_fault(self) -> Fault | None:
        number = 0
        while True:
            try:
                (self.folder / str(number)).touch(exist_ok=False)
                break
            except FileExistsError:
                number += 1
        return self.faults[number] if number < len(self.faults) else None


def _strike(fault: Fault) -> None:
    if isinstance(fault, Exception):
        raise fault
    fault()
