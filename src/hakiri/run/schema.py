"""How a table's schema came to be, how its source differs from it now, and what a person lets come all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError, NotAcceptable, SchemaMoved, StagedUnfit, UnknownTable
from hakiri.extract.connectors.port import Connector
from hakiri.land.staged_types import column_types
from hakiri.model.chunk import ChunkState, TableKey
from hakiri.model.instants import to_brief
from hakiri.model.renamed import present_name
from hakiri.plan.drift import ACCEPTABLE, ChangeKind, SchemaChange, column_changes, refusal, schema_changes, told
from hakiri.plan.facts import ColumnFact, TableFacts
from hakiri.plan.modes import replaces_table
from hakiri.run.equipment import Place
from hakiri.run.gather import describe
from hakiri.run.history import Decision
from hakiri.spec.faults import guess
from hakiri.spec.feed import sequence_columns
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, SchemaPolicy, TableSpec
from hakiri.stage.manifest import read_manifest

if TYPE_CHECKING:
    from hakiri.extract.transform.reshape import Reshape

OpenPlace = Callable[[PipelineSpec, TableSpec], Place]


@dataclass(frozen=True, slots=True)
class Logged:
    """One version of a table's schema history, and what it changed."""

    table: TableKey
    version: int
    at: datetime
    decision: Decision
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
            "columns": {one.name: one.type for one in self.decision.facts},
            "key": list(self.decision.key),
            "accepted": dict(self.decision.accepted),
        }


@dataclass(frozen=True, slots=True)
class Differing:
    """How one table and what would come to it differ."""

    table: TableKey
    version: int
    """Of the history that it was held against; 0 before the first landing."""
    changes: tuple[SchemaChange, ...]
    refused: HakiriError | None
    told_apart_by: frozenset[str] | None
    """The columns that tell rows and their versions apart; None where only a row's content does."""
    columns: frozenset[str] = frozenset()
    """The table's own; what else changes is a field within one of them."""
    is_strict: bool = False

    @property
    def acceptable(self) -> tuple[SchemaChange, ...]:
        """What a person could let come; under a strict policy nothing."""
        found = (one for one in self.changes if one.kind in ACCEPTABLE and not one.is_applied)
        return () if self.is_strict else tuple(found)

    @property
    def lines(self) -> tuple[str, ...]:
        """Each change in a few words."""
        kinds = ((one, one.kind.value if one.is_applied else f"{one.kind}, refused") for one in self.changes)
        return tuple(f"{told(one)} ({kind})" for one, kind in kinds)

    @property
    def accepted_lines(self) -> tuple[str, ...]:
        return tuple(map(told, self.acceptable))

    def accepted_as_json(self) -> dict[str, object]:
        return {"table": self.table.table, "accepted": {one.column: one.after for one in self.acceptable}}

    def as_json(self) -> dict[str, object]:
        changes = [_plain(one) for one in self.changes]
        refused = {"code": self.refused.code, "message": self.refused.message()} if self.refused else None
        return {"table": self.table.table, "version": self.version, "changes": changes, "refused": refused}


def schema_log(catalog: Catalog | None, spec: PipelineSpec) -> list[Logged]:
    """Every decision on the pipeline's tables, the oldest first."""
    return [one for table in spec.tables for one in _logged(catalog, TableKey(spec.id, table.name))]


def schema_diff(
    spec: PipelineSpec,
    connector: Connector,
    catalog: Catalog | None,
    *,
    place: OpenPlace,
    reshapes: Mapping[str, Reshape],
    table: str | None = None,
) -> list[Differing]:
    """How the source, and what is staged of it, differ from the tables, or from the one that is named.

    Changes nothing. Raises UnknownTable, SourceError, TransformUnfit, TypeUnlandable and CatalogError.
    """
    names = tuple(one.name for one in spec.tables)
    if table is not None and table not in names:
        raise UnknownTable(table=table, known=names, guess=guess(table, names))
    facts = describe(spec, connector, catalog, reshapes=reshapes).facts
    return [_differing(spec, one, catalog, place) for one in facts.tables if table in (None, one.spec.name)]


def schema_accept(
    catalog: Catalog | None, differing: Iterable[Differing], *, by: str, reason: str, version: int | None = None
) -> list[Differing]:
    """Let what is refused come from now on; those for which there was something. A repeat finds nothing to accept.

    Raises NotAcceptable before anything is accepted, and SchemaMoved where a history is not at `version` any more.
    """
    chosen = [one for one in differing if one.acceptable]
    for one in chosen:
        for change in one.acceptable:
            _require_holdable(one, change)
    for one in chosen:
        if catalog is None:
            raise AssertionError("a table differs only from one that has landed")
        _accept(catalog, one, by=by, reason=reason or "accepted", version=one.version if version is None else version)
    return chosen


