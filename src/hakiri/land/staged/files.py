"""Read keys of staged files; errors name the file by its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.land.errors import StagedFileUnfit
from hakiri.land.recipe import LandRequest
from hakiri.land.staged.sample import files_at
from hakiri.model.columns.renames import present_name
from hakiri.model.staged import StagedFile

KEYS_HELD = 1_000_000
"""How many rows' keys are held in memory at once."""


@contextmanager
def reading(table: str, file: StagedFile) -> Iterator[None]:
    """Translate errors of reading this file to StagedFileUnfit."""
    try:
        yield
    except FileNotFoundError as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="missing") from error
    except (pa.ArrowException, OSError) as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="not Parquet") from error


def count_keyless(request: LandRequest) -> int:
    """Count staged rows without a full key; only files whose footers show nulls are read.

    A key column may be staged under its old name. Raises StagedFileUnfit.
    """
    system, folder = files_at(request.root)
    wanted = {name.casefold() for name in request.key}
    count = 0
    for file in (file for chunk in request.chunks for file in chunk.files if file.rows):
        path = f"{folder}/{file.path}"
        with reading(request.landing.table.table, file), pq.ParquetFile(path, filesystem=system) as opened:
            staged = opened.schema_arrow.names
            names = [name for name in staged if present_name(name, request.renamed).casefold() in wanted]
            count += file.rows if len(names) < len(wanted) else _count_nulls(opened, names)
    return count


def has_distinct_keys(request: LandRequest) -> bool:
    """Return whether all staged keys are certainly distinct; False for more than KEYS_HELD rows.

    Raises StagedFileUnfit.
    """
    files = [file for chunk in request.chunks for file in chunk.files if file.rows]
    rows = sum(file.rows for file in files)
    if not request.key or rows > KEYS_HELD:
        return False
    keys = [_keys(request, file) for file in files]
    if any(_is_unfit(kind) for one in keys for kind in one.schema.types):
        return False
    try:
        found = pa.concat_tables(keys, promote_options="permissive") if keys else None
    except pa.ArrowException:  # staged in types of which neither is wider
        return False
    if found is None:
        return True
    nulls = sum(column.null_count for column in found.columns)
    return bool(not nulls and found.group_by(found.column_names).aggregate([]).num_rows == rows)


def _keys(request: LandRequest, file: StagedFile) -> pa.Table:
    """Read the key of each row of a file, with the order and names of the key."""
    system, folder = files_at(request.root)
    path = f"{folder}/{file.path}"
    with reading(request.landing.table.table, file), pq.ParquetFile(path, filesystem=system) as opened:
        staged = {present_name(name, request.renamed).casefold(): name for name in opened.schema_arrow.names}
        names = [staged[name.casefold()] for name in request.key]
        return opened.read(columns=names).select(names).rename_columns(list(request.key))


def _is_unfit(kind: pa.DataType) -> bool:
    """Return whether SQL and Arrow differ in which values are equal: for floats (zeros, NaN) and nested types."""
    return bool(pa.types.is_floating(kind) or pa.types.is_nested(kind))


def _count_nulls(file: pq.ParquetFile, names: Sequence[str]) -> int:
    groups = [group for group in range(file.num_row_groups) if _may_have_nulls(file.metadata.row_group(group), names)]
    return sum(_count_rows(file.read_row_group(group, columns=list(names))) for group in groups)


def _may_have_nulls(group: pq.RowGroupMetaData, names: Sequence[str]) -> bool:
    columns = (group.column(number) for number in range(group.num_columns))
    statistics = [one.statistics for one in columns if one.path_in_schema in names]
    return len(statistics) < len(names) or any(
        one is None or not one.has_null_count or one.null_count for one in statistics
    )


def _count_rows(rows: pa.Table) -> int:
    is_null = pc.is_null(rows.column(0))
    for other in rows.columns[1:]:
        is_null = pc.or_(is_null, pc.is_null(other))
    return pc.sum(is_null).as_py() or 0
