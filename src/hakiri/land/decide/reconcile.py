"""Combine the stored schema and the staged ones to the schema that a landing writes, without losing a value.

New columns are appended and columns that the source dropped are kept. A type is only replaced by one that holds all
values of both. Any other difference is refused, unless a person has accepted it: then the column becomes text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from hakiri.model.accepted_types import accepted_types
from hakiri.model.errors import SchemaIncompatible
from hakiri.model.types import BINARY, STRING, Array, Decimal, Field, Map, Simple, Struct, Type
from hakiri.model.types.text import shown_type
from hakiri.model.types.widening import wider


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stored column that becomes wider, or a field within one. It has no parts itself."""

    path: tuple[str, ...]
    """The path from the column inwards: `lines`, `element`, `price`."""
    type: Type


@dataclass(frozen=True, slots=True)
class Agreement:
    """The schema that a landing writes, and how the table's schema has to change for it."""

    schema: Struct
    """The stored columns in their order, then the new ones."""
    widened: tuple[Field, ...] = ()
    """Stored columns that have to become wider first, with their new types."""
    leaves: tuple[Leaf, ...] = ()
    """The same as single parts with their paths, as Delta widens them without a rewrite."""
    changes_table: bool = False
    """Whether the schema that readers see changes, at any depth."""
    texts: frozenset[str] = frozenset()
    """Columns that are text because their types were accepted, whatever type they were staged as."""

    @property
    def is_widening(self) -> bool:
        """Whether all changes of stored columns are type widening in Delta's sense."""
        return not any(one.name in self.texts for one in self.widened)


def reconcile(
    stored: Struct | None,
    staged: Sequence[Struct],
    *,
    pipeline: str,
    table: str,
    accepted: Mapping[str, str] | None = None,
) -> Agreement:
    """Combine the schema of a table, or None, with those of a landing's files. Raises SchemaIncompatible.

    `accepted` has the accepted types of columns: they may arrive although the column's own type does not hold them.
    """
    names = _Names(pipeline, table, {name.lower(): kind for name, kind in (accepted or {}).items()})
    incoming = reduce(lambda one, other: _join_structs(one, other, names, ""), staged, Struct(()))
    if stored is None:
        return Agreement(incoming, texts=_texts(incoming, staged))
    schema = _join_structs(stored, incoming, names, "")
    wide = [
        Field(old.name, _widened(old.type, new.type)) for old, new in zip(stored.fields, schema.fields, strict=False)
    ]
    return Agreement(
        schema,
        widened=tuple(new for old, new in zip(stored.fields, wide, strict=True) if old.type != new.type),
        leaves=tuple(leaf for old, new in zip(stored.fields, wide, strict=True) for leaf in _leaves(old, new)),
        changes_table=schema != stored,
        texts=_texts(schema, [stored, *staged]),
    )


def _texts(schema: Struct, sources: Sequence[Struct]) -> frozenset[str]:
    """Return the columns that have become text. This only happens by acceptance, since no widening gives text."""
    texts = [one.name for one in schema.fields if one.type == STRING]
    return frozenset(
        name for name in texts for source in sources if (own := source.find(name)) is not None and own.type != STRING
    )


@dataclass(frozen=True, slots=True)
class _Names:
    pipeline: str
    table: str
    accepted: Mapping[str, str]

    def accept(self, column: str, stored: Type, incoming: Type) -> Simple | None:
        """Return text if a person has accepted the difference and text can hold the values of both; else None."""
        kinds = {shown_type(stored), shown_type(incoming)}
        is_plain = all(isinstance(one, Simple | Decimal) and one != BINARY for one in (stored, incoming))
        return STRING if is_plain and kinds.intersection(accepted_types(self.accepted.get(column.lower()))) else None

    def refuse(self, column: str, stored: Type, incoming: Type) -> SchemaIncompatible:
        return SchemaIncompatible(
            pipeline=self.pipeline,
            table=self.table,
            column=column,
            stored=shown_type(stored),
            incoming=shown_type(incoming),
        )


def _widened(old: Type, new: Type) -> Type:
    """Return the old type with wider parts, but without new fields, which are added after the rewrite."""
    match old, new:
        case Struct(), Struct():
            pairs = zip(old.fields, new.fields, strict=False)
            return Struct(tuple(Field(one.name, _widened(one.type, two.type), one.is_nullable) for one, two in pairs))
        case Array(), Array():
            return Array(_widened(old.element, new.element))
        case Map(), Map():
            return Map(_widened(old.key, new.key), _widened(old.value, new.value))
        case _:
            return new


def _leaves(old: Field, new: Field, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    within = (*path, old.name)
    match old.type, new.type:
        case Struct(), Struct():
            for one, two in zip(old.type.fields, new.type.fields, strict=True):
                yield from _leaves(one, two, within)
        case Array(), Array():
            yield from _leaves(Field("element", old.type.element), Field("element", new.type.element), within)
        case Map(), Map():
            yield from _leaves(Field("key", old.type.key), Field("key", new.type.key), within)
            yield from _leaves(Field("value", old.type.value), Field("value", new.type.value), within)
        case _:
            if old.type != new.type:
                yield Leaf(within, new.type)


def _join_structs(stored: Struct, incoming: Struct, names: _Names, path: str) -> Struct:
    kept = []
    for field in stored.fields:
        other = incoming.find(field.name)
        kind = field.type if other is None else _join(field.type, other.type, names, path + field.name)
        kept.append(Field(field.name, kind, field.is_nullable))
    new = [field for field in incoming.fields if stored.find(field.name) is None]
    return Struct((*kept, *new))


def _join(stored: Type, incoming: Type, names: _Names, path: str) -> Type:
    match stored, incoming:
        case Struct(), Struct():
            return _join_structs(stored, incoming, names, f"{path}.")
        case Array(), Array():
            return Array(_join(stored.element, incoming.element, names, f"{path}.element"))
        case Map(), Map():
            key = _join(stored.key, incoming.key, names, f"{path}.key")
            return Map(key, _join(stored.value, incoming.value, names, f"{path}.value"))
        case _:
            both = wider(stored, incoming) or names.accept(path, stored, incoming)
            if both is None:
                raise names.refuse(path, stored, incoming)
            return both
