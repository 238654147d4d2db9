"""Sealed files become a table's files without a byte of them being written again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from hakiri.land.errors import StagedFileUnfit
from hakiri.land.recipe import Recipe
from hakiri.land.staged.statistics import delta_statistics
from hakiri.model.staged import StagedFile


def add_actions(recipe: Recipe, folder: Path) -> tuple[AddAction, ...]:
    """The add action of each file with rows, its statistics taken from its footer. Raises StagedFileUnfit."""
    return tuple(_actions(recipe, folder))


def _actions(recipe: Recipe, folder: Path) -> Iterator[AddAction]:
    for file in recipe.files:
        path = folder / file.path
        footer = _footer(recipe, file, path)
        if file.rows:
            yield AddAction(
                path=file.path,
                size=file.bytes,
                partition_values={},
                modification_time=int(path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(footer),
            )


def _footer(recipe: Recipe, file: StagedFile, path: Path) -> pq.FileMetaData:
    """The footer of a file that is still the one that was sealed (G3)."""
    table = recipe.stamp.table.table
    if not path.is_file():
        raise StagedFileUnfit(table=table, path=file.path, problem="missing")
    if path.stat().st_size != file.bytes:
        raise StagedFileUnfit(table=table, path=file.path, problem="wrong size")
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="not Parquet") from error
    if footer.num_rows != file.rows:
        raise StagedFileUnfit(table=table, path=file.path, problem="wrong row count")
    return footer
