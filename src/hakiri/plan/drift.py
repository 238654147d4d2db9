"""What a landing would do to a table's schema is known, as data, before anything lands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hakiri.errors import HakiriError, KeyChanged, SchemaDrift, SchemaIncompatible
from hakiri.model.staged import PROVENANCE
from hakiri.plan.facts import ColumnFact, TableFacts
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History
from hakiri.spec.pipeline import SchemaPolicy


class ChangeKind(StrEnum):
    """How a schema moved. A renamed column is one that was dropped and one that was added."""

    ADDED = "added"  # older rows get NULL
    DROPPED = "dropped"  # the table keeps it; newer rows get NULL
    WIDENED = "widened"
    NARROWED = "narrowed"  # rejected, unless accepted: the table keeps the wider type
    CHANGED = "changed"  # rejected, unless accepted: neither type holds the other's values, so it becomes text
    REKEYED = "rekeyed"  # rejected, unless every row is read anew


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
    """What would change, columns in the order of what would land. Under a strict policy nothing is applied."""
    if table.landed_columns is None:
        return ()
    found = [*column_changes(table.landed_columns, table.produced), *_key(table.landed_key, table.primary_key)]
    is_strict = policy is SchemaPolicy.STRICT
    return tuple(SchemaChange(*change, is_applied=not is_strict and _is_applied(table, change)) for change in found)


def refusal(pipeline: str, table: str, changes: Sequence[SchemaChange], policy: SchemaPolicy) -> HakiriError | None:
    """Why the table takes nothing from its source as it is now; None where it takes what comes."""
    refused = [one for one in changes if not one.is_applied]
    if not refused:
        return None
    if policy is SchemaPolicy.STRICT:
        return SchemaDrift(pipeline=pipeline, table=table, changes=tuple(map(told, refused)))
    first = refused[0]
    before, after = first.before or "none", first.after or "none"
    if first.kind is ChangeKind.REKEYED:
        return KeyChanged(pipeline=pipeline, table=table, before=before, after=after)
    return SchemaIncompatible(pipeline=pipeline, table=table, column=first.column, stored=before, incoming=after)


def told(change: SchemaChange) -> str:
    """A change in a few words: `+ note string`, `~ total int -> bigint`."""
    types = " -> ".join(one for one in (change.before, change.after) if one is not None)
    return f"{MARKS[change.kind]} {change.column} {types}"


MARKS = {
    ChangeKind.ADDED: "+",
    ChangeKind.DROPPED: "-",
    ChangeKind.WIDENED: "~",
    ChangeKind.NARROWED: "!",
    ChangeKind.CHANGED: "!",
    ChangeKind.REKEYED: "!",
}

Change = tuple[ChangeKind, str, str | None, str | None]


def _is_applied(table: TableFacts, change: Change) -> bool:
    kind, column, _, after = change
    if kind in ACCEPTABLE:
        return {name.casefold(): type_ for name, type_ in table.accepted.items()}.get(column.casefold()) == after
    return kind in APPLIED or (kind is ChangeKind.REKEYED and _is_read_anew(table))


def _is_read_anew(table: TableFacts) -> bool:
    """Whether every row is being read to take the place of what has landed, in this run or in one that was cut off."""
    open_ones = History.of(table.known, table.landed).open
    return table.is_full_refresh or (
        bool(open_ones) and all(from_json(state.chunk.predicate).replaces for state in open_ones)
    )


def column_changes(landed: Sequence[ColumnFact], produced: Sequence[ColumnFact]) -> Iterator[Change]:
    """How the columns differ, in the order of those that would land; provenance is ours and does not count."""
    # Delta compares names without case.
    before = {column.name.casefold(): column for column in landed if column.name not in PROVENANCE}
    after = {column.name.casefold(): column for column in produced if column.name not in PROVENANCE}
    for name, column in after.items():
        if name not in before:
            yield ChangeKind.ADDED, column.name, None, column.type
        elif column.type != before[name].type:
            yield _retyped(before[name].type, column.type), column.name, before[name].type, column.type
    for name, column in before.items():
        if name not in after:
            yield ChangeKind.DROPPED, column.name, column.type, None


def _key(landed: tuple[str, ...], declared: tuple[str, ...]) -> Iterator[Change]:
    if landed and landed != declared:
        yield ChangeKind.REKEYED, "primary key", ", ".join(landed), ", ".join(declared) or None


def _retyped(before: str, after: str) -> ChangeKind:
    if _holds(after, before):
        return ChangeKind.WIDENED
    return ChangeKind.NARROWED if _holds(before, after) else ChangeKind.CHANGED


def _holds(wide: str, narrow: str) -> bool:
    """Whether a Delta table may be changed from the narrow type to the wide one without losing a value."""
    if wide == narrow or wide in _WIDER.get(narrow, ()):
        return True
    if (to := _DECIMAL.fullmatch(wide)) and (whole := _whole_and_scale(narrow)):
        precision, scale = int(to[1]), int(to[2])
        return precision - scale >= whole[0] and scale >= whole[1]
    outer, inner = _opened(wide), _opened(narrow)
    if outer is None or inner is None or outer[0] != inner[0]:
        return False
    members = dict(outer[1])
    return all(name in members and _holds(members[name], kind) for name, kind in inner[1])


_WIDER = {
    "tinyint": {"smallint", "int", "bigint", "double"},
    "smallint": {"int", "bigint", "double"},
    "int": {"bigint", "double"},
    "float": {"double"},
    "date": {"timestamp_ntz"},
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_WHOLE_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}  # as many as Delta asks for
_NESTED = re.compile(r"(struct|array|map)<(.*)>", re.DOTALL)


def _whole_and_scale(kind: str) -> tuple[int, int] | None:
    if found := _DECIMAL.fullmatch(kind):
        return int(found[1]) - int(found[2]), int(found[2])
    return (_WHOLE_DIGITS[kind], 0) if kind in _WHOLE_DIGITS else None


def _opened(kind: str) -> tuple[str, list[tuple[str, str]]] | None:
    """A nested type's name and its members; the parts of arrays and maps are named by their place."""
    found = _NESTED.fullmatch(kind)
    if not found:
        return None
    parts = list(_parts(found[2]))
    if found[1] == "struct":
        return "struct", [(name, kind) for name, _, kind in (part.partition(":") for part in parts)]
    return found[1], [(str(place), part) for place, part in enumerate(parts)]


def _parts(text: str) -> Iterator[str]:
    """The text cut at the commas that no bracket encloses."""
    depth = start = 0
    for place, mark in enumerate(text):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]
