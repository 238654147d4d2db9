"""Attempts as the tests make them: a small table, real files, and a log of what was asked of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from hakiri.model.chunk import ChunkKey
from hakiri.model.columns.quarantine import QUARANTINED
from hakiri.model.staged import StagedChunk, Tally
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.port import Files
from hakiri.stage.seal import seal
from hakiri.stage.writer import AttemptWriter

ATTEMPT = Attempt(run="run-1", node="node-a", chunk=ChunkKey("sales", "orders", "0-100"), number=1)


def batch(first: int = 0, rows: int = 10, **more: Any) -> pa.RecordBatch:
    numbers = list(range(first, first + rows))
    columns: dict[str, Any] = {"id": numbers, "note": [f"note {n}" for n in numbers], **more}
    return pa.RecordBatch.from_pydict(columns)


def quarantined(rows: int, *, is_kept: bool = False) -> pa.RecordBatch:
    one = {"rule_id": "not_null:id", "reason": "is null", "row": "{}", "line": 7, "is_kept": is_kept}
    return pa.RecordBatch.from_pylist([one] * rows, schema=QUARANTINED)


def stage(files: Files, attempt: Attempt = ATTEMPT, rows: int = 10) -> StagedChunk:
    """A sealed attempt with this many rows and one quarantined row."""
    writer = AttemptWriter(files, attempt)
    writer.accept(batch(rows=rows))
    writer.accept_quarantined(quarantined(1))
    tally = Tally(read=rows + 1, staged=rows, quarantined=1)
    return seal(writer, tally, cursor_low=0, cursor_high=rows - 1, transform="f00d")


@dataclass
class LoggedFiles:
    """Real files that note what was asked of them, in order."""

    inner: LocalFiles
    log: list[tuple[str, str]] = field(default_factory=list)

    def make_folder(self, folder: str) -> None:
        self.inner.make_folder(folder)
        self.log.append(("make", folder))

    def create(self, path: str) -> BinaryIO:
        self.log.append(("create", path))
        return self.inner.create(path)

    def sync_file(self, path: str) -> None:
        self.inner.sync_file(path)
        self.log.append(("sync", path))

    def sync_folder(self, folder: str) -> None:
        self.inner.sync_folder(folder)
        self.log.append(("sync", folder))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