def _accept(catalog: Catalog, differing: Differing, *, by: str, reason: str, version: int) -> None:
    table, history = differing.table, catalog.schemas(differing.table)
    if version != len(history):
        raise SchemaMoved(pipeline=table.pipeline, table=table.table, expected=version, found=len(history))
    last = Decision.from_text(history[-1].schema_json)
    types = {change.column: change.after or "" for change in differing.acceptable}
    accepted = replace(last, accepted={**last.accepted, **types}, renamed={}, by=by, run="", reason=reason)
    catalog.append_schema(table, accepted.to_text(), after=version)


def _require_holdable(differing: Differing, change: SchemaChange) -> None:
    """What is narrower fits as it is; what is neither becomes text, and not every column can."""
    if change.kind is not ChangeKind.CHANGED:
        return
    before, after, apart = change.before or "", change.after or "", differing.told_apart_by
    if any(one.partition("<")[0] in _BEYOND_TEXT for one in (before, after)):
        reason = "text does not hold the values of both"
    elif change.column.casefold() not in differing.columns:
        reason = "it is a field of a nested column, and only a whole column can become text"
    elif apart is None:
        reason = "rows of this table are told apart by their content, which would be another"
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
    before: Decision | None = None
    for version in catalog.schemas(table) if catalog else ():
        decision = Decision.from_text(version.schema_json)
        yield Logged(table, version.version, version.applied_at, decision, tuple(_told(before, decision)))
        before = decision


def _told(before: Decision | None, after: Decision) -> Iterator[str]:
    if before is None:
        return
    for new, old in after.renamed.items():
        yield told(SchemaChange(ChangeKind.RENAMED, new, old, new, is_applied=True))
    known = [replace(fact, name=present_name(fact.name, after.renamed)) for fact in before.facts]
    for change in column_changes(known, after.facts):
        yield told(SchemaChange(*change, is_applied=True))
    if tuple(present_name(name, after.renamed) for name in before.key) != after.key:
        yield f"key {', '.join(before.key) or 'none'} -> {', '.join(after.key) or 'none'}"
    for column, kind in after.accepted.items():
        if before.accepted.get(column) != kind:
            yield f"accepted {column} {kind}"


def _differing(spec: PipelineSpec, table: TableFacts, catalog: Catalog | None, place: OpenPlace) -> Differing:
    key = TableKey(spec.id, table.spec.name)
    changes = schema_changes(table, spec.schema_policy)
    if catalog is not None and table.landed_columns is not None:
        waiting = tuple(one for one in _staged_changes(spec, table, catalog, place) if one not in changes)
        changes = (*changes, *waiting)
    refused = refusal(spec.id, key.table, changes, spec.schema_policy)
    version = len(catalog.schemas(key)) if catalog else 0
    is_strict = spec.schema_policy is SchemaPolicy.STRICT
    columns = frozenset(one.name.casefold() for one in table.landed_columns or ())
    return Differing(key, version, changes, refused, _told_apart_by(spec, table), columns, is_strict)


def _told_apart_by(spec: PipelineSpec, table: TableFacts) -> frozenset[str] | None:
    load, incremental = spec.load_of(table.spec), spec.incremental_of(table.spec)
    key, cursor = load.upsert_key or table.primary_key, incremental.column if incremental else None
    if replaces_table(spec, table.spec):
        return frozenset()
    if load.mode in (LoadMode.APPEND, LoadMode.INCREMENTAL_WATERMARK) and not (key and cursor):
        return None
    sequence = sequence_columns(load, [column.name for column in table.produced or ()])
    return frozenset(present_name(name, table.spec.renamed).casefold() for name in (*key, cursor, *sequence) if name)


def _staged_changes(
    spec: PipelineSpec, table: TableFacts, catalog: Catalog, place: OpenPlace
) -> tuple[SchemaChange, ...]:
    """What is staged and cannot land as it is, each column and type once. Narrower types can."""
    found: dict[tuple[str, str | None], SchemaChange] = {}
    for columns in _staged_columns(catalog.staged(TableKey(spec.id, table.spec.name)), place(spec, table.spec)):
        for change in schema_changes(replace(table, produced=columns), spec.schema_policy):
            if change.kind is ChangeKind.CHANGED:
                found.setdefault((change.column, change.after), change)
    return tuple(found.values())


def _staged_columns(states: Iterable[ChunkState], place: Place) -> Iterator[tuple[ColumnFact, ...]]:
    for state in states:
        if state.seal is None:
            continue
        with suppress(StagedUnfit):  # one that is lost will be read again
            schema = read_manifest(place.files, state.seal.path).schema
            yield tuple(ColumnFact(*one) for one in column_types(schema, table=state.chunk.key.table))


def _plain(change: SchemaChange) -> dict[str, object]:
    return {
        "column": change.column,
        "kind": change.kind.value,
        "before": change.before,
        "after": change.after,
        "is_applied": change.is_applied,
    }
