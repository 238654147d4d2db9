"""Land quarantined rows in a table of their own, and count them by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.land.delta.spark_errors import translating
from hakiri.land.errors import TableNotLanded, TableUnreadable
from hakiri.land.lander import Landed, Outcome, find_table, land
from hakiri.land.layout import BARE
from hakiri.land.query.rust import ask
from hakiri.land.recipe import LandRequest
from hakiri.land.staged.files import reading
from hakiri.land.staged.sample import files_at
from hakiri.land.target import PathTarget, Target, folder_of, quarantine_of, sql_name
from hakiri.model.chunk import TableKey
from hakiri.model.errors import NotWritable
from hakiri.model.staged import StagedChunk, StagedFile, Tally
from hakiri.spec.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COPIES = "data/landing-"
"""What the paths of the files begin with that quarantined rows are copied into."""

COUNT = "SELECT rule_id, COUNT(*) AS found FROM {table} GROUP BY rule_id ORDER BY found DESC, rule_id"


def land_quarantine(
    request: LandRequest, spark: Callable[[], SparkSession], *, target: Target | None = None
) -> Landed | None:
    """Land the quarantined rows of the landing in their table. Returns None if there are none.

    Their landings are numbered apart from the table's, and landings without such rows leave a gap. A repeat changes
    nothing, so this comes before the landing itself: whatever has landed, its quarantined rows are already kept.
    """
    chunks = tuple(_quarantined(request, chunk) for chunk in request.chunks if chunk.quarantine)
    if not chunks:
        return None
    table, kept = request.landing.table, quarantine_of(request.target, target)
    asked = replace(
        request,
        # No table of a manifest has such a name, so its numbers are its own.
        landing=replace(request.landing, table=TableKey(table.pipeline, f"{table.table}/quarantine")),
        target=kept,
        chunks=chunks,
        mode=LoadMode.APPEND,
        mirror=None,
        carried=None,
        removes_overlap=False,
        is_sparse=True,
        is_strict=False,
        renamed={},
        layout=BARE,
        comment=f"Rows of {table.table} that were not landed, and why",
    )
    folder = folder_of(kept)
    return land(asked, spark) if folder is None or not request.may_adopt else _land_copy(asked, folder, spark)


def count_rules(name: str, target: Target, spark: Callable[[], SparkSession]) -> dict[str, int]:
    """Count quarantined rows by rule, most frequent first; empty without a table. Raises QueryError."""
    if isinstance(target, PathTarget):
        try:
            answer = ask(COUNT.format(table="kept"), {"kept": target.path})
        except TableNotLanded:
            return {}
        return {str(rule): int(str(count)) for rule, count in answer.rows}

    def failure(reason: str) -> TableUnreadable:
        return TableUnreadable(table=name, reason=reason)

    with translating(lambda: failure("others write to it"), failure, table=name):
        session = spark()
        if not session.catalog.tableExists(sql_name(target)):
            return {}
        return {row["rule_id"]: row["found"] for row in session.sql(COUNT.format(table=sql_name(target))).collect()}


def _quarantined(request: LandRequest, chunk: StagedChunk) -> StagedChunk:
    """Return the quarantine files as a chunk whose schema has the columns of all of them."""
    rows = sum(file.rows for file in chunk.quarantine)
    schemas = [_schema(request, file) for file in chunk.quarantine]
    return replace(
        chunk,
        schema=pa.unify_schemas(schemas, promote_options="permissive"),
        files=chunk.quarantine,
        quarantine=(),
        tally=Tally(read=rows, staged=rows),
    )


def _land_copy(request: LandRequest, folder: Path, spark: Callable[[], SparkSession]) -> Landed:
    """Copy the rows into one file in the table's own folder, so that the table can adopt it without Spark."""
    state = find_table(request, spark)
    if state is not None and state.number == request.landing.number:
        return land(request, spark)  # a replay, which needs no copy
    found = pa.unify_schemas([chunk.schema for chunk in request.chunks], promote_options="permissive")
    schema = pa.schema([field.with_nullable(True) for field in found])  # a file of another release may lack any of them
    # Each try has a file of its own: one that takes over writes beside whoever is still at it.
    copy = folder / f"{COPIES}{request.landing.number:08}-{uuid4().hex[:8]}.parquet"
    try:
        rows = _copy(request, schema, copy)
    except BaseException as cause:
        with suppress(OSError):
            copy.unlink()
        if isinstance(cause, OSError):
            raise NotWritable(folder=str(copy.parent), reason=cause.strerror or str(cause)) from cause
        raise
    file = StagedFile(str(copy.relative_to(folder)), rows, copy.stat().st_size, sha256="")
    first, *others = request.chunks
    sealed = sum(file.rows for chunk in request.chunks for file in chunk.files)
    tally = Tally(read=sealed, staged=sealed)  # the landing compares it with the rows of the copy (G6)
    chunks = (
        replace(first, schema=schema, files=(file,), tally=tally),
        *(replace(one, files=(), tally=Tally()) for one in others),
    )
    landed = land(replace(request, root=str(folder), chunks=chunks), spark)
    if landed.outcome is Outcome.WRITTEN:  # after a lost answer, a replay may be this very copy's commit
        copy.unlink(missing_ok=True)
    return landed


def _copy(request: LandRequest, schema: pa.Schema, copy: Path) -> int:
    """Write the rows of all files into one, a batch at a time. Returns how many. Raises StagedFileUnfit."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(copy, schema, compression="zstd", store_schema=False) as writer:
        for batch in _batches(request, [file for chunk in request.chunks for file in chunk.files]):
            columns = [
                batch.column(field.name).cast(field.type)
                if field.name in batch.schema.names
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    return int(pq.read_metadata(copy).num_rows)


def _batches(request: LandRequest, files: Iterable[StagedFile]) -> Iterable[pa.RecordBatch]:
    system, root = files_at(request.root)
    for file in files:
        with (
            reading(request.landing.table.table, file),
            pq.ParquetFile(f"{root}/{file.path}", filesystem=system) as one,
        ):
            yield from one.iter_batches()


def _schema(request: LandRequest, file: StagedFile) -> pa.Schema:
    files, folder = files_at(request.root)
    with reading(request.landing.table.table, file):
        return pq.read_schema(f"{folder}/{file.path}", filesystem=files)
