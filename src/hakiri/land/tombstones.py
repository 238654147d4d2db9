"""Store a mirror's deletes before they are carried out, so that an older change that comes later revives no row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from hakiri.land.errors import MirrorUnfit, TombstonesLost
from hakiri.land.lander import Landed, find_table, land
from hakiri.land.layout import BARE
from hakiri.land.recipe import LandRequest, Mirror
from hakiri.land.staged.files import reading
from hakiri.land.staged.sample import files_at
from hakiri.land.table_state import DeltaState
from hakiri.land.target import sql_name, tombstones_of
from hakiri.model.chunk import TableKey
from hakiri.model.columns.change import OP_COLUMN, UNAVAILABLE_COLUMN, Op
from hakiri.model.columns.renames import outdated
from hakiri.model.staged import StagedChunk, StagedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERED_AS = "/tombstones"
"""The suffix of the table's name under which landings of tombstones are numbered; no declared table can have it."""


def land_tombstones(request: LandRequest, spark: Callable[[], SparkSession]) -> Landed | None:
    """Store the deletes of the landing; None if it has none, or is no mirror's.

    Their landings are numbered separately and come before the landing itself, as with quarantined rows. A repeat
    changes nothing, and a tombstone without its landing does no harm. Raises TombstonesLost, or MirrorUnfit if stored
    tombstones lack columns that this mirror needs.
    """
    if request.mirror is None:
        return None
    table = request.landing.table
    key = TableKey(table.pipeline, f"{table.table}{NUMBERED_AS}")
    target = tombstones_of(request.target)
    aside = replace(
        request,
        landing=replace(request.landing, table=key),
        target=target,
        mirror=replace(request.mirror, is_of_tombstones=True),
        carried=None,
        repeats_last=False,
        is_sparse=True,
        layout=BARE,
        comment=f"Which keys of {table.table} have ended, and when",
    )
    is_begun = request.carried is not None and not request.accepts_loss
    found = find_table(aside, spark) if is_begun else None
    if is_begun and found is None:
        raise TombstonesLost(table=table.table, tombstones=sql_name(target))
    if found and (unknown := _unknown(request, request.mirror, found)):
        raise MirrorUnfit(table=table.table, columns=unknown)
    if found and request.mirror.brings is Op.UPSERT and not outdated(found.schema.names, request.renamed):
        return None
    return land(aside, spark)


def _unknown(request: LandRequest, mirror: Mirror, found: DeltaState) -> tuple[str, ...]:
    """Return the columns of the mirror's key and sequence that tombstones do not have."""
    known = found.schema.renamed(outdated(found.schema.names, request.renamed))
    return tuple(name for name in (*mirror.key, *mirror.sequence) if known.find(name) is None)


def farthest_op(root: str, chunks: Iterable[StagedChunk], *, table: str) -> Op:
    """Return the operation among the changes that reaches farthest, from file footers. Raises StagedFileUnfit."""
    found = [file for chunk in chunks for file in chunk.files if file.rows]
    return min((_least(root, file, table) for file in found), default=Op.UPSERT)


def unavailable_columns(root: str, chunks: Iterable[StagedChunk], *, table: str) -> tuple[str, ...]:
    """Return the columns that some change lacks although its row has them. Raises StagedFileUnfit.

    A file is read only if its footer shows a value.
    """
    marked = [chunk for chunk in chunks if UNAVAILABLE_COLUMN in chunk.schema.names]
    found = {name for chunk in marked for file in chunk.files if file.rows for name in _unavailable(root, file, table)}
    return tuple(sorted(found))


def _unavailable(root: str, file: StagedFile, table: str) -> set[str]:
    files, folder = files_at(root)
    with reading(table, file), pq.ParquetFile(f"{folder}/{file.path}", filesystem=files) as opened:
        groups = (opened.metadata.row_group(number) for number in range(opened.num_row_groups))
        if not any(map(_has_unavailable, groups)):
            return set()
        lists = opened.read(columns=[UNAVAILABLE_COLUMN]).column(0)
    return {name for one in lists.to_pylist() for name in one or ()}


def _has_unavailable(group: pq.RowGroupMetaData) -> bool:
    columns = (group.column(number) for number in range(group.num_columns))
    inside = f"{UNAVAILABLE_COLUMN}."
    statistics = next((one.statistics for one in columns if one.path_in_schema.startswith(inside)), None)
    return statistics is None or statistics.has_min_max


def _least(root: str, file: StagedFile, table: str) -> Op:
    files, folder = files_at(root)
    with reading(table, file):
        footer = pq.read_metadata(f"{folder}/{file.path}", filesystem=files)
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    return min((_least_of(group) for group in groups), default=Op.UPSERT)


def _least_of(group: pq.RowGroupMetaData) -> Op:
    columns = (group.column(number) for number in range(group.num_columns))
    statistics = next((one.statistics for one in columns if one.path_in_schema == OP_COLUMN), None)
    return Op(statistics.min) if statistics is not None and statistics.has_min_max else Op.CLEAR
