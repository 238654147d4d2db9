"""Decide when a staged row and a stored row are the same row. All load modes that look for existing rows use this.

Rows are compared by content. If both are known to have been read with the same columns, their hashes are compared.
Otherwise the values of the columns that both were read with are compared, as they land; of records, the members that
both have. So an added or dropped column or member, a wider type or a new name does not make an old row look new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from hakiri.land.decide.fit_columns import fitted_column, fitted_value
from hakiri.land.sql import column, literal, text
from hakiri.model.columns.renames import outdated, present_name
from hakiri.model.staged import HASH_COLUMN, INGESTED_COLUMN, PROVENANCE
from hakiri.model.types import STRING, Array, Field, Map, Struct, Type, within

MOST_SHAPES = 20
"""How many shapes of a table are kept. Older ones are merged into one with the columns that they share."""

PART_COLUMN = "hakiri_part"
"""The column of staged rows with the index of their entry in `Given`."""

_HASH = Field(HASH_COLUMN, STRING)
_TO_JSON = (
    "TO_JSON(STRUCT({value}), MAP('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'))"
)


ColumnPath = tuple[str, ...]
"""The name of a column, followed by those of members down to one within its record."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that a table's rows were read with from an instant on."""

    columns: Struct
    since: datetime | None = None
    """When the first of these rows was read; None for the table's first rows."""
    is_assumed: bool = False
    """Whether these are the table's columns, because those that the rows were read with are not known."""

    def is_like(self, other: Struct) -> bool:
        """Return whether rows of both can be compared by their hashes."""
        return not self.is_assumed and _content(self.columns) == _content(other)

    def lacks(self, other: Struct) -> tuple[str, ...]:
        """Return the columns of `other` that rows of this shape may have been read without."""
        known = frozenset() if self.is_assumed else _content(self.columns)
        return tuple(one.name for one in _own(other).fields if replace(one, is_nullable=True) not in known)


def remembered(known: Iterable[Shape], staged: Iterable[tuple[Struct, datetime | None]]) -> tuple[Shape, ...]:
    """Return the shapes of a table, oldest first, once these chunks, with the times of their reads, have landed.

    A chunk without a time adds nothing. The first shape has no time.
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
    """Return the shape of a table if it is not known which columns its rows were read with."""
    return Shape(_own(columns), is_assumed=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How staged rows are compared with a part of the table."""

    staged: tuple[str, ...]
    """Expressions over a staged row `s`."""
    stored: tuple[str, ...]
    """The same over a stored row `t`."""
    part: str
    """The condition that a stored row `t` belongs to this part."""


def comparisons(
    schema: Struct,
    stored: Struct,
    staged: Sequence[Struct],
    shapes: Sequence[Shape],
    renamed: Mapping[str, str],
) -> tuple[Comparison, ...]:
    """Return how rows staged with these columns are compared with a table of these shapes, the closest shape first.

    `staged` and `shapes` have the names under which the columns were read; `schema` and `stored` have the present
    names.
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
    """The columns and members that a landing's staged rows were read with; one entry per part of the rows."""

    parts: tuple[frozenset[ColumnPath], ...]

    @property
    def is_mixed(self) -> bool:
        return len(set(self.parts)) > 1

    def condition(self, *path: str) -> str:
        """Return the condition that a staged row `s` was read with the column, or with the member of a record."""
        wanted = tuple(name.lower() for name in path)
        having = [str(place) for place, paths in enumerate(self.parts) if wanted in paths]
        if len(having) == len(self.parts):
            return "TRUE"
        return f"{column(PART_COLUMN, of='s')} IN ({', '.join(having)})" if having else "FALSE"


def given_by(columns: Struct) -> frozenset[ColumnPath]:
    """Return the columns that rows were read with, and the members of their records, as `Given` stores them."""
    return frozenset(_paths(columns))


def merged_value(stored: Struct, wanted: Field, given: Given) -> str:
    """Return a column's value after the staged row `s` has replaced the stored row `t` with its key.

    The stored value is kept if `s` was not read with the column; within a record, for each member that `s` was not read
    with. Lists and maps are replaced whole, because their elements have no names to match them by.
    """
    return _merged(stored, wanted, given, (), of_staged="s", of_stored="t")


