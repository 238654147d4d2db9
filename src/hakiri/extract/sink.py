"""The sink port: where extraction delivers a chunk's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa


class Sink(Protocol):
    """Takes the rows of one attempt, in order. An accepted batch is not delivered again."""

    def accept(self, kept: pa.RecordBatch) -> None:
        """Take rows that will land, provenance columns included."""
        ...

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        """Take rows that were set aside, in the form of `model.quarantine_row`."""
        ...


class Heeding:
    """A sink that calls `look` before each batch; an error raised by it ends the chunk."""

    def __init__(self, sink: Sink, look: Callable[[], None]) -> None:
        self._sink = sink
        self._look = look

    def accept(self, kept: pa.RecordBatch) -> None:
        self._look()
        self._sink.accept(kept)

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        self._look()
        self._sink.accept_quarantined(rows)
