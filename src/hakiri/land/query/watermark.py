"""Read the greatest value of a column from a table, by delta-rs or Spark.

NaN would be greater than any later number, and so is infinity; from 2**53 on, doubles skip whole numbers. None of these
can be a watermark, so all count as no value, as they do for cursors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import QueryBuilder
from deltalake.exceptions import DeltaError

from hakiri.land.delta.spark_errors import is_missing_table, translating
from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.errors import TableNotLanded, TableUnreadable, WatermarkMissing
from hakiri.land.query.session import open_table
from hakiri.land.sql import column
from hakiri.land.staged.files import reading
from hakiri.land.staged.sample import files_at
from hakiri.land.target import NamedTarget, PathTarget, Target, sql_name
from hakiri.model.cursor import EXACT_REAL
from hakiri.model.key import KeyValue
from hakiri.model.staged import StagedFile
from hakiri.model.types import Field, Struct, Type, is_real
from hakiri.model.types.delta import from_schema_string

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GREATEST = "SELECT MAX({mark}) AS greatest FROM {table} AS t"

ANY_ROW = "SELECT 1 FROM {table} LIMIT 1"

_FINITE = f"CASE WHEN ABS({{value}}) <= CAST({EXACT_REAL} AS DOUBLE) THEN {{value}} END"


def greatest_value(
    name: str, target: Target, wanted: str, spark: Callable[[], SparkSession] | None, *, before: str | None = None
) -> KeyValue | None:
    """Return the greatest value of the column; None without a table or a value. A repeat reads it again.

    `before` is the column's old name, which the table may still have.

    The session is opened only if delta-rs cannot read the table; without one, TableUnreadable is raised. Raises
    WatermarkMissing if the table has rows but no such column.
    """
    try:
        return _by_delta(name, target, (wanted, before))
    except TableNotLanded:
        return None
    except TableUnreadable as unreadable:
        if spark is None:
            raise
        return _by_spark(name, spark(), target, (wanted, before), unreadable)


def mark(value: str, kind: Type) -> str:
    """Return the value, or NULL if it does not count, as SQL for both Spark and delta-rs."""
    return _FINITE.format(value=value) if is_real(kind) else value


def unmarked(value: str, kind: Type) -> str:
    """Return the condition that a row has no value that counts."""
    return f"{mark(value, kind)} IS NULL"


def count_unmarked(table: str, root: str, files: Iterable[StagedFile], wanted: str) -> int:
    """Count rows of the staged files that have no value that counts. Raises StagedFileUnfit."""
    system, folder = files_at(root)
    return sum(_count(table, system, folder, file, wanted) for file in files if file.rows)


def _count(table: str, system: Any, folder: str, file: StagedFile, wanted: str) -> int:
    with reading(table, file):
        found = pq.ParquetFile(f"{folder}/{file.path}", filesystem=system)
        if wanted not in found.schema_arrow.names:
            return file.rows
        groups = range(found.num_row_groups)
        return sum(_empty(found.read_row_group(group, columns=[wanted]).column(0)) for group in groups)


def _empty(values: pa.ChunkedArray) -> int:
    is_real = pa.types.is_floating(values.type)
    # As a float: Arrow cannot compare a whole number of this size with a column of 32 bits.
    counted = pc.less_equal(pc.abs(values), float(EXACT_REAL)) if is_real else pc.is_valid(values)
    return len(values) - (pc.sum(counted).as_py() or 0)


def _by_delta(name: str, target: Target, names: tuple[str, str | None]) -> KeyValue | None:
    if isinstance(target, NamedTarget):
        raise TableUnreadable(table=name, reason="it is a table of a catalog")
    table = open_table(name, target.path)
    field = _find(from_schema_string(table.schema().to_json()), names)
    builder = QueryBuilder().register("t", table)
    try:
        if field is None:
            _require_empty(name, names[0], bool(pa.table(builder.execute(ANY_ROW.format(table="t")).read_all())))
            return None
        quoted = '"' + field.name.replace('"', '""') + '"'
        found = pa.table(builder.execute(GREATEST.format(mark=mark(quoted, field.type), table="t")).read_all())
    except DeltaError as error:
        raise TableUnreadable(table=name, reason=" ".join(str(error).split())[:300]) from error
    return _value(found)


def _by_spark(
    name: str, spark: SparkSession, target: Target, names: tuple[str, str | None], unreadable: TableUnreadable
) -> KeyValue | None:
    def failure(reason: str) -> TableUnreadable:
        return TableUnreadable(table=name, reason=reason)

    with translating(lambda: unreadable, failure, table=name):
        session, table = isolated_session(spark), sql_name(target)
        stored = _stored(session, target)
        if stored is None:
            return None
        field = _find(stored, names)
        if field is None:
            _require_empty(name, names[0], bool(session.sql(ANY_ROW.format(table=table)).collect()))
            return None
        marked = mark(column(field.name), field.type)
        return _value(session.sql(GREATEST.format(mark=marked, table=table)).toArrow())


def _find(stored: Struct, names: tuple[str, str | None]) -> Field | None:
    return next((field for name in names if name and (field := stored.find(name))), None)


def _stored(session: SparkSession, target: Target) -> Struct | None:
    if isinstance(target, NamedTarget) and not session.catalog.tableExists(sql_name(target)):
        return None
    try:
        return from_schema_string(session.table(sql_name(target)).schema.json())
    except Exception as error:
        if isinstance(target, PathTarget) and is_missing_table(error):
            return None
        raise


def _require_empty(name: str, wanted: str, has_rows: bool) -> None:
    if has_rows:
        raise WatermarkMissing(table=name, column=wanted)


def _value(found: pa.Table) -> KeyValue | None:
    value: Any = found.column("greatest")[0].as_py()
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
