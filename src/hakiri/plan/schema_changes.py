"""Compute how a landing would change a table's schema, before anything lands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hakiri.errors import HakiriError
from hakiri.model.columns.change import CHANGE, KEPT_COLUMN, MIRRORED
from hakiri.model.columns.renames import doubled, outdated, present_name
from hakiri.model.errors import RenameUnfit, SchemaDrift, SchemaIncompatible
from hakiri.model.staged import PROVENANCE
from hakiri.model.types import Array, Map, Struct, Type, parts
from hakiri.model.types.text import shown_type
from hakiri.model.types.widening import wider
from hakiri.plan.batch import is_of_files
from hakiri.plan.errors import KeyChanged, TransformChanged, VersionsLanded
from hakiri.plan.facts import NO_TRANSFORM, ColumnFact, TableFacts
from hakiri.spec.load import load_by_mode
from hakiri.spec.pipeline import SchemaPolicy


class ChangeKind(StrEnum):
    """How a schema changed. An undeclared rename is a dropped column and an added one."""

    ADDED = "added"  # older rows get NULL
    DROPPED = "dropped"  # the table keeps it and its values; new rows get NULL
    WIDENED = "widened"
    NARROWED = "narrowed"  # rejected, unless accepted: the table keeps the wider type
    CHANGED = "changed"  # rejected, unless accepted: neither type holds the other's values, so it becomes text
    RENAMED = "renamed"  # as declared; rejected if both names exist
    RESHAPED = "reshaped"  # by another transform; rejected if landed rows would no longer be recognized
    REKEYED = "rekeyed"  # rejected, unless every row is read again
    MERGED = "merged"  # by upsert, into a table that may have several rows of a key; rejected in the same way


APPLIED = frozenset({ChangeKind.ADDED, ChangeKind.DROPPED, ChangeKind.WIDENED})
ACCEPTABLE = frozenset({ChangeKind.NARROWED, ChangeKind.CHANGED})


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change, with the types before and after; for a key, its columns."""

    kind: ChangeKind
    column: str
    before: str | None
    after: str | None
    is_applied: bool


def schema_changes(table: TableFacts, policy: SchemaPolicy) -> tuple[SchemaChange, ...]:
    """All changes, in the order of the columns that would land. Under a strict policy none is applied."""
    if table.landed_columns is None:
        return ()
    renamed = table.spec.renamed
    landed, produced = ([_present(one, renamed) for one in names] for names in (table.landed_columns, table.produced))
    declared = table.upsert_key or table.primary_key
    keys = (tuple(present_name(name, renamed) for name in key) for key in (table.landed_key, declared))
    found = [*_renamed(table), *_reshaped(table), *column_changes(landed, produced), *_key(*keys), *_merged(table)]
    is_strict = policy is SchemaPolicy.STRICT
    return tuple(SchemaChange(*change, is_applied=_is_applied(table, change, is_strict=is_strict)) for change in found)


def refusal(pipeline: str, table: str, changes: Sequence[SchemaChange], policy: SchemaPolicy) -> HakiriError | None:
    """Return the error of a table that cannot follow its source; None if it can."""
    refused = [one for one in changes if not one.is_applied]
    if not refused:
        return None
    if any(one.kind is ChangeKind.RESHAPED for one in refused):
        return TransformChanged(pipeline=pipeline, table=table)
    if policy is SchemaPolicy.STRICT:
        return SchemaDrift(pipeline=pipeline, table=table, changes=tuple(map(told, refused)))
    first = refused[0]
    if first.kind is ChangeKind.MERGED:
        return VersionsLanded(pipeline=pipeline, table=table, mode=first.before or "")
    before, after = first.before or "none", first.after or "none"
    if first.kind is ChangeKind.RENAMED:
        return RenameUnfit(pipeline=pipeline, table=table, before=before, after=after, reason="both names are there")
    if first.kind is ChangeKind.REKEYED:
        return KeyChanged(pipeline=pipeline, table=table, before=before, after=after)
    return SchemaIncompatible(pipeline=pipeline, table=table, column=first.column, stored=before, incoming=after)


def told(change: SchemaChange) -> str:
    """Describe a change in a few words: `+ note string`, `~ total int -> bigint`."""
    types = " -> ".join(one for one in (change.before, change.after) if one is not None)
    return f"{MARKS[change.kind]} {change.column} {types}"


MARKS = {
    ChangeKind.ADDED: "+",
    ChangeKind.DROPPED: "-",
    ChangeKind.WIDENED: "~",
    ChangeKind.NARROWED: "!",
    ChangeKind.CHANGED: "!",
    ChangeKind.RENAMED: "=",
    ChangeKind.RESHAPED: "~",
    ChangeKind.REKEYED: "!",
    ChangeKind.MERGED: "!",
}

