"""Gather the facts that a plan is made from, from the source, the tables and the catalog (G1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hakiri.catalog.port import Catalog
from hakiri.extract.changes.feed import Feed, described, feed_of
from hakiri.extract.connectors.port import Connector, Indexing
from hakiri.extract.landing_types import landing_schema
from hakiri.extract.untyped import lacks_types, typed_by, without_untyped
from hakiri.land.staged.types import table_type
from hakiri.model.chunk import ChunkState, TableKey
from hakiri.model.clock import SystemClock
from hakiri.model.columns.change import CHANGE
from hakiri.model.columns.renames import present_name
from hakiri.model.cursor import is_ahead
from hakiri.model.key import KeyValue
from hakiri.model.ledger import LandingStatus, Phase
from hakiri.model.ledger_state import LedgerState
from hakiri.model.span import OneFile
from hakiri.model.staged import PROVENANCE
from hakiri.model.table import TableSchema
from hakiri.model.types import Struct
from hakiri.plan.batch import has_read_files, is_of_files
from hakiri.plan.errors import WatermarkUnfit
from hakiri.plan.facts import ColumnFact, PipelineFacts, TableFacts, TransformFact
from hakiri.plan.modes import watermark_of
from hakiri.plan.overlap import landed_before
from hakiri.plan.read_from import cursor_of, floor_of
from hakiri.plan.rounds import History
from hakiri.run.errors import TableBare
from hakiri.run.schema_history import SchemaDecision
from hakiri.run.transforms import key_after
from hakiri.spec.pipeline import PipelineSpec, TableSpec

if TYPE_CHECKING:
    from hakiri.extract.transform.reshape import Reshape


Watermarks = Callable[[PipelineSpec, TableSpec, str], KeyValue | None]
"""The greatest value of a column in a landed table; None where there is none."""


LandedTransforms = Callable[[PipelineSpec, TableSpec, Collection[ChunkState]], frozenset[str]]
"""The digests of the transforms that the rows of landed chunks went through; empty where one is not known."""


@dataclass(frozen=True, slots=True)
class GatheredFacts:
    """The facts of a pipeline, and its tables as the source describes them, by name."""

    facts: PipelineFacts
    schemas: Mapping[str, TableSchema]


def gather_facts(
    spec: PipelineSpec,
    connector: Connector,
    catalog: Catalog | None,
    *,
    reshapes: Mapping[str, Reshape] | None = None,
    is_full_refresh: bool = False,
    surveys_all: bool = False,
    watermark: Watermarks | None = None,
    landed_transforms: LandedTransforms | None = None,
) -> GatheredFacts:
    """Ask the source, the tables and the catalog for all facts of a plan. Changes nothing; a repeat asks again.

    `catalog` is None where there is none yet. A table with open chunks is surveyed only if `surveys_all`, since its
    plan does not need it. `reshapes` are the transforms by table, `watermark` asks a landed table, `landed_transforms`
    the manifests of landed chunks. Raises SourceError, PlanError, TransformUnfit, TypeUnlandable, CatalogError, and
    what asking a table raises.
    """
    known = describe_tables(spec, connector, catalog, reshapes=reshapes, is_full_refresh=is_full_refresh)
    facts, schemas = known.facts, known.schemas
    if surveys_all:
        shown = (_indexed(table, connector, schemas[table.spec.name]) for table in facts.tables)
        facts = replace(facts, tables=tuple(_counted(spec, table, catalog) for table in shown))
    tables = tuple(
        _surveyed(facts, _marked(facts, table, watermark), connector, schemas[table.spec.name])
        if surveys_all or not table.history.open
        else table
        for table in facts.tables
    )
    tables = tuple(_completed(spec, table, catalog) for table in tables)
    if landed_transforms is not None:
        tables = tuple(_reread(spec, table, landed_transforms) for table in tables)
    stood = {table.spec.name: table.survey.standing for table in tables if table.survey}
    schemas = {name: replace(schema, standing=stood.get(name, "")) for name, schema in schemas.items()}
    return GatheredFacts(replace(facts, tables=tables), schemas)


def describe_tables(
    spec: PipelineSpec,
    connector: Connector,
    catalog: Catalog | None,
    *,
    reshapes: Mapping[str, Reshape] | None = None,
    is_full_refresh: bool = False,
) -> GatheredFacts:
    """Gather the same facts without a survey: the tables' columns, but not how much is in them.

    Raises SourceError, TransformUnfit, TypeUnlandable and CatalogError.
    """
    states = {
        table.name: catalog.table_state(TableKey(spec.id, table.name)) if catalog is not None else None
        for table in spec.tables
    }
    schemas = {
        table.name: _described(spec, table, connector, states[table.name], (reshapes or {}).get(table.name))
        for table in spec.tables
    }
    facts = PipelineFacts(
        spec=spec,
        hint=connector.hint(),
        tables=tuple(
            _table(
                spec,
                table,
                _fit(spec, table, schemas[table.name], (reshapes or {}).get(table.name)),
                states[table.name],
                catalog,
                is_full_refresh,
            )
            for table in spec.tables
        ),
        phase=_phase(spec, catalog),
    )
    return GatheredFacts(facts, schemas)


def _described(
    spec: PipelineSpec, table: TableSpec, connector: Connector, state: LedgerState | None, reshape: Reshape | None
) -> TableSchema:
    """Return the table as its source describes it, with landed types for columns without a value at the source."""
    schema, feed = described(connector, spec, table), feed_of(spec, table)
    if not lacks_types(schema) or (feed is not None and feed.changes.is_enveloped):
        return schema
    is_plain = feed is None and reshape is None
    decided = SchemaDecision.of(state.schema) if state else None
    if decided is None or not decided.has_landed:
        return without_untyped(schema) if is_plain else schema
    known = {
        present_name(column.name, table.renamed): column.type
        for column in decided.facts
        if column.name not in PROVENANCE and column.name not in decided.dropped
    }
    if reshape is not None:
        known = {name: kind for name, kind in known.items() if reshape.keeps(name)}
    return typed_by(schema, known, may_add=feed is None)


def complete_history(catalog: Catalog, table: TableKey) -> History:
    """Return everything that was ever planned for the table, and what of it has landed."""
    chunks = catalog.chunks(table)  # before the landings: none of them may be taken for open because it landed since
    finished = (one for one in catalog.landings(table) if one.status is LandingStatus.LANDED)
    return History.of(chunks, frozenset(key for one in finished for key in one.chunks))


def history_of(catalog: Catalog, state: LedgerState) -> History:
    """Return as much of the table's history as its next landing needs.

    For a table that is read file by file that is all of it: which files have landed decides what a changed one may
    bring again.
    """
    history = History.recent(state)
    return complete_history(catalog, state.table) if has_read_files(history) else history


def _table(
    spec: PipelineSpec,
    table: TableSpec,
    facts: TableFacts,
    state: LedgerState | None,
    catalog: Catalog | None,
    is_full_refresh: bool,
) -> TableFacts:
    load = spec.load_of(table).for_key(facts.primary_key)
    facts = replace(
        facts,
        is_full_refresh=is_full_refresh,
        upsert_key=load.own_key,
        load=load,
        is_known_by_content=load.is_known_by_content,
    )
    return facts if catalog is None or state is None else _known(facts, state, catalog)


def _fit(spec: PipelineSpec, table: TableSpec, schema: TableSchema, reshape: Reshape | None) -> TableFacts:
    """Return the table's columns at its source, and as they land after its feed or its transform.

    Raises TransformUnfit and ChangesUnfit.
    """
    landing = landing_schema(schema.columns, table=table.name)
    columns = _columns(table_type(landing, table=table.name))
    feed = feed_of(spec, table)
    if feed is not None:
        return TableFacts(
            spec=table,
            columns=columns,
            primary_key=feed.key,
            produced=_mirrored(feed, schema),
            unordered=schema.unordered,
        )
    if reshape is None:
        return TableFacts(
            spec=table,
            columns=columns,
            primary_key=schema.primary_key,
            source_key=schema.own_key,
            produced=columns,
            unordered=schema.unordered,
        )
    _require_kept(spec, table, reshape)
    bound = landing_schema(reshape.bind(landing), table=table.name)
    produced = _columns(table_type(bound, table=table.name))
    return TableFacts(
        spec=table,
        columns=columns,
        primary_key=key_after(spec, table, schema.primary_key, reshape, tuple(column.name for column in produced)),
        source_key=schema.own_key,
        produced=produced,
        transform=TransformFact(
            reshape.digest,
            reshape.sees_all,
            keeps_cursor=_keeps_cursor(spec, table, reshape),
            joins=tuple(reshape.references),
        ),
        unordered=schema.unordered,
    )


def _keeps_cursor(spec: PipelineSpec, table: TableSpec, reshape: Reshape) -> bool:
    incremental = spec.incremental_of(table)
    return incremental is None or reshape.keeps(incremental.column)


def _require_kept(spec: PipelineSpec, table: TableSpec, reshape: Reshape) -> None:
    """Raise WatermarkUnfit if a transform changes the watermark: then it does not tell what was read."""
    column = spec.load_of(table).watermark
    if column is not None and not reshape.keeps(column):
        reason = "a transform does not leave it as it was read"
        raise WatermarkUnfit(pipeline=spec.id, table=table.name, column=column, reason=reason)


def _mirrored(feed: Feed, schema: TableSchema) -> tuple[ColumnFact, ...]:
    """Return the columns of the rows that a feed describes. Raises ChangesUnfit and ColumnReserved."""
    told = feed.taught(schema.columns)
    bound = landing_schema(told.bind(landing_schema(schema.columns, table=feed.table)), table=feed.table)
    return tuple(one for one in _columns(table_type(bound, table=feed.table)) if one.name not in CHANGE)


def _columns(table: Struct) -> tuple[ColumnFact, ...]:
    return tuple(ColumnFact(one.name, one.type) for one in table.fields)


def _known(facts: TableFacts, state: LedgerState, catalog: Catalog) -> TableFacts:
    decided = SchemaDecision.of(state.schema)
    history = history_of(catalog, state)
    if state.restored and history.totals is None and facts.is_known_by_content:
        history = replace(history, lost=tuple(sorted({key.chunk for key in catalog.lost_chunks(state.table)})))
    return replace(
        facts,
        is_full_refresh=facts.is_full_refresh or history.is_refresh_undone,
        landed_columns=decided.facts if decided and decided.has_landed else None,
        landed_key=decided.key if decided else (),
        landed_partition=tuple(decided.partition_by) if decided else (),
        accepted=decided.accepted if decided else {},
        landed_transform=decided.transform if decided else "",
        older_transforms=frozenset(decided.older_transforms) if decided else frozenset(),
        landed_mode=decided.mode if decided else "",
        cursor=state.cursor,
        history=history,
    )


def _counted(spec: PipelineSpec, table: TableFacts, catalog: Catalog | None) -> TableFacts:
    """Return the table with the totals that a plan shows."""
    if catalog is None or table.history.totals is not None:
        return table
    key = TableKey(spec.id, table.spec.name)
    totals = catalog.landed_totals(key, table.history.last_round)
    lost = tuple(sorted({chunk.chunk for chunk in catalog.lost_chunks(key)}))
    return replace(table, history=replace(table.history, totals=totals, lost=lost))


def _completed(spec: PipelineSpec, table: TableFacts, catalog: Catalog | None) -> TableFacts:
    """Return the table with its complete history, if its source has files now and did not have any before."""
    if catalog is None or has_read_files(table.history) or not is_of_files(table):
        return table
    return replace(table, history=complete_history(catalog, TableKey(spec.id, table.spec.name)))


def _marked(pipeline: PipelineFacts, table: TableFacts, watermark: Watermarks | None) -> TableFacts:
    column = watermark_of(pipeline.spec, table.spec, pipeline.cursor_kind)
    if column is None or table.is_read_anew:
        return table
    if watermark is None:
        raise AssertionError(f"table {table.spec.name} goes by what it holds, and nobody can be asked for that")
    return replace(table, watermark=watermark(pipeline.spec, table.spec, column))


def _reread(spec: PipelineSpec, table: TableFacts, landed_transforms: LandedTransforms) -> TableFacts:
    """Return the table with the transforms of landed rows whose files are to be read again."""
    if not table.is_known_by_content or table.is_full_refresh:
        return table
    states = landed_before(table.history, table.survey.pieces if table.survey else ())
    if not states:
        return table
    found = landed_transforms(spec, table.spec, states)
    return replace(table, reread_transforms=frozenset(one or table.landed_transform for one in found) - {""})


def _indexed(table: TableFacts, connector: Connector, schema: TableSchema) -> TableFacts:
    column = schema.table.cursor
    if column is None or not isinstance(connector, Indexing):
        return table
    return replace(table, is_unindexed=connector.is_indexed(schema, column) is False)


def _surveyed(pipeline: PipelineFacts, table: TableFacts, connector: Connector, schema: TableSchema) -> TableFacts:
    survey = connector.survey(schema, since=floor_of(pipeline, table))
    # A file without rows may have columns later on; a table of a database has them or lands nothing, ever.
    if not schema.names and not any(isinstance(piece.span, OneFile) for piece in survey.pieces):
        raise TableBare(pipeline=pipeline.spec.id, table=table.spec.name)
    now = SystemClock().now()
    last = cursor_of(pipeline, table)
    return replace(table, survey=survey, is_ahead=is_ahead(survey.high, now), is_cursor_ahead=is_ahead(last, now))


def _phase(spec: PipelineSpec, catalog: Catalog | None) -> Phase | None:
    known = catalog.pipelines() if catalog else ()
    return next((one.phase for one in known if one.pipeline == spec.id), None)
