"""Allow one pipeline to land in each table; another id is refused until it adopts the table (docs/adr/0110)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hakiri.catalog.port import Catalog
from hakiri.land.delta.last_landing import last_landing
from hakiri.land.stamp import app_id
from hakiri.model.chunk import TableKey
from hakiri.run.errors import TableOwned
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_owner(
    catalog: Catalog | None,
    project: str,
    spec: PipelineSpec,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    spark: Callable[[], SparkSession] | None = None,
) -> None:
    """Check that no other pipeline lands in the pipeline's tables. Raises TableOwned.

    Looks in the catalog first, and in the table's log if the catalog has no landing of this pipeline. Without a
    session, tables that only Spark can read are not checked; a run has one.
    """
    for table in spec.tables:
        key, name = TableKey(spec.id, table.name), spec.landed_name(table)
        owner = catalog.owner(key) if catalog is not None else None
        if owner is not None and owner != spec.id:
            raise TableOwned(pipeline=spec.id, table=name, owner=owner)
        if catalog is not None and catalog.last_landings(key):
            continue
        last = last_landing(place(spec, table).target, spark)
        if last is not None and last.stamp.app_id != app_id(project, key):
            stamp = last.stamp
            is_adoptable = stamp.app_id == app_id(project, replace(key, pipeline=stamp.table.pipeline))
            raise TableOwned(pipeline=spec.id, table=name, owner=stamp.table.pipeline, is_adoptable=is_adoptable)
