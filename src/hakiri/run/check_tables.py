"""Fail early if a table lost landed data."""

from __future__ import annotations

from collections.abc import Callable

from hakiri.catalog.port import Catalog
from hakiri.land.delta.log import require_not_moved_back
from hakiri.land.table_state import expected_landing
from hakiri.model.chunk import TableKey
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec


def require_tables_intact(
    catalog: Catalog, spec: PipelineSpec, place: Callable[[PipelineSpec, TableSpec], TablePlace]
) -> None:
    """Check that every table of the pipeline still holds its last landing. Raises TableMovedBack."""
    for table in spec.tables:
        last = expected_landing(catalog.last_landings(TableKey(spec.id, table.name)))
        require_not_moved_back(spec.landed_name(table), place(spec, table).target, last)
