"""Compare the declared layout of a table with its own; what is not declared is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hakiri.land.errors import LayoutUnfit
from hakiri.model.types import BINARY, BOOLEAN, Decimal, Simple, Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Partitioning, clustering, comments and properties of a table."""

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] | None = ()
    """None if it is not known."""
    comment: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    """Comments of columns."""


BARE = Layout()
"""A layout without declarations."""


def lacking(declared: Layout, found: Layout, columns: Struct) -> Layout:
    """Return the part of the declaration that the table lacks; BARE if it lacks nothing."""
    known = {name.lower(): comment for name, comment in found.comments}
    return Layout(
        cluster_by=() if _lower(declared.cluster_by) == _lower(found.cluster_by) else declared.cluster_by,
        comment="" if declared.comment == found.comment else declared.comment,
        properties=tuple(one for one in declared.properties if one not in found.properties),
        comments=tuple(
            (name, comment)
            for name, comment in declared.comments
            if columns.find(name) and known.get(name.lower(), "") != comment
        ),
    )


def renamed_layout(layout: Layout, names: Mapping[str, str]) -> Layout:
    """Return the layout with the new names of columns."""
    return replace(layout, partition_by=tuple(names.get(name, name) for name in layout.partition_by))


def require_fit(declared: Layout, found: Layout | None, columns: Struct, *, table: str) -> None:
    """Require that a table with these columns can have this layout. Raises LayoutUnfit."""
    for reason in _misfits(declared, found, columns):
        raise LayoutUnfit(table=table, reason=reason)


def with_names(layout: Layout, columns: Struct) -> Layout:
    """Return the layout with column names spelled as in the table."""

    def own(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(field.name if (field := columns.find(name)) else name for name in names)

    return replace(
        layout,
        partition_by=own(layout.partition_by),
        cluster_by=own(layout.cluster_by or ()),
        comments=tuple(zip(own(tuple(dict(layout.comments))), dict(layout.comments).values(), strict=True)),
    )


def _misfits(declared: Layout, found: Layout | None, columns: Struct) -> Iterator[str]:
    named = {"partitioned": declared.partition_by, "clustered": declared.cluster_by or ()}
    for how, names in named.items():
        for name in names:
            field = columns.find(name)
            if field is None:
                yield f"it has no column `{name}` to be {how} by"
            elif not isinstance(field.type, Simple | Decimal) or field.type in _UNFIT[how]:
                yield f"no table can be {how} by a column like `{name}`"
    if found is None:
        return
    if declared.partition_by and _lower(declared.partition_by) != _lower(found.partition_by):
        before, after = _listed(found.partition_by), _listed(declared.partition_by)
        yield f"it is partitioned by {before}, and that cannot become {after}"
    if declared.cluster_by and found.partition_by:
        yield f"it is partitioned by {_listed(found.partition_by)}, so it cannot be clustered"


# A partition's value becomes part of a path, and clustering needs bounds.
_UNFIT = {"partitioned": (BINARY,), "clustered": (BINARY, BOOLEAN)}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _lower(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name.lower() for name in names)
