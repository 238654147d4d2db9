"""What a staged file holds is asked of the file itself, and one that does not answer is told by its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.errors import StagedFileUnfit
from hakiri.land.peek import files_at
from hakiri.land.recipe import LandRequest
from hakiri.model.renamed import present_name
from hakiri.model.staged import StagedFile


@contextmanager
def reading(table: str, file: StagedFile) -> Iterator[None]:
    """Inside, whatever a file raises is StagedFileUnfit."""
    try:
        yield
    except FileNotFoundError as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="missing") from error
    except (pa.ArrowException, OSError) as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="not Parquet") from error


def count_keyless(request: LandRequest) -> int:
    """How many staged rows lack a part of the key; they are looked at only where a footer tells of such.

    A part may be staged under the name that it had before. Raises StagedFileUnfit.
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


def _count_nulls(file: pq.ParquetFile, names: Sequence[str]) -> int:
    groups = [group for group in range(file.num_row_groups) if _may_have_nulls(file.metadata.row_group(group), names)]
    return sum(_count_rows(file.read_row_group(group, columns=list(names))) for group in groups)


def _may_have_nulls(group: pq.RowGroupMetaData, names: Sequence[str]) -> bool:
    columns = (group.column(number) for number in range(group.num_columns))
    told = [one.statistics for one in columns if one.path_in_schema in names]
    return len(told) < len(names) or any(one is None or not one.has_null_count or one.null_count for one in told)


def _count_rows(rows: pa.Table) -> int:
    is_null = pc.is_null(rows.column(0))
    for other in rows.columns[1:]:
        is_null = pc.or_(is_null, pc.is_null(other))
    return pc.sum(is_null).as_py() or 0
