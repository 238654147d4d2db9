"""Normalizes changes of any feed to rows with an operation, a key and a sequence, or quarantines them (G6).

A change of a row's key becomes two changes with the same sequence: a delete of the old key and an upsert of the new
one. A delete keeps only its key and sequence, and a truncate only its sequence, so that the same change is always the
same row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.extract.connectors.quarantine import key_text
from hakiri.extract.quarantine_rows import rows_aside
from hakiri.model.columns.change import OP_COLUMN, UNAVAILABLE_COLUMN, Op

UNAVAILABLE = pa.list_(pa.string())
RULE = "change"
"""The rule broken by rows that are no changes."""


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The changes of a batch: read + added = rows + aside + filtered."""

    rows: pa.RecordBatch
    aside: tuple[pa.RecordBatch, ...] = ()
    """Rows that are no change, in the form of `model.quarantine_row`."""
    filtered: int = 0
    """Messages that concern no row."""
    added: int = 0
    """Deletes added for rows whose key changed."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Rows that cannot be understood, and why."""

    which: pa.Array
    reason: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """The changes in the rows of a batch; every array has one value per row."""

    op: pa.Array
    """One of `Op`; NULL if a row has none."""
    rows: Mapping[str, pa.Array]
    """The row after the change, with its sequence."""
    deleted: Mapping[str, pa.Array]
    """The key of a row that is deleted."""
    before: Mapping[str, pa.Array] = field(default_factory=dict)
    """The key of a row before the change; empty if the feed does not contain it."""
    unavailable: pa.Array | None = None
    """Columns whose values a change does not contain, although the row has them; None if a feed has all values."""
    unfit: tuple[Unfit, ...] = ()
    is_message: pa.Array | None = None
    """True for messages that concern no row."""


def unwrap(
    batch: pa.RecordBatch, changes: Normalized, *, key: Sequence[str], sequence: Sequence[str], places: pa.RecordBatch
) -> Unwrapped:
    """Return the changes in the rows of the batch; `places` has the file and line of each. Pure."""
    is_upsert, is_delete = _is(changes.op, Op.UPSERT), _is(changes.op, Op.DELETE)
    now = {name: _either(changes.rows[name], is_upsert, changes.deleted[name], is_delete) for name in key}
    unfit = [*changes.unfit, *_nulls(now, pc.or_(is_upsert, is_delete), "the key is NULL")]
    unfit += _nulls({name: changes.rows[name] for name in sequence}, _all(batch), "the sequence is NULL")
    left = pc.invert(changes.is_message) if changes.is_message is not None else _all(batch)
    filtered = batch.num_rows - pc.sum(left).as_py() if batch.num_rows else 0
    keys = pa.RecordBatch.from_pydict({name: pc.coalesce(changes.rows[name], changes.deleted[name]) for name in key})
    aside = []
    for one in unfit:
        which = pc.and_(left, one.which)
        aside.append(_aside(batch.filter(which), one, places.filter(which), keys.filter(which)))
        left = pc.and_not(left, one.which)
    columns = {
        name: now.get(name, array if name in sequence else _where(array, is_upsert))
        for name, array in changes.rows.items()
    }
    if changes.unavailable is not None:
        columns[UNAVAILABLE_COLUMN] = _where(changes.unavailable, is_upsert)
    rows = pa.RecordBatch.from_pydict({**columns, OP_COLUMN: changes.op})
    moved = pc.and_(left, pc.and_(is_upsert, _differ(changes.before, now)))
    gone = _deletes(rows.filter(moved), {name: array.filter(moved) for name, array in changes.before.items()}, sequence)
    return Unwrapped(
        pa.concat_batches([rows.filter(left), gone]),
        tuple(one for one in aside if one.num_rows),
        filtered=filtered,
        added=gone.num_rows,
    )


def by_values(rows: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, frozenset[str]]]:
    """Group the changes by the columns whose values they contain: all, all but the unavailable ones, or none."""
    known = frozenset(rows.schema.names)
    is_upsert = _is(rows.column(OP_COLUMN), Op.UPSERT)
    yield rows.filter(pc.invert(is_upsert)), frozenset()
    if UNAVAILABLE_COLUMN not in known:
        yield rows.filter(is_upsert), known
        return
    lacking = [tuple(one or ()) for one in rows.column(UNAVAILABLE_COLUMN).to_pylist()]
    for names in dict.fromkeys(((), *lacking)):
        which = pa.array([one == names for one in lacking], pa.bool_())
        yield rows.filter(pc.and_(is_upsert, which)), known - set(names)


def words(texts: pa.Array, meant: Mapping[str, Op]) -> pa.Array:
    """Parse the names of operations, ignoring case; NULL for an unknown one."""
    found = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), pa.array(list(meant), pa.string()))
    return pa.array([one.value for one in meant.values()], pa.string()).take(found)


def _deletes(rows: pa.RecordBatch, keys: Mapping[str, pa.Array], sequence: Sequence[str]) -> pa.RecordBatch:
    def column(name: str) -> pa.Array:
        if name in keys:
            return keys[name]
        array = rows.column(name)
        if name == OP_COLUMN:
            return pa.repeat(pa.scalar(Op.DELETE.value, pa.string()), len(array))
        return array if name in sequence else pa.nulls(len(array), array.type)

    return pa.RecordBatch.from_pydict({name: column(name) for name in rows.schema.names}, schema=rows.schema)


def _is(op: pa.Array, wanted: Op) -> pa.Array:
    return pc.fill_null(pc.equal(op, wanted.value), fill_value=False)


def _all(batch: pa.RecordBatch) -> pa.Array:
    return pa.repeat(pa.scalar(value=True), batch.num_rows)


def _where(array: pa.Array, which: pa.Array) -> pa.Array:
    """Keep the values where `which` is true, and NULL elsewhere. Works for any type."""
    places = pa.array(range(len(array)), pa.int64())
    return array.take(pc.if_else(which, places, pa.scalar(None, pa.int64())))


def _either(one: pa.Array, if_one: pa.Array, other: pa.Array, if_other: pa.Array) -> pa.Array:
    return pc.coalesce(_where(one, if_one), _where(other, if_other))


def _nulls(arrays: Mapping[str, pa.Array], needed: pa.Array, reason: str) -> list[Unfit]:
    return [Unfit(pc.and_(needed, pc.is_null(array)), reason, name) for name, array in arrays.items()]


def _differ(before: Mapping[str, pa.Array], now: Mapping[str, pa.Array]) -> pa.Array:
    """Return where the earlier key is complete and different."""
    if not before:
        return pa.scalar(value=False)
    is_known = reduce(pc.and_, map(pc.is_valid, before.values()))
    is_other = reduce(pc.or_kleene, (pc.not_equal(array, now[name]) for name, array in before.items()))
    return pc.and_(is_known, pc.fill_null(is_other, fill_value=False))


def _aside(rows: pa.RecordBatch, unfit: Unfit, places: pa.RecordBatch, keys: pa.RecordBatch) -> pa.RecordBatch:
    aside = rows_aside(rows, rule_id=RULE, reason=unfit.reason, column=unfit.column, is_kept=False)
    texts = [None if None in row.values() else key_text(row, keys.schema.names) for row in keys.to_pylist()]
    places_and_key = {"origin": places.column(0), "line": places.column(1), "key": pa.array(texts, pa.string())}
    return pa.RecordBatch.from_pydict({**_columns(aside), **places_and_key}, schema=aside.schema)


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))
