"""Show a table's schema history, compare it with its source, and accept differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.catalog.errors import SchemaMoved
from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.extract.connectors.port import Connector
from hakiri.land.decide.reconcile import reconcile
from hakiri.land.errors import UnknownTable
from hakiri.land.staged.types import table_type
from hakiri.model.accepted_types import accepted_text, accepted_types
from hakiri.model.chunk import ChunkState, ChunkStatus, TableKey
from hakiri.model.columns.renames import outdated, present_name
from hakiri.model.errors import SchemaIncompatible
from hakiri.model.ledger import LandingStatus
from hakiri.model.timestamps import to_brief
from hakiri.model.types import Struct
from hakiri.model.types.text import shown_type
from hakiri.plan.facts import TableFacts
from hakiri.plan.modes import replaces_table
from hakiri.plan.schema_changes import (
    ACCEPTABLE,
    ChangeKind,
    SchemaChange,
    column_changes,
    refusal,
    schema_changes,
    told,
)
from hakiri.run.errors import NotAcceptable
from hakiri.run.facts import describe_tables
from hakiri.run.schema_history import SchemaDecision, last_schema_decision
from hakiri.run.services import TablePlace
from hakiri.run.source_sample import sample_source
from hakiri.spec.feed import feed_load, sequence_columns
from hakiri.spec.pipeline import PipelineSpec, SchemaPolicy, TableSpec
from hakiri.spec.validation_errors import guess
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.manifest import read_manifest

if TYPE_CHECKING:
    from hakiri.extract.transform.reshape import Reshape

OpenPlace = Callable[[PipelineSpec, TableSpec], TablePlace]


@dataclass(frozen=True, slots=True)
class Logged:
    """One version of a table's schema history, and what it changed."""

    table: TableKey
    version: int
    at: datetime
    decision: SchemaDecision
    changes: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "table": self.table.table,
            "version": self.version,
            "at": to_brief(self.at),
            "by": self.decision.by,
            "run": self.decision.run,
            "reason": self.decision.reason,
            "changes": list(self.changes),
            "columns": {one.name: shown_type(one.type) for one in self.decision.facts},
            "key": list(self.decision.key),
            "accepted": dict(self.decision.accepted),
            "dropped": list(self.decision.dropped),
        }


@dataclass(frozen=True, slots=True)
class Differing:
    """The differences between one table and what would land in it."""

    table: TableKey
    version: int
    """Of the history that it was held against; 0 before the first landing."""
    changes: tuple[SchemaChange, ...]
    refused: HakiriError | None
    told_apart_by: frozenset[str]
    """The columns that tell rows and their versions apart; None where only a row's content does."""
    columns: frozenset[str] = frozenset()
    """Those of the table and of what is staged for it; what else changes is a field within one of them."""
    is_strict: bool = False
    landed: frozenset[str] = frozenset()
    """The table's own."""

    @property
    def acceptable(self) -> tuple[SchemaChange, ...]:
        """What a person could let come; under a strict policy nothing."""
        found = (one for one in self.changes if one.kind in ACCEPTABLE and not one.is_applied)
        return () if self.is_strict else tuple(found)

    @property
    def accepted(self) -> dict[str, tuple[str, ...]]:
        """The types of each column that a person could let come.

        Where a column has not landed, its staged types differ from each other, and either may come again.
        """
        found: dict[str, tuple[str, ...]] = {}
        for one in self.acceptable:
            types = (one.after,) if one.column.casefold() in self.landed else (one.before, one.after)
            found[one.column] = (*found.get(one.column, ()), *(kind for kind in types if kind))
        return found

    @property
    def lines(self) -> tuple[str, ...]:
        """Each change in a few words."""
        kinds = ((one, one.kind.value if one.is_applied else f"{one.kind}, refused") for one in self.changes)
        return tuple(f"{told(one)} ({kind})" for one, kind in kinds)

    @property
    def accepted_lines(self) -> tuple[str, ...]:
        return tuple(map(told, self.acceptable))

    def accepted_as_json(self) -> dict[str, object]:
        accepted = {column: accepted_text(types) for column, types in self.accepted.items()}
        return {"table": self.table.table, "accepted": accepted}

    def as_json(self) -> dict[str, object]:
        changes = [_plain(one) for one in self.changes]
        refused = {"code": self.refused.code, "message": self.refused.message()} if self.refused else None
        return {"table": self.table.table, "version": self.version, "changes": changes, "refused": refused}


def schema_log(catalog: Catalog | None, spec: PipelineSpec) -> list[Logged]:
    """Return every schema decision on the pipeline's tables, the oldest first."""
    return [one for table in spec.tables for one in _logged(catalog, TableKey(spec.id, table.name))]


