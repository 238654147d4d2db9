"""Changes as they are staged, the mirrors they land in, and what those should hold, told without any SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from hakiri.land.lander import Landed, land
from hakiri.land.recipe import LandRequest, Mirror
from hakiri.land.target import sql_name, tombstones_of
from hakiri.land.tombstones import farthest_op, land_tombstones, unavailable_columns
from hakiri.model.columns.change import (
    CURRENT_COLUMN,
    DELETED_COLUMN,
    OP_COLUMN,
    UNAVAILABLE_COLUMN,
    VALID_TO_COLUMN,
    Op,
)
from hakiri.model.staged import StagedChunk
from hakiri.spec.load import LoadMode
from land.staging import Row, Workshop, hash_of

CHANGES = pa.schema([("id", pa.string()), ("note", pa.string()), ("lsn", pa.int64()), (OP_COLUMN, pa.string())])

PARTIAL = CHANGES.insert(3, pa.field(UNAVAILABLE_COLUMN, pa.list_(pa.string())))
"""Changes that may lack values."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one key; a truncate has no key."""

    op: Op
    lsn: int
    id: str | int | None = None
    note: str | None = None
    lacks: tuple[str, ...] = ()
    """Columns whose values the row has and the change does not bring."""

    @property
    def row(self) -> Row:
        lacking = {UNAVAILABLE_COLUMN: list(self.lacks)} if self.lacks else {}
        return {"id": self.id, "note": self.note, "lsn": self.lsn, OP_COLUMN: self.op.value, **lacking}


def put(key: str, lsn: int, note: str = "new") -> Change:
    return Change(Op.UPSERT, lsn, key, note)


def part(key: str, lsn: int) -> Change:
    return Change(Op.UPSERT, lsn, key, None, ("note",))


def delete(key: str, lsn: int) -> Change:
    return Change(Op.DELETE, lsn, key)


def clear(lsn: int) -> Change:
    return Change(Op.CLEAR, lsn)


@dataclass
class Feed:
    """A mirror, and the catalog's part of landing in it."""

    shop: Workshop
    options: dict[str, Any] = field(default_factory=dict)
    schema: pa.Schema = CHANGES

    def chunk(self, *changes: Change) -> StagedChunk:
        return self.shop.chunk([change.row for change in changes], schema=self.schema, cursor=None)

    def request(self, *chunks: StagedChunk, mode: LoadMode = LoadMode.CDC_MIRROR, **options: Any) -> LandRequest:
        assert self.shop.target is not None
        lacking = unavailable_columns(str(self.shop.root), chunks, table="orders")
        mirror = Mirror(
            key=("id",),
            sequence=("lsn",),
            tombstones=sql_name(tombstones_of(self.shop.target)),
            brings=farthest_op(str(self.shop.root), chunks, table="orders"),
            unavailable=tuple((name, name) for name in lacking),
        )
        return self.shop.request(*chunks, mode=mode, mirror=replace(mirror, **self.options), **options)

    def carry_out(self, request: LandRequest) -> Landed:
        """What a run does with a landing that it has reserved."""
        land_tombstones(request, self.shop.spark)
        return land(request, self.shop.spark)

    def land(self, *changes: Change, **options: Any) -> Landed:
        request = self.request(self.chunk(*changes), **options)
        return self.shop.finish(request, self.carry_out(request))

    def rows(self, *more: str) -> list[tuple[Any, ...]]:
        return self.shop.rows("id", "note", "lsn", *more)


def current(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """The row of each key that is left."""
    return sorted((one.id, one.note, one.lsn) for one in _alive(changes).values())


def _alive(changes: Iterable[Change]) -> dict[str, Change]:
    """The row of each key, by the order in which things happened at the source."""
    table: dict[str, Change] = {}
    for change in _in_order(changes):
        match change:
            case Change(Op.CLEAR):
                table = {}
            case Change(Op.DELETE, id=str(key)):
                table.pop(key, None)
            case Change(Op.UPSERT, id=str(key)):
                table[key] = change
    return table


def marked(changes: Sequence[Change]) -> list[tuple[Any, ...]]:
    """The last row that each key has had, and whether it was deleted since."""
    alive = _alive(changes)
    last = {change.id: change for change in _in_order(changes) if change.op is Op.UPSERT}
    return sorted((one.id, one.note, one.lsn, alive.get(str(one.id)) != one) for one in last.values())


def versions(changes: Sequence[Change]) -> list[tuple[Any, ...]]:
    """Every row that each key has had, until when, and whether it still has it."""
    found: list[tuple[Any, ...]] = []
    ordered = _in_order(changes)
    last = {(change.id, change.lsn): change for change in ordered if change.op is Op.UPSERT}
    for one in last.values():
        later = (other.lsn for other in ordered if other.lsn > one.lsn and other.id in {None, one.id})
        until = min(later, default=None)
        found.append((one.id, one.note, one.lsn, until, until is None))
    return sorted(found, key=repr)


def filled(changes: Iterable[Change]) -> dict[tuple[Any, int], tuple[str | None, Any]]:
    """The note of each version of each key, and what `_hakiri_kept` tells of it: NULL, or from which version it is."""
    found: dict[tuple[Any, int], tuple[str | None, Any]] = {}
    alive: dict[Any, tuple[str | None, int | None]] = {}
    for change in _in_order(changes):
        match change:
            case Change(Op.CLEAR):
                alive = {}
            case Change(Op.DELETE):
                alive.pop(change.id, None)
            case Change(lacks=()):
                alive[change.id] = (change.note, change.lsn)
                found[change.id, change.lsn] = (change.note, None)
            case _:
                note, at = alive.setdefault(change.id, (None, None))
                found[change.id, change.lsn] = (note, {"note": {"lsn": at}})
    return found


def _in_order(changes: Iterable[Change]) -> list[Change]:
    """As they happened: by sequence; of the same one, truncates first, then deletes, then rows by their hash."""
    return sorted(changes, key=lambda one: (one.lsn, one.op.value, hash_of(one.row)))


MARKS = (DELETED_COLUMN,)
SPANS = (VALID_TO_COLUMN, CURRENT_COLUMN)
