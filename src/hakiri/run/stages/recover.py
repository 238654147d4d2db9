"""Recover: finish what a run that was cut off has left, before anything new is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hakiri.run.check_tables import require_tables_intact
from hakiri.run.land_table import TableLander
from hakiri.run.owner import require_owner
from hakiri.run.pipeline import PipelineRun


@dataclass(frozen=True, slots=True)
class Recover:
    """Record landings that were written and not recorded, call hooks that are still due, check the tables.

    Raises TableOwned, TableMovedBack and CatalogError. A repeat finds nothing more to do.
    """

    name: ClassVar[str] = "recover"
    asks_spark: bool = True
    """Whether a table that only Spark can read is asked for its owner.

    Only before something is planned: what was planned belongs to this pipeline, unless the catalog says otherwise.
    """

    def advance(self, run: PipelineRun) -> PipelineRun:
        run.look.begin()  # ended by the stage that finds the work
        run.context.with_retries("recovery", lambda: self._recover(run))
        return run

    def _recover(self, run: PipelineRun) -> None:
        context, services = run.context, run.context.services
        spark = context.spark if self.asks_spark else None
        require_owner(services.catalog, services.project, context.spec, services.place, spark)
        for table in context.spec.tables:
            hooks = run.hooks[table.name]
            TableLander(context, table, hooks=hooks).settle()
            hooks.after()
        if not run.options.is_full_refresh:  # which replaces whatever is there
            require_tables_intact(services.catalog, context.spec, services.place)