def schema_diff(
    spec: PipelineSpec,
    connector: Connector,
    catalog: Catalog | None,
    *,
    place: OpenPlace,
    reshapes: Mapping[str, Reshape],
    table: str | None = None,
    shows_values: bool = False,
) -> list[Differing]:
    """Return how the source and its staged chunks differ from the tables, or from the one that is named.

    With a few values of what is refused, if asked for. Changes nothing. Raises UnknownTable, SourceError,
    TransformUnfit, TypeUnlandable and CatalogError.
    """
    names = tuple(one.name for one in spec.tables)
    if table is not None and table not in names:
        raise UnknownTable(table=table, known=names, guess=guess(table, names))
    described = describe_tables(spec, connector, catalog, reshapes=reshapes)
    found = [_differing(spec, one, catalog, place) for one in described.facts.tables if table in (None, one.spec.name)]
    for one in found if shows_values else ():
        if isinstance(one.refused, SchemaIncompatible) and one.table.table in _plain_tables(spec, reshapes):
            one.refused.sample = sample_source(connector, described.schemas[one.table.table], one.refused.column)
    return found


def _plain_tables(spec: PipelineSpec, reshapes: Mapping[str, Reshape]) -> set[str]:
    """Return the tables whose rows land as they are read."""
    return {one.name for one in spec.tables if one.name not in reshapes and feed_load(spec, one) is None}


def schema_accept(
    catalog: Catalog | None, differing: Iterable[Differing], *, by: str, reason: str, version: int | None = None
) -> list[Differing]:
    """Accept from now on what would be refused, and return the tables with something to accept. A repeat finds nothing.

    Raises NotAcceptable before anything is accepted, and SchemaMoved where a history is not at `version` any more.
    """
    chosen = [one for one in differing if one.acceptable]
    for one in chosen:
        for change in one.acceptable:
            _require_holdable(one, change)
    for one in chosen:
        if catalog is None:
            raise AssertionError("a table differs from what has landed or is staged")
        _accept(catalog, one, by=by, reason=reason or "accepted", version=one.version if version is None else version)
    return chosen


def _accept(catalog: Catalog, differing: Differing, *, by: str, reason: str, version: int) -> None:
    table, history = differing.table, catalog.schemas(differing.table)
    if version != len(history):
        raise SchemaMoved(pipeline=table.pipeline, table=table.table, expected=version, found=len(history))
    last = SchemaDecision.from_text(history[-1].schema_json) if history else _BEFORE_ALL
    types = {
        column: accepted_text((*accepted_types(last.accepted.get(column)), *new))
        for column, new in differing.accepted.items()
    }
    accepted = replace(last, accepted={**last.accepted, **types}, renamed={}, by=by, run="", reason=reason)
    catalog.append_schema(table, accepted.to_text(), after=version)


_BEFORE_ALL = SchemaDecision(columns=Struct(()))


def _require_holdable(differing: Differing, change: SchemaChange) -> None:
    """What is narrower fits as it is; what is neither becomes text, and not every column can."""
    if change.kind is not ChangeKind.CHANGED:
        return
    before, after, apart = change.before or "", change.after or "", differing.told_apart_by
    if any(one.partition("<")[0] in _BEYOND_TEXT for one in (before, after)):
        reason = "text does not hold the values of both"
    elif change.column.casefold() not in differing.columns:
        reason = "it is a field of a nested column, and only a whole column can become text"
    elif change.column.casefold() in apart:
        reason = "rows of this table are told apart by it, and text has another order"
    else:
        return
    raise NotAcceptable(
        pipeline=differing.table.pipeline,
        table=differing.table.table,
        column=change.column,
        before=before,
        after=after,
        reason=reason,
    )


_BEYOND_TEXT = frozenset({"binary", "struct", "array", "map"})


def _logged(catalog: Catalog | None, table: TableKey) -> Iterator[Logged]:
    before = _BEFORE_ALL
    for version in catalog.schemas(table) if catalog else ():
        decision = SchemaDecision.from_text(version.schema_json)
        yield Logged(table, version.version, version.applied_at, decision, tuple(_told(before, decision)))
        before = decision


def _told(before: SchemaDecision, after: SchemaDecision) -> Iterator[str]:
    if before.has_landed:
        yield from _moved(before, after)
    for column, kind in after.accepted.items():
        if before.accepted.get(column) != kind:
            yield f"accepted {column} {kind}"


def _moved(before: SchemaDecision, after: SchemaDecision) -> Iterator[str]:
    for new, old in after.renamed.items():
        yield told(SchemaChange(ChangeKind.RENAMED, new, old, new, is_applied=True))
    known = [replace(fact, name=present_name(fact.name, after.renamed)) for fact in before.facts]
    for change in column_changes(known, after.facts):
        yield told(SchemaChange(*change, is_applied=True))
    yield from _come_and_gone(before, after)
    if tuple(present_name(name, after.renamed) for name in before.key) != after.key:
        yield f"key {', '.join(before.key) or 'none'} -> {', '.join(after.key) or 'none'}"
    if before.mode and before.mode != after.mode:
        yield f"load {before.mode} -> {after.mode}"


