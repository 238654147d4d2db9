"""Land quarantined rows in a table of their own, and count them by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.land.delta.spark_errors import translating
from hakiri.land.errors import TableNotLanded, TableUnreadable
from hakiri.land.lander import Landed, land
from hakiri.land.layout import BARE
from hakiri.land.query.rust import ask
from hakiri.land.recipe import LandRequest
from hakiri.land.staged.files import reading
from hakiri.land.staged.sample import files_at
from hakiri.land.target import PathTarget, Target, quarantine_of, sql_name
from hakiri.model.chunk import TableKey
from hakiri.model.staged import StagedChunk, StagedFile, Tally
from hakiri.spec.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = "SELECT rule_id, COUNT(*) AS found FROM {table} GROUP BY rule_id ORDER BY found DESC, rule_id"


def land_quarantine(
    request: LandRequest, spark: Callable[[], SparkSession], *, target: Target | None = None
) -> Landed | None:
    """Land the quarantined rows of the landing in their table; None if there are none.

    Their landings are numbered separately, with gaps where there are no such rows. A repeat changes nothing. This comes
    before the landing itself, so whenever rows land, the quarantined rows of the same chunks are already stored.
    """
    chunks = tuple(_quarantined(request, chunk) for chunk in request.chunks if chunk.quarantine)
    if not chunks:
        return None
    table = request.landing.table
    return land(
        replace(
            request,
            # No table of a manifest can have this name, so its numbers are not used twice.
            landing=replace(request.landing, table=TableKey(table.pipeline, f"{table.table}/quarantine")),
            target=quarantine_of(request.target, target),
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
        ),
        spark,
    )


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


def _schema(request: LandRequest, file: StagedFile) -> pa.Schema:
    files, folder = files_at(request.root)
    with reading(request.landing.table.table, file):
        return pq.read_schema(f"{folder}/{file.path}", filesystem=files)
