"""A Debezium envelope holds a row before and after its change, what the change was, and where in the log it stood.

The parts may be objects, or texts with JSON in them, as a source gives them. A change is ordered by where it stood:
`source.lsn` of a PostgreSQL server; `file`, `pos` and `row` of a MySQL server, the file by its number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.errors import ChangesUnfit
from hakiri.extract.changes.told import Told, Unfit, words
from hakiri.extract.connectors.files.infer import widened
from hakiri.extract.connectors.fit import Fitted, fit_array, fit_values
from hakiri.model.change import Op
from hakiri.spec.feed import BINLOG, LSN, position_column

MEANT = {"c": Op.UPSERT, "r": Op.UPSERT, "u": Op.UPSERT, "d": Op.DELETE, "t": Op.CLEAR}
MESSAGE = "m"
"""What an application wrote into the log by hand; it is about no row."""
_FILE = "file"
_NUMBER = r"(?P<number>[0-9]+)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelopes:
    """What is known of a table's envelopes before one is read."""

    table: str
    key: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    """Fields of `source`; those that its server orders by when left out."""
    names: tuple[str, ...] = ()
    """The columns of the rows to keep; all of them when left out."""
    kind: pa.StructType | None = None
    """What the rows are, where that is declared."""


def tell_envelopes(batch: pa.RecordBatch, envelopes: Envelopes) -> Told:
    """What the envelopes tell. Raises ChangesUnfit where they are none, or tell too little."""
    for name in ("after", "op", "source"):
        if name not in batch.schema.names:
            raise ChangesUnfit(table=envelopes.table, reason=f"an envelope has a column `{name}`")
    kind = _kind(batch.schema, envelopes)
    before, after = (_part(batch, name, kind) for name in ("before", "after"))
    texts = batch.column("op").cast(pa.string())
    op = words(texts, MEANT)
    is_silent = pc.and_(pc.is_null(texts), pc.and_(pc.is_null(before.array), pc.is_null(after.array)))
    is_message = pc.or_(is_silent, pc.fill_null(pc.equal(texts, MESSAGE), fill_value=False))
    old = _members(before.array, [name for name in envelopes.key if kind.get_field_index(name) >= 0])
    position, lost = _position(batch, envelopes)
    return Told(
        op=op,
        rows=_members(after.array, [one.name for one in kind]) | position,
        deleted=old,
        before=old,
        unfit=(
            Unfit(pc.is_null(op), "the operation is none that is known", "op"),
            *lost,
            *_misfits(before, "before"),
            *_misfits(after, "after"),
            Unfit(_lacks(after.array, op, Op.UPSERT), "there is no row after the change", "after"),
            Unfit(_lacks(before.array, op, Op.DELETE), "nothing tells which row was deleted", "before"),
        ),
        is_message=is_message,
    )


def _kind(schema: pa.Schema, envelopes: Envelopes) -> pa.StructType:
    """The type of the rows: as declared, or as both sides show it."""
    if envelopes.kind is not None:
        return envelopes.kind
    found = [schema.field(name).type for name in ("before", "after") if name in schema.names]
    shown = [one for one in found if types.is_struct(one)]
    if not shown:
        raise ChangesUnfit(table=envelopes.table, reason="`after` shows no columns; declare them under `columns`")
    kind = widened(shown[0], shown[-1])
    names = envelopes.names or [field.name for field in kind]
    return pa.struct([field for field in kind if field.name in names])


def _part(batch: pa.RecordBatch, name: str, kind: pa.StructType) -> Fitted:
    """One side of the envelopes in the type of the rows."""
    if name not in batch.schema.names:
        return Fitted(pa.nulls(batch.num_rows, kind), {})
    array = batch.column(name)
    if not types.is_struct(array.type):
        return _parsed(array, kind)
    members = [_member(array, field) for field in kind]
    misfits: dict[int, str] = {}
    for one in members:
        misfits |= one.misfits
    made = pa.StructArray.from_arrays([one.array for one in members], fields=list(kind), mask=pc.is_null(array))
    return Fitted(made, misfits)


def _member(array: pa.StructArray, field: pa.Field) -> Fitted:
    if array.type.get_field_index(field.name) < 0:
        return Fitted(pa.nulls(len(array), field.type), {})
    return fit_array(pc.struct_field(array, field.name), field.type)


def _parsed(texts: pa.Array, kind: pa.StructType) -> Fitted:
    """Objects of texts; members that the type does not know are left out."""
    names = {field.name for field in kind}
    values, unread = [], {}
    for index, text in enumerate(texts.cast(pa.string()).to_pylist()):
        value = _object(text)
        if isinstance(value, str):
            unread[index] = value
        values.append({name: one for name, one in value.items() if name in names} if isinstance(value, dict) else None)
    fitted = fit_values(values, kind)
    return Fitted(fitted.array, fitted.misfits | unread)


def _object(text: str | None) -> dict[str, Any] | str | None:
    """The object that a text holds, NULL, or why it is none."""
    if text is None:
        return None
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return "is not JSON"
    return value if value is None or isinstance(value, dict) else "is not an object"


def _position(batch: pa.RecordBatch, envelopes: Envelopes) -> tuple[dict[str, pa.Array], list[Unfit]]:
    """Where each change stood in the log, as columns of the row."""
    source = batch.column("source")
    fields = envelopes.sequence or _usual(source.type, envelopes.table)
    if not types.is_struct(source.type):
        kinds = [(name, pa.string() if name == _FILE else pa.int64()) for name in fields]
        parsed = _parsed(source, pa.struct(kinds))
        return _columns(parsed.array, fields), _misfits(parsed, "source")
    for name in fields:
        if source.type.get_field_index(name) < 0:
            raise ChangesUnfit(table=envelopes.table, reason=f"`source` has no field `{name}` to order changes by")
    return _columns(source, fields), []


def _usual(kind: pa.DataType, table: str) -> tuple[str, ...]:
    """The fields that a server's own log is ordered by."""
    for fields in (LSN, BINLOG):
        if types.is_struct(kind) and all(kind.get_field_index(name) >= 0 for name in fields):
            return fields
    reason = "`source` has neither `lsn` nor `file`, `pos` and `row`; name its fields under `load.sequence_by`"
    raise ChangesUnfit(table=table, reason=reason)


def _columns(source: pa.StructArray, fields: tuple[str, ...]) -> dict[str, pa.Array]:
    found = _members(source, list(fields))
    return {position_column(name): _number(one) if name == _FILE else one for name, one in found.items()}


def _number(files: pa.Array) -> pa.Array:
    """The number that a log file's name ends with: names of more digits would sort before others as texts."""
    if not types.is_string(files.type):
        return files
    return pc.struct_field(pc.extract_regex(files, _NUMBER), "number").cast(pa.int64())


def _members(array: pa.StructArray, names: list[str]) -> dict[str, pa.Array]:
    return {name: pc.struct_field(array, name) for name in names}


def _misfits(fitted: Fitted, column: str) -> list[Unfit]:
    """The rows that do not fit, by reason."""
    found: Mapping[str, list[int]] = {reason: [] for reason in fitted.misfits.values()}
    for index, reason in fitted.misfits.items():
        found[reason].append(index)
    places = range(len(fitted.array))
    return [
        Unfit(pa.array([one in set(which) for one in places], pa.bool_()), reason, column)
        for reason, which in found.items()
    ]


def _lacks(array: pa.Array, op: pa.Array, wanted: Op) -> pa.Array:
    is_wanted = pc.fill_null(pc.equal(op, wanted.value), fill_value=False)
    return pc.and_(is_wanted, pc.is_null(array))
