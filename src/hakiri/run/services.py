"""A run is given everything it works with, and names no adapter itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.catalog.port import LEASE_SECONDS, Catalog
from hakiri.extract.connectors.port import Connector
from hakiri.land.target import Target, quarantine_of, tombstones_of
from hakiri.model.clock import Clock
from hakiri.run.node import Node
from hakiri.spec.feed import feed_load
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.port import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hakiri.extract.transform.reshape import Reshape
    from hakiri.land.hooks.call import Hooks


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where one table lands, and where its staged files lie until then."""

    target: Target
    root: str
    """The folder that the paths of staged files start from; a path table's own root."""
    files: Files
    """What lies there."""
    quarantine: Target | None = None
    """The table for rows set aside, where the manifest names one."""

    def beside(self, spec: PipelineSpec, table: TableSpec) -> dict[str, Target]:
        """What is kept beside the table for good, by name: rows set aside, and what a mirror remembers."""
        found = {spec.quarantine_name(table): quarantine_of(self.target, self.quarantine)}
        if feed_load(spec, table) is not None:
            found[f"{spec.landed_name(table)}_tombstones"] = tombstones_of(self.target)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a run works with."""

    project: str
    node: Node
    clock: Clock
    catalog: Catalog
    connector: Callable[[PipelineSpec], Connector]
    """The source of a pipeline. Raises UnresolvedReference, ConnectorUnusable or BadConfig."""
    place: Callable[[PipelineSpec, TableSpec], TablePlace]
    hooks: Hooks
    spark: Callable[[], SparkSession]
    """The session, started when it is first asked for: a run with nothing to do starts none."""
    transforms: Callable[[PipelineSpec], Mapping[str, Reshape]]
    """The transforms of a pipeline by table. Raises ManifestError, QueryError and ReferenceUnfit."""
    close_engine: Callable[[], None] = lambda: None
    """Stop the Spark session of this process, if it has one of its own, and with it whatever still runs there."""
    journals: Path
    """The folder of the runs' journals."""
    lease_seconds: float = LEASE_SECONDS
    max_parallel_chunks: int | None = None
    """The cap on chunks in flight over all pipelines."""
    worth_bytes: int = 512 << 20
    """As much staged as is worth a commit of its own while more is on its way."""
    slots: int | None = None
    """How many tasks Spark runs at once, where that is known: no more chunks than that are held."""
