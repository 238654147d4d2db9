"""Batches of any size become Parquet files of a good size, with memory bounded by one row group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.errors import HakiriError
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.staged import StagedFile
from hakiri.stage.fingerprint import FingerprintedSink
from hakiri.stage.port import Files

COMPRESSION = "zstd"  # as fast as snappy here, and a quarter smaller
SAMPLE_ROWS = 4_096
PAYING_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is held before it is written, and how large a file may grow before the next one is begun."""

    row_group_bytes: int = 32 << 20  # in memory, uncompressed
    file_bytes: int = 128 << 20  # on disk


class ParquetSeries:
    """Files of one kind, numbered from 0, each begun only when there is a row for it."""

    def __init__(self, files: Files, name: Callable[[int], str], sizes: Sizes) -> None:
        self._files = files
        self._name = name
        self._sizes = sizes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._open: _OpenFile | None = None
        self._closed: list[StagedFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of the same schema as the one before, or of any schema after `turn`."""
        if not batch.num_rows:
            return
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self._sizes.row_group_bytes:
            self._flush()

    def turn(self) -> None:
        """End the file that is open, so that the next batch begins another. A repeat does nothing."""
        self._flush()
        if self._open is not None:
            self._closed.append(self._open.close())
            self._open = None
            passing(Boundary.FILE_CLOSED)

    def close(self) -> tuple[StagedFile, ...]:
        """End the last file; all of them, none durable yet. A repeat gives the same."""
        self.turn()
        return tuple(self._closed)

    def abandon(self) -> None:
        """Let go of the open file as it is. What was written stays an orphan for the sweep."""
        self._held.clear()
        if self._open is not None:
            self._open.abandon()
            self._open = None

    def _flush(self) -> None:
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        self._held, self._held_bytes = [], 0
        if self._open is None:
            self._open = _OpenFile(self._files, self._name(len(self._closed)), table)
        self._open.write(table)
        if self._open.bytes >= self._sizes.file_bytes:
            self.turn()


class _OpenFile:
    def __init__(self, files: Files, path: str, first: pa.Table) -> None:
        self._path = path
        self._rows = 0
        self._sink = FingerprintedSink(files.create(path))
        # No Arrow schema in the footer: every engine shall see the same Parquet types.
        self._writer = pq.ParquetWriter(
            self._sink,
            first.schema,
            compression=COMPRESSION,
            use_dictionary=_repetitive(first),
            store_schema=False,
        )

    @property
    def bytes(self) -> int:
        return self._sink.bytes

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def close(self) -> StagedFile:
        self._writer.close()
        self._sink.close()
        return StagedFile(self._path, self._rows, self._sink.bytes, self._sink.sha256)

    def abandon(self) -> None:
        # A writer that is not closed would try once more when it is collected, whatever the disk has said.
        with suppress(HakiriError, OSError, pa.ArrowException):
            self._writer.close()
        self._sink.close()


def _repetitive(table: pa.Table) -> list[str]:
    """The columns whose values repeat: a dictionary of the others would be built only to be thrown away."""
    sample = table.slice(0, SAMPLE_ROWS)
    most = sample.num_rows * PAYING_SHARE
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return [name for name in flat if pc.count_distinct(sample.column(name), mode="all").as_py() <= most]
