"""Try a pipeline's transforms on rows of its source, without writing anything."""

from __future__ import annotations

from collections.abc import Mapping

from hakiri.extract.connectors.declared import source_table
from hakiri.extract.connectors.port import Connector
from hakiri.extract.landing_types import landing_schema
from hakiri.extract.transform.reshape import Reshape
from hakiri.extract.transform.trial import Trial, as_answer, try_reshape
from hakiri.land.errors import UnknownTable
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.validation_errors import guess

__all__ = ["Trial", "as_answer", "try_transforms"]


def try_transforms(
    spec: PipelineSpec, connector: Connector, reshapes: Mapping[str, Reshape], *, table: str | None, rows: int
) -> dict[str, Trial]:
    """Transform the first rows of each table that has a transform, or of the one that is named.

    Raises UnknownTable, SourceError, TransformUnfit and ExtractError. A repeat reads again.
    """
    if table is not None and table not in reshapes:
        raise UnknownTable(table=table, known=tuple(sorted(reshapes)), guess=guess(table, reshapes))
    found = {}
    for one in spec.tables:
        if one.name in reshapes and table in (None, one.name):
            schema = connector.describe(source_table(spec, one))
            reshapes[one.name].bind(landing_schema(schema.columns, table=one.name))
            found[one.name] = try_reshape(connector, schema, reshapes[one.name], rows=rows)
    return found