_DIGITS = 8
"""How many characters of a transform's digest are shown."""
_OURS = frozenset({*PROVENANCE, *CHANGE, KEPT_COLUMN, *MIRRORED})

Change = tuple[ChangeKind, str, str | None, str | None]


def _present(column: ColumnFact, renamed: Mapping[str, str]) -> ColumnFact:
    return replace(column, name=present_name(column.name, renamed))


def _renamed(table: TableFacts) -> Iterator[Change]:
    renamed = table.spec.renamed
    landed = [column.name for column in table.landed_columns or ()]
    for columns in (landed, [column.name for column in table.produced or ()]):
        if both := doubled(columns, renamed):
            yield ChangeKind.RENAMED, both, renamed[both], both
            return
    for before, after in outdated(landed, renamed).items():
        yield ChangeKind.RENAMED, after, before, after


def _reshaped(table: TableFacts) -> Iterator[Change]:
    now = _transform(table)
    before = min(_met_again(table) - {now}, default=table.landed_transform)
    if before and before != now:
        yield ChangeKind.RESHAPED, "transform", before[:_DIGITS], now[:_DIGITS]


def _met_again(table: TableFacts) -> frozenset[str]:
    """Return the transforms of landed rows that the next read may bring again and must recognize by content."""
    if not table.is_known_by_content:
        return frozenset()
    return table.reread_transforms if is_of_files(table) else table.older_transforms


def _transform(table: TableFacts) -> str:
    return table.transform.digest if table.transform else NO_TRANSFORM


def _is_applied(table: TableFacts, change: Change, *, is_strict: bool) -> bool:
    kind, column, _, after = change
    if kind is ChangeKind.RENAMED:  # a declared rename is not a drift
        columns = (table.landed_columns or (), table.produced or ())
        return not any(doubled((one.name for one in names), table.spec.renamed) for names in columns)
    if kind is ChangeKind.RESHAPED:
        is_from_here_on = is_of_files(table) and _met_again(table) <= {_transform(table)}
        return not table.is_known_by_content or table.is_read_anew or is_from_here_on
    if is_strict:
        return False
    if kind in ACCEPTABLE:
        return table.accepts(column, after)
    return kind in APPLIED or (kind in (ChangeKind.REKEYED, ChangeKind.MERGED) and table.is_read_anew)


def column_changes(landed: Sequence[ColumnFact], produced: Sequence[ColumnFact]) -> Iterator[Change]:
    """Return how the columns differ, in the order of those that would land, without the columns that Hakiri adds.

    Fields of nested columns are compared in the same way, by path: `address.zip`, `lines.element.price`.
    """
    before = [(column.name, column.type) for column in landed if column.name not in _OURS]
    after = [(column.name, column.type) for column in produced if column.name not in _OURS]
    yield from _members(before, after, "")


def _members(landed: Iterable[tuple[str, Type]], produced: Iterable[tuple[str, Type]], path: str) -> Iterator[Change]:
    # Delta ignores the case of names.
    before = {name.casefold(): (path + name, kind) for name, kind in landed}
    after = {name.casefold(): (path + name, kind) for name, kind in produced}
    for name, (column, kind) in after.items():
        if name not in before:
            yield ChangeKind.ADDED, column, None, shown_type(kind)
        else:
            yield from _retyped(column, before[name][1], kind)
    for name, (column, kind) in before.items():
        if name not in after:
            yield ChangeKind.DROPPED, column, shown_type(kind), None


def _key(landed: tuple[str, ...], declared: tuple[str, ...]) -> Iterator[Change]:
    if landed and landed != declared:
        yield ChangeKind.REKEYED, "primary key", ", ".join(landed), ", ".join(declared) or None


def _merged(table: TableFacts) -> Iterator[Change]:
    """Append keeps every version of a row, and upsert would change all of them at once."""
    landed = load_by_mode(table.landed_mode)
    if table.load and table.load.keeps_latest and landed and landed.is_known_by_content:
        yield ChangeKind.MERGED, "load.mode", table.landed_mode, table.load.mode.value


def _retyped(column: str, before: Type, after: Type) -> Iterator[Change]:
    if type(before) is type(after) and isinstance(before, Struct | Array | Map):
        # Plans show the names of fields in lower case, like types.
        old, new = ([(name.lower(), kind) for name, kind in parts(one)] for one in (before, after))
        yield from _members(old, new, f"{column}.")
    elif before != after:
        kinds = {after: ChangeKind.WIDENED, before: ChangeKind.NARROWED}
        both = wider(before, after)
        kind = kinds.get(both, ChangeKind.CHANGED) if both else ChangeKind.CHANGED
        yield kind, column, shown_type(before), shown_type(after)
