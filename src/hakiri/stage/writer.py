"""Writes the rows of one attempt to its own folder, in types that Delta can store."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self

import pyarrow as pa

from hakiri.model.crash_points import Boundary, passing
from hakiri.model.delta_schema import normal
from hakiri.model.delta_types import why_not
from hakiri.model.errors import NotWritable
from hakiri.model.quarantine_row import QUARANTINED, set_aside
from hakiri.model.staged import StagedFile
from hakiri.model.type_growth import grown, has_grown
from hakiri.stage.errors import AttemptTaken, ColumnUnholdable, SchemaDrifted
from hakiri.stage.layout import Attempt
from hakiri.stage.parquet import ParquetSeries, Sizes
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
