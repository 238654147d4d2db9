"""Where a chunk's rows go is somebody else's business: extract knows these two verbs of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa


class Sink(Protocol):
    """Takes the rows of one attempt, in order. A batch that was accepted is not handed over again."""

    def accept(self, kept: pa.RecordBatch) -> None:
        """Take rows that will land, provenance columns included."""
        ...

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        """Take rows that were set aside, in the form of `model.quarantined`."""
        ...


class Heeding:
    """A sink that has a look around before each batch; what the look raises ends the chunk."""

    def __init__(self, sink: Sink, look: Callable[[], None]) -> None:
        self._sink = sink
        self._look = look

    def accept(self, kept: pa.RecordBatch) -> None:
        self._look()
        self._sink.accept(kept)

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        self._look()
        self._sink.accept_quarantined(rows)
