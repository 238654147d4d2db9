"""Decide when a staged row and a stored row are the same row.

Rows are compared by content. Where both are known to have been read with the same columns, their hashes are compared;
otherwise the values of the columns that both were read with, as they land, and of records the members that both have.
So a column or member that comes or goes, a wider type or a new name makes no old row new. Every load mode that looks
for rows that are there already asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from hakiri.land.decide.fit_columns import fitted_column, fitted_value
from hakiri.land.sql import column, literal, text
from hakiri.model.columns.renames import outdated
from hakiri.model.staged import HASH_COLUMN, INGESTED_COLUMN, PROVENANCE
from hakiri.model.types import STRING, Array, Field, Map, Struct, Type, within

MOST_SHAPES = 20
"""How many shapes of a table are remembered; of more, the oldest become one, of the columns they share."""

PART_COLUMN = "hakiri_part"
"""The column of staged rows that tells which of a landing's `Given` they were read with."""

_HASH = Field(HASH_COLUMN, STRING)
_TO_JSON = (
    "TO_JSON(STRUCT({value}), MAP('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'))"
)


ColumnPath = tuple[str, ...]
"""The name of a column, then those of the members down to one within its record."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that a table's rows were read with from an instant on."""

    columns: Struct
    since: datetime | None = None
    """When the first of them was read; None for the table's first rows."""
    is_assumed: bool = False
    """Whether these are the columns that the table has, because those that its rows were read with are not known."""

    def is_like(self, other: Struct) -> bool:
        """Whether rows of both can be compared by their hashes."""
        return not self.is_assumed and _content(self.columns) == _content(other)


def remembered(known: Iterable[Shape], staged: Iterable[tuple[Struct, datetime | None]]) -> tuple[Shape, ...]:
    """The shapes of a table, oldest first, once these chunks have landed, each with the instant it was read at.

    A chunk that does not tell its instant adds nothing. Of the first shape no instant is kept.
    """
    found = [*known, *(Shape(_own(columns), instant) for columns, instant in staged if instant is not None)]
    found.sort(key=lambda one: (one.since is not None, one.since))
    shapes: list[Shape] = []
    for one in found:
        if not shapes:
            shapes.append(replace(one, since=None))
        elif not shapes[-1].is_like(one.columns):
            shapes.append(one)
    while len(shapes) > MOST_SHAPES:
        shared = tuple(one for one in shapes[0].columns.fields if one in shapes[1].columns.fields)
        shapes[:2] = [assumed(Struct(shared))]
    return tuple(shapes)


