"""Everything a run works with. `hakiri.wiring` chooses the adapters; a run names none."""

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
    """Where a table lands, and where its staged files are."""

    target: Target
    root: str
    """The folder that paths of staged files are relative to; for a table in a folder, the table's own."""
    files: Files
    """Access to that folder."""
    quarantine: Target | None = None
    """The table for quarantined rows, where the manifest names one."""

    def beside(self, spec: PipelineSpec, table: TableSpec) -> dict[str, Target]:
        """Return the helper tables by name: quarantined rows, and the tombstones of a mirror."""
        found = {spec.quarantine_name(table): quarantine_of(self.target, self.quarantine)}
        if feed_load(spec, table) is not None:
            found[f"{spec.landed_name(table)}_tombstones"] = tombstones_of(self.target)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The adapters and limits of a run."""

    project: str
    node: Node
    clock: Clock
    catalog: Catalog
    connector: Callable[[PipelineSpec], Connector]
    """Open the source of a pipeline. Raises UnresolvedReference, ConnectorUnusable or BadConfig."""
    place: Callable[[PipelineSpec, TableSpec], TablePlace]
    hooks: Hooks
    spark: Callable[[], SparkSession]
    """Return the Spark session, started by the first call: a run with nothing to do starts none."""
    has_spark: Callable[[], bool] = lambda: True
    """Return whether the session is open, so that the next call of `spark` does not wait."""
    transforms: Callable[[PipelineSpec], Mapping[str, Reshape]]
    """Read the transforms of a pipeline, by table. Raises ManifestError, QueryError and ReferenceUnfit."""
    close_engine: Callable[[], None] = lambda: None
    """Stop the Spark session of this process, if it has one of its own, and with it whatever still runs there."""
    journals: Path
    """The folder that journals are written to."""
    lease_seconds: float = LEASE_SECONDS
    max_parallel_chunks: int | None = None
    """The most chunks that may be read at once, over all pipelines."""
    worth_bytes: int = 512 << 20
    """How much must be staged for a landing while more is still being read."""
    slots: int | None = None
    """How many tasks Spark runs at once, where that is known: no more chunks than that are claimed."""