def is_unchanged(
    schema: Struct,
    stored: Struct,
    given: Given,
    staged: Sequence[Struct],
    shapes: Sequence[Shape],
    renamed: Mapping[str, str],
) -> str:
    """Return the condition that replacing the stored row `t` by the staged row `s` would change nothing.

    Hashes decide for the columns that all rows were read with. A hash does not distinguish NULL from a column that was
    not read, in which `t` keeps an older value; so the values of such columns are compared as well.
    """
    conditions = []
    if stored.find(HASH_COLUMN) is not None:
        unsure = _read_without(staged, tuple(shapes) or (assumed(stored),), renamed)
        values = [_alike(stored, one, given) for one in _replaced(schema, given) if one.name.lower() in unsure]
        same_hash = f"{column(HASH_COLUMN, of='t')} = {column(HASH_COLUMN, of='s')}"
        conditions.append(f"COALESCE({' AND '.join([same_hash, *values])}, FALSE)")
    if given.is_mixed or not all(Shape(_own(stored)).is_like(one) for one in staged):
        values = [_alike(stored, one, given) for one in _replaced(schema, given)]
        conditions.append(f"({' AND '.join(values) or 'TRUE'})")
    return " OR ".join(conditions) or "FALSE"


def _read_without(staged: Sequence[Struct], shapes: Sequence[Shape], renamed: Mapping[str, str]) -> frozenset[str]:
    """Return the present names, in lower case, of staged columns that some stored rows were read without."""
    names = (name for one in staged for shape in shapes for name in shape.lacks(one))
    return frozenset(present_name(name, renamed).lower() for name in names)


def _replaced(schema: Struct, given: Given) -> list[Field]:
    """Return the columns of the source that some staged row was read with."""
    return [one for one in schema.fields if one.name not in PROVENANCE and given.condition(one.name) != "FALSE"]


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
    """Return the columns that rows of the shape and all staged rows share; only the hash if these are all."""
    if stored.find(HASH_COLUMN) is not None and all(shape.is_like(one) for one in staged):
        return (_HASH,)
    sides = [stored, *(one.renamed(outdated(one.names, renamed)) for one in (shape.columns, *staged))]
    return _shared(_own(schema), sides).fields


def _shared(wanted: Struct, sides: Sequence[Struct]) -> Struct:
    """Return the wanted columns that all sides have; of records, the members that all sides have."""
    found = ((one, [side.find(one.name) for side in sides]) for one in wanted.fields)
    kinds = (
        (one, _shared_type(one.type, [own.type for own in owns if own is not None])) for one, owns in found if all(owns)
    )
    return Struct(tuple(replace(one, type=kind) for one, kind in kinds if kind is not None))


def _shared_type(wanted: Type, sides: Sequence[Type]) -> Type | None:
    """Return the type with the members that all sides have; None if there is none."""
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
    """Return the value of a staged row `s`, reduced to the members that are compared."""
    own = schema.find(compared.name)
    value = column(compared.name, of="s")
    return value if own is None else fitted_value(value, own.type, compared.type)


def _parts(shapes: Sequence[Shape]) -> list[str]:
    """Return for each shape the condition that a stored row was read with it."""
    if len(shapes) == 1:
        return ["TRUE"]
    read = column(INGESTED_COLUMN, of="t")
    edges = [literal(one.since) for one in shapes if one.since is not None]
    within = [f"({read} >= {low} AND {read} < {high})" for low, high in pairwise(edges)]
    return [f"({read} IS NULL OR {read} < {edges[0]})", *within, f"{read} >= {edges[-1]}"]


def _is_in_all(field: Field, shapes: Sequence[Shape]) -> bool:
    return all(shape.columns.find(field.name) is not None for shape in shapes)


def _comparable(value: str, kind: Type) -> str:
    """Return the value in a form that SQL can compare and group by, which it cannot do with maps."""
    has_map = any(isinstance(one, Map) for one in within(kind))
    return _TO_JSON.format(value=value) if has_map else value


def _own(columns: Struct) -> Struct:
    """Return the columns without those that Hakiri adds to every row."""
    return Struct(tuple(one for one in columns.fields if one.name not in PROVENANCE))


def _content(columns: Struct) -> frozenset[Field]:
    return frozenset(replace(one, is_nullable=True) for one in _own(columns).fields)