def assumed(columns: Struct) -> Shape:
    """The shape of a table of which it is not known with which columns its rows were read."""
    return Shape(_own(columns), is_assumed=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How staged rows are compared with a part of the table."""

    staged: tuple[str, ...]
    """Expressions over a staged row `s`."""
    stored: tuple[str, ...]
    """The same over a stored row `t`."""
    part: str
    """The condition that a stored row `t` is of that part."""


def comparisons(
    schema: Struct,
    stored: Struct,
    staged: Sequence[Struct],
    shapes: Sequence[Shape],
    renamed: Mapping[str, str],
) -> tuple[Comparison, ...]:
    """How rows staged with these columns are compared with a table of these shapes, the most like ones first.

    `staged` and `shapes` have their columns by the names they were read under; `schema` and `stored` by those they have
    now.
    """
    shapes = tuple(shapes) or (assumed(stored),)
    if stored.find(INGESTED_COLUMN) is None:
        shared = Struct(tuple(one for one in shapes[0].columns.fields if _is_in_all(one, shapes)))
        shapes = shapes if len(shapes) == 1 else (assumed(shared),)
    by_columns: dict[tuple[Field, ...], list[str]] = {}
    for shape, part in zip(shapes, _parts(shapes), strict=True):
        compared = _compared(schema, stored, shape, staged, renamed)
        if compared:
            by_columns.setdefault(compared, []).append(part)
    likest = sorted(by_columns.items(), key=lambda one: (one[0] != (_HASH,), -len(one[0])))
    return tuple(
        Comparison(
            tuple(_comparable(_staged_value(schema, one), one.type) for one in compared),
            tuple(_comparable(fitted_column(stored, one, of="t"), one.type) for one in compared),
            "TRUE" if len(parts) == len(shapes) else f"({' OR '.join(parts)})",
        )
        for compared, parts in likest
    )


@dataclass(frozen=True, slots=True)
class Given:
    """Which of a landing's columns and members its staged rows were read with; rows of one part were read alike."""

    parts: tuple[frozenset[ColumnPath], ...]

    @property
    def is_mixed(self) -> bool:
        return len(set(self.parts)) > 1

    def condition(self, *path: str) -> str:
        """The condition that a staged row `s` was read with the column, or with the member of a record."""
        wanted = tuple(name.lower() for name in path)
        having = [str(place) for place, paths in enumerate(self.parts) if wanted in paths]
        if len(having) == len(self.parts):
            return "TRUE"
        return f"{column(PART_COLUMN, of='s')} IN ({', '.join(having)})" if having else "FALSE"


def given_by(columns: Struct) -> frozenset[ColumnPath]:
    """The columns that rows were read with, and the members of records among them, as `Given` has them."""
    return frozenset(_paths(columns))


def merged_value(stored: Struct, wanted: Field, given: Given) -> str:
    """The value of a column once the staged row `s` has taken the place of the stored row `t` with its key.

    The stored value stays where `s` was not read with the column, and within a record where it was not read with a
    member. Lists and maps are exchanged whole: their elements have no names to know them by.
    """
    return _merged(stored, wanted, given, (), of_staged="s", of_stored="t")


def is_stored_alike(schema: Struct, stored: Struct, given: Given) -> str:
    """The condition that a stored row `t` stays as it is if the staged row `s` with its key takes its place."""
    compared = (one for one in schema.fields if one.name not in PROVENANCE and given.condition(one.name) != "FALSE")
    return " AND ".join(_alike(stored, one, given) for one in compared) or "TRUE"


def is_read_alike(stored: Struct, given: Given, staged: Iterable[Struct]) -> bool:
    """Whether the hashes of stored and staged rows tell all there is to tell: they have the same columns."""
    return not given.is_mixed and all(Shape(_own(stored)).is_like(one) for one in staged)


def _paths(columns: Struct, within: ColumnPath = ()) -> Iterator[ColumnPath]:
    for one in columns.fields:
        path = (*within, one.name.lower())
        yield path
        if isinstance(one.type, Struct):
            yield from _paths(one.type, path)


def _merged(stored: Struct, wanted: Field, given: Given, within: ColumnPath, *, of_staged: str, of_stored: str) -> str:
    own, value, path = stored.find(wanted.name), column(wanted.name, of=of_staged), (*within, wanted.name)
    if own is None:
        return value
    kept, condition = fitted_column(stored, wanted, of=of_stored), given.condition(*path)
    if condition == "FALSE":
        return kept
    if isinstance(own.type, Struct) and isinstance(wanted.type, Struct):
        held = column(own.name, of=of_stored)
        members = [
            (one.name, _merged(own.type, one, given, path, of_staged=value, of_stored=held))
            for one in wanted.type.fields
        ]
        if any(member != column(name, of=value) for name, member in members):
            record = ", ".join(f"{text(name)}, {member}" for name, member in members)
            value = f"IF({value} IS NULL, NULL, NAMED_STRUCT({record}))"
    return value if condition == "TRUE" else f"IF({condition}, {value}, {kept})"


def _alike(stored: Struct, field: Field, given: Given) -> str:
    merged = merged_value(stored, field, given)
    if stored.find(field.name) is None:
        return f"{merged} IS NULL"
    return f"{_comparable(fitted_column(stored, field, of='t'), field.type)} <=> {_comparable(merged, field.type)}"


def _compared(
    schema: Struct, stored: Struct, shape: Shape, staged: Sequence[Struct], renamed: Mapping[str, str]
) -> tuple[Field, ...]:
    """The columns that rows of the shape and all staged ones have; the hash alone where those are all they have."""
    if stored.find(HASH_COLUMN) is not None and all(shape.is_like(one) for one in staged):
        return (_HASH,)
    sides = [stored, *(one.renamed(outdated(one.names, renamed)) for one in (shape.columns, *staged))]
    return _shared(_own(schema), sides).fields


def _shared(wanted: Struct, sides: Sequence[Struct]) -> Struct:
    """The wanted columns that all sides have, and of records the members that all have."""
    found = ((one, [side.find(one.name) for side in sides]) for one in wanted.fields)
    kinds = (
        (one, _shared_type(one.type, [own.type for own in owns if own is not None])) for one, owns in found if all(owns)
    )
    return Struct(tuple(replace(one, type=kind) for one, kind in kinds if kind is not None))


def _shared_type(wanted: Type, sides: Sequence[Type]) -> Type | None:
    """The type with the members that all sides have; None where that is no member."""
    match wanted:
        case Struct():
            inner = _shared(wanted, [one for one in sides if isinstance(one, Struct)])
            return inner if inner.fields else None
        case Array():
            element = _shared_type(wanted.element, [one.element for one in sides if isinstance(one, Array)])
            return element and replace(wanted, element=element)
        case Map():
            value = _shared_type(wanted.value, [one.value for one in sides if isinstance(one, Map)])
            return value and replace(wanted, value=value)
        case _:
            return wanted


def _staged_value(schema: Struct, compared: Field) -> str:
    """The value of a staged row `s`, with no other members than are compared."""
    own = schema.find(compared.name)
    value = column(compared.name, of="s")
    return value if own is None else fitted_value(value, own.type, compared.type)


def _parts(shapes: Sequence[Shape]) -> list[str]:
    """For each shape, the condition that a stored row was read with it."""
    if len(shapes) == 1:
        return ["TRUE"]
    read = column(INGESTED_COLUMN, of="t")
    edges = [literal(one.since) for one in shapes if one.since is not None]
    within = [f"({read} >= {low} AND {read} < {high})" for low, high in pairwise(edges)]
    return [f"({read} IS NULL OR {read} < {edges[0]})", *within, f"{read} >= {edges[-1]}"]


def _is_in_all(field: Field, shapes: Sequence[Shape]) -> bool:
    return all(shape.columns.find(field.name) is not None for shape in shapes)


def _comparable(value: str, kind: Type) -> str:
    """The value in a form that SQL compares and groups by: of maps it does neither."""
    has_map = any(isinstance(one, Map) for one in within(kind))
    return _TO_JSON.format(value=value) if has_map else value


def _own(columns: Struct) -> Struct:
    """The columns without those that every landed row has besides."""
    return Struct(tuple(one for one in columns.fields if one.name not in PROVENANCE))


def _content(columns: Struct) -> frozenset[Field]:
    return frozenset(replace(one, is_nullable=True) for one in _own(columns).fields)
