"""That a table has lost what was landed in it is found before anything is read, planned or shown as well."""

from __future__ import annotations

from collections.abc import Callable

from hakiri.catalog.port import Catalog
from hakiri.land.glance import require_standing
from hakiri.land.standing import carried
from hakiri.model.chunk import TableKey
from hakiri.run.equipment import Place
from hakiri.spec.pipeline import PipelineSpec, TableSpec


def require_landed(catalog: Catalog, spec: PipelineSpec, place: Callable[[PipelineSpec, TableSpec], Place]) -> None:
    """Return if every table of the pipeline holds what the catalog says has landed. Raises TableMovedBack."""
    for table in spec.tables:
        last = carried(catalog.landings(TableKey(spec.id, table.name)))
        require_standing(spec.landed_name(table), place(spec, table).target, last)