def _come_and_gone(before: SchemaDecision, after: SchemaDecision) -> Iterator[str]:
    """Columns that the table keeps: those that its source has dropped, and those that it has again."""
    types = {fact.name: shown_type(fact.type) for fact in after.facts}
    gone = [present_name(name, after.renamed) for name in before.dropped]
    for name in after.dropped:
        if name not in gone and name in types:
            yield told(SchemaChange(ChangeKind.DROPPED, name, types[name], None, is_applied=True))
    for name in gone:
        if name not in after.dropped and name in types:
            yield f"{told(SchemaChange(ChangeKind.ADDED, name, None, types[name], is_applied=True))}, again"


def _differing(spec: PipelineSpec, table: TableFacts, catalog: Catalog | None, place: OpenPlace) -> Differing:
    key = TableKey(spec.id, table.spec.name)
    changes, staged = schema_changes(table, spec.schema_policy), _staged(spec, table, catalog, place)
    if catalog is not None:
        waiting = _conflicts(key, table, staged, last_schema_decision(catalog, key) or _BEFORE_ALL)
        changes = (*changes, *(one for one in waiting if one not in changes))
    refused = refusal(spec.id, key.table, changes, spec.schema_policy)
    version = len(catalog.schemas(key)) if catalog else 0
    is_strict = spec.schema_policy is SchemaPolicy.STRICT
    landed = frozenset(one.name.casefold() for one in table.landed_columns or ())
    columns = landed.union(name.casefold() for one in staged for name in one.names)
    return Differing(key, version, changes, refused, _told_apart_by(spec, table), columns, is_strict, landed)


def _told_apart_by(spec: PipelineSpec, table: TableFacts) -> frozenset[str]:
    load, incremental = spec.load_of(table.spec), spec.incremental_of(table.spec)
    key, cursor = load.own_key or table.primary_key, incremental.column if incremental else None
    if replaces_table(spec, table.spec):
        return frozenset()
    names = [column.name for column in table.produced or ()]
    feed = feed_load(spec, table.spec)
    sequence = sequence_columns(feed.changes, feed.sequence_by, names) if feed else ()
    return frozenset(present_name(name, table.spec.renamed).casefold() for name in (*key, cursor, *sequence) if name)


def _staged(spec: PipelineSpec, table: TableFacts, catalog: Catalog | None, place: OpenPlace) -> tuple[Struct, ...]:
    """Return the columns of each chunk that waits to land, by the names they have now."""
    if catalog is None:
        return ()
    waiting = _waiting(catalog, TableKey(spec.id, table.spec.name))
    found = _staged_columns(waiting, place(spec, table.spec)) if waiting else ()
    return tuple(one.renamed(outdated(one.names, table.spec.renamed)) for one in found)


def _waiting(catalog: Catalog, key: TableKey) -> list[ChunkState]:
    """Return the staged chunks, first those of a landing that was refused."""
    reserved = [one for one in catalog.landings(key) if one.status is LandingStatus.RESERVED]
    held = {chunk for landing in reserved for chunk in landing.chunks}
    done = catalog.chunks(key, [ChunkStatus.DONE]) if held else ()
    return [*(state for state in done if state.chunk.key in held), *catalog.staged(key)]


def _staged_columns(states: Iterable[ChunkState], place: TablePlace) -> Iterator[Struct]:
    for state in states:
        if state.seal is None:
            continue
        with suppress(StagedUnfit):  # one that is lost will be read again
            yield table_type(read_manifest(place.files, state.seal.path).schema, table=state.chunk.key.table)


def _conflicts(
    key: TableKey, table: TableFacts, staged: Sequence[Struct], decided: SchemaDecision
) -> list[SchemaChange]:
    """Each type for which a landing of what is staged would be refused, as if those before it were accepted."""
    stored = decided.columns.renamed(outdated(decided.columns.names, table.spec.renamed))
    accepted = {present_name(name, table.spec.renamed): types for name, types in decided.accepted.items()}
    found: list[SchemaChange] = []
    while refused := _refused(key, stored if decided.has_landed else None, staged, accepted):
        column = refused.column
        change = SchemaChange(ChangeKind.CHANGED, column, refused.stored, refused.incoming, is_applied=False)
        if change in found:
            break  # no text holds both, whatever is accepted
        found.append(change)
        accepted[column] = accepted_text((*accepted_types(accepted.get(column)), refused.incoming))
    return found


def _refused(
    key: TableKey, stored: Struct | None, staged: Sequence[Struct], accepted: Mapping[str, str]
) -> SchemaIncompatible | None:
    try:
        reconcile(stored, staged, pipeline=key.pipeline, table=key.table, accepted=accepted)
    except SchemaIncompatible as refused:
        return refused
    return None


def _plain(change: SchemaChange) -> dict[str, object]:
    return {
        "column": change.column,
        "kind": change.kind.value,
        "before": change.before,
        "after": change.after,
        "is_applied": change.is_applied,
    }
