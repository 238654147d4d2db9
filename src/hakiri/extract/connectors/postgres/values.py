"""Converts values that Delta cannot store: they become NULL or are reduced, always with a remark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.connectors.fit_values import fit_array
from hakiri.extract.connectors.postgres.types import LISTS, Reading, reading_of
from hakiri.extract.connectors.quarantine import BatchKind, Fault, fault_batch, key_text
from hakiri.extract.connectors.sql.misfits import Origin, separate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * 1_000_000
_FIRST_DAY = date.min.toordinal() - _EPOCH.toordinal()
_LAST_DAY = date.max.toordinal() - _EPOCH.toordinal()
# The driver shifts PostgreSQL's epoch from 2000 to 1970, and the sum may wrap around.
_SHIFT_DAYS = date(2000, 1, 1).toordinal() - _EPOCH.toordinal()

INFINITE = "is not a finite value"
OUTSIDE = "lies outside the years 1 to 9999"
MULTI_DIMENSIONAL = "has more than one dimension"
OTHER_START = "does not start at 1, as the list does"

_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})

Found = tuple[str, str]
"""A reason, and the text of what was found."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A column converted to its described type, with remarks; NULL at each misfit."""

    array: pa.Array
    remarks: dict[int, Found] = field(default_factory=dict)
    misfits: dict[int, Found] = field(default_factory=dict)


def converted(batch: pa.RecordBatch, fields: pa.Schema, origin: Origin) -> Iterator[pa.RecordBatch]:
    """Yield a batch from the server in the described types, the rows that do not fit, and remarks.

    After the described columns, the batch has the texts of arrays that are not simple lists.
    """
    texts = iter(batch.columns[len(fields) :])
    columns = {}
    for described, found in zip(fields, batch.columns, strict=False):
        reading = reading_of(described)
        column = _column(found, described.type, reading)
        columns[described.name] = (
            replace(column, remarks=_found_in_arrays(next(texts), column.array)) if reading in LISTS else column
        )
    arrays = [column.array for column in columns.values()]
    rows = pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(one.name, one.type) for one in fields]))

    def row(index: int) -> dict[str, Any]:
        unfit = {name: column.misfits[index][1] for name, column in columns.items() if index in column.misfits}
        return {**rows.slice(index, 1).to_pylist()[0], **unfit}

    misfits = {
        name: {index: reason for index, (reason, _) in column.misfits.items()} for name, column in columns.items()
    }
    yield from separate(rows, misfits, origin, row)
    bad = {index for column in columns.values() for index in column.misfits}
    if remarks := list(_remarks(columns, rows, origin, bad)):
        yield fault_batch(BatchKind.REMARKS, remarks)


def _remarks(columns: dict[str, Converted], rows: pa.RecordBatch, origin: Origin, bad: set[int]) -> Iterator[Fault]:
    keys = rows.select([name for name in (origin.key or columns) if name in columns])
    for name, column in columns.items():
        for index, (reason, raw) in column.remarks.items():
            if index not in bad:
                key = key_text(keys.slice(index, 1).to_pylist()[0], origin.key)
                yield origin.fault(index, name, reason, raw, key)


def _column(found: pa.Array, kind: pa.DataType, reading: Reading) -> Converted:
    if isinstance(found, pa.ExtensionArray):
        found = found.storage
    native = _times(found) if reading is Reading.TIME else Converted(found)
    fitted = fit_array(native.array, kind)
    misfits = {index: (reason, _text(found[index])) for index, reason in fitted.misfits.items()}
    infinite = {index: (INFINITE, raw) for index, (_, raw) in misfits.items() if raw in _NO_NUMBERS}
    if reading is not Reading.DECIMAL or not infinite:
        return Converted(fitted.array, native.remarks, misfits)
    return Converted(fitted.array, infinite, {index: misfits[index] for index in misfits if index not in infinite})


def _text(value: pa.Scalar) -> str:
    return str(value.as_py())


def _times(found: pa.Array) -> Converted:
    is_date = types.is_date(found.type)
    counts = found.view(pa.int32() if is_date else pa.int64())
    first, end = (_FIRST_DAY, _LAST_DAY + 1) if is_date else (_FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY)
    span = pc.min_max(counts).as_py()
    if span["min"] is None or (span["min"] >= first and span["max"] < end):
        return Converted(found)
    outside = pc.or_(pc.less(counts, first), pc.greater_equal(counts, end))
    remarks = {
        index: _outside(counts[index].as_py(), is_date=is_date)
        for index, is_out in enumerate(outside.to_pylist())
        if is_out
    }
    return Converted(pc.if_else(outside, pa.scalar(None, found.type), found), remarks)


def _outside(count: int, *, is_date: bool) -> tuple[str, str]:
    bits, shift = (32, _SHIFT_DAYS) if is_date else (64, _SHIFT_DAYS * _DAY)
    top = 1 << (bits - 1)
    stored = (count - shift + top) % (1 << bits) - top  # as PostgreSQL stores it
    if stored in (-top, top - 1):
        return INFINITE, "infinity" if stored > 0 else "-infinity"
    return OUTSIDE, f"2000-01-01 {stored:+d} {'days' if is_date else 'microseconds'}"


def _found_in_arrays(texts: pa.Array, lists: pa.Array) -> dict[int, Found]:
    if texts.null_count == len(texts):
        return {}
    found = zip(texts.to_pylist(), lists.is_null().to_pylist(), strict=True)
    return {
        index: (MULTI_DIMENSIONAL if is_null else OTHER_START, text)
        for index, (text, is_null) in enumerate(found)
        if text is not None
    }
