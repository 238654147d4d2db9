"""Writes the rows of one attempt to its own folder, in types that Delta can store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.errors import HakiriError
from hakiri.model.columns.quarantine import QUARANTINED, set_aside
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.errors import NotWritable
from hakiri.model.staged import StagedFile
from hakiri.model.types.arrow import normal, why_not
from hakiri.model.types.growth import grown, has_grown
from hakiri.stage.errors import AttemptTaken, ColumnUnholdable, SchemaDrifted
from hakiri.stage.fingerprint import FingerprintedSink
from hakiri.stage.layout import Attempt
from hakiri.stage.port import Files


class AttemptWriter:
    """The files of one attempt while they are written. An unsealed attempt is ignored, and removed by a sweep."""

    def __init__(self, files: Files, attempt: Attempt, *, sizes: Sizes | None = None) -> None:
        """Create the attempt's folder. Raises AttemptTaken if it exists."""
        self.files = files
        self.attempt = attempt
        self.schema = pa.schema([])
        self.staged_rows = 0
        self.set_aside_rows = 0
        sizes = sizes or Sizes()
        self._parts = ParquetSeries(files, attempt.part, sizes)
        self._quarantine = ParquetSeries(files, attempt.quarantine, sizes)
        try:
            files.make_folder(attempt.folder)
        except FileExistsError as cause:
            raise AttemptTaken(folder=attempt.folder) from cause

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        if kind is not None and issubclass(kind, NotWritable):
            self._make_room()

    def accept(self, kept: pa.RecordBatch) -> None:
        """Write rows that will land.

        A batch may have new columns or members. Then a new file begins; Delta reads them as NULL in earlier files.
        Raises SchemaDrifted if a column is missing or has another type, ColumnUnholdable if Delta cannot store it.
        """
        self._fit(kept.schema)
        self._parts.write(kept.select(self.schema.names).cast(self.schema))
        self.staged_rows += kept.num_rows
        passing(Boundary.BATCH_WRITTEN)

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        """Write quarantined rows, in the form of `model.quarantine_row`."""
        self._quarantine.write(rows.cast(QUARANTINED))
        self.set_aside_rows += set_aside(rows)
        passing(Boundary.BATCH_WRITTEN)

    def close(self) -> tuple[tuple[StagedFile, ...], tuple[StagedFile, ...]]:
        """Close all files; return those with rows and those with quarantined rows. None is durable yet."""
        return self._parts.close(), self._quarantine.close()

    def abandon(self) -> None:
        """Release the open files without finishing them. A repeat does nothing."""
        self._parts.abandon()
        self._quarantine.abandon()

    def _make_room(self) -> None:
        """Delete the unfinished files: on a full disk, the journal and the catalog need the space."""
        with suppress(NotWritable):
            for entry in list(self.files.walk(self.attempt.folder)):
                self.files.remove(entry.path)

    def _fit(self, found: pa.Schema) -> None:
        if not self.schema.names:
            self.schema = self._checked(found)
            return
        known = {field.name: field.type for field in self._checked(found)}
        for field in self.schema:
            if field.name not in known:
                raise self._drift(field.name, "it is no longer there")
            if not has_grown(field.type, known[field.name]):
                raise self._drift(field.name, f"it was {field.type}, and is {known[field.name]}")
        kept = {field.name: grown(field.type, known[field.name]) for field in self.schema}
        schema = pa.schema(list((kept | {name: kind for name, kind in known.items() if name not in kept}).items()))
        if schema != self.schema:
            self._parts.turn()
            self.schema = schema

    def _checked(self, schema: pa.Schema) -> pa.Schema:
        seen: set[str] = set()
        for field in schema:
            if reason := why_not(field.type):
                raise self._unholdable(field.name, reason)
            if field.name.casefold() in seen:
                raise self._unholdable(field.name, "Delta takes it for another column of the same name")
            seen.add(field.name.casefold())
        return normal(schema)

    def _drift(self, column: str, reason: str) -> SchemaDrifted:
        return SchemaDrifted(folder=self.attempt.folder, column=column, reason=reason)

    def _unholdable(self, column: str, reason: str) -> ColumnUnholdable:
        return ColumnUnholdable(folder=self.attempt.folder, column=column, reason=reason)


COMPRESSION = "zstd"  # as fast as snappy here, and a quarter smaller
SAMPLE_ROWS = 4_096
PAYING_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a row group, and the size at which a new file begins."""

    row_group_bytes: int = 32 << 20  # in memory, uncompressed
    file_bytes: int = 128 << 20  # on disk


class ParquetSeries:
    """Numbered files of one kind; each is created only when there is a row for it."""

    def __init__(self, files: Files, name: Callable[[int], str], sizes: Sizes) -> None:
        self._files = files
        self._name = name
        self._sizes = sizes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._open: _OpenFile | None = None
        self._closed: list[StagedFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch with the same schema as the one before; after `turn`, with any schema."""
        if not batch.num_rows:
            return
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self._sizes.row_group_bytes:
            self._flush()

    def turn(self) -> None:
        """Close the open file, so that the next batch begins a new one. A repeat does nothing."""
        self._flush()
        if self._open is not None:
            self._closed.append(self._open.close())
            self._open = None
            passing(Boundary.FILE_CLOSED)

    def close(self) -> tuple[StagedFile, ...]:
        """Close the last file and return all files, not durable yet. A repeat returns the same."""
        self.turn()
        return tuple(self._closed)

    def abandon(self) -> None:
        """Release the open file without finishing it. The sweep removes what was written."""
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
        # No Arrow schema in the footer, so that every engine sees the same Parquet types.
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
        # An unclosed writer would try to write again when it is garbage collected, even to a full disk.
        with suppress(HakiriError, OSError, pa.ArrowException):
            self._writer.close()
        self._sink.close()


def _repetitive(table: pa.Table) -> list[str]:
    """Return the columns with repeated values. For others, a dictionary would be built and then discarded."""
    sample = table.slice(0, SAMPLE_ROWS)
    most = sample.num_rows * PAYING_SHARE
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return [name for name in flat if pc.count_distinct(sample.column(name), mode="all").as_py() <= most]
