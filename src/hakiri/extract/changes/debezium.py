"""Reads Debezium envelopes: the row before and after a change, the operation, and the position in the log.

The parts may be objects or JSON texts. Changes are ordered by their position:
`source.lsn` of a PostgreSQL server; `file`, `pos` and `row` of a MySQL server, the file by its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.changes.messages import ENVELOPE, PAYLOAD, Column, Messages, Side, is_about_no_row
from hakiri.extract.changes.normalize import UNAVAILABLE, Normalized, Unfit, words
from hakiri.extract.connectors.infer import settled, widened
from hakiri.extract.errors import ChangesUnfit
from hakiri.model.columns.change import Op
from hakiri.model.columns.names import is_reserved
from hakiri.spec.feed import BINLOG, LSN, position_column

MEANT = {"c": Op.UPSERT, "r": Op.UPSERT, "u": Op.UPSERT, "d": Op.DELETE, "t": Op.CLEAR}
MESSAGE = "m"
"""A message that an application wrote into the log; it does not concern a row."""
_FILE = "file"
_COUNTS = frozenset({*LSN, *BINLOG, "ts_ms", "ts_us", "ts_ns", "scn", "txId", "ord", "event_serial_no"}) - {_FILE}
"""Numeric position fields of `source`: those of PostgreSQL and MySQL, and their equivalents of other servers."""
_NUMBER = r"(?P<number>[0-9]+)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelopes:
    """What is known about a table's envelopes before one is read."""

    table: str
    key: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    """Fields of `source`; by default, those that order the server's log."""
    names: tuple[str, ...] = ()
    """The columns of the rows to keep; by default, all."""
    kind: pa.StructType | None = None
    """The type of the rows, if it is declared."""
    learned: pa.StructType | None = None
    """The type of the rows according to the schemas in a sample, if it is not declared."""


def tell_envelopes(batch: pa.RecordBatch, envelopes: Envelopes) -> Normalized:
    """Normalize the changes in the envelopes. Raises ChangesUnfit if these are no envelopes, or lack a part."""
    _require_envelopes(batch.schema, envelopes)
    messages = Messages(batch)
    before, after = messages.side("before"), messages.side("after")
    kind = _kind(messages, before, after, envelopes)
    texts = messages.text("op")
    op = words(texts, MEANT)
    is_message, is_strange = _without_operation(messages, texts)
    old = {name: before.column(kind.field(name)) for name in envelopes.key if kind.get_field_index(name) >= 0}
    now = {one.name: after.column(one) for one in kind}
    position, lost = _position(messages, envelopes)
    if envelopes.kind is None:
        lost += [_reserved(name, now.pop(name), before.column(kind.field(name))) for name in _taken(now, position)]
    return Normalized(
        op=op,
        rows={name: column.array for name, column in now.items()} | position,
        deleted={name: column.array for name, column in old.items()},
        before={name: column.array for name, column in old.items()},
        unavailable=_unavailable(now, batch.num_rows),
        unfit=(
            *_misfits(messages.faults, PAYLOAD, batch.num_rows),
            Unfit(is_strange, "is no message of Debezium", "op"),
            Unfit(pc.is_null(op), "the operation is none that is known", "op"),
            *lost,
            *_unfit(before, "before", old),
            *_unfit(after, "after", now),
            Unfit(_lacks(after, op, Op.UPSERT), "there is no row after the change", "after"),
            Unfit(_lacks(before, op, Op.DELETE), "nothing tells which row was deleted", "before"),
        ),
        is_message=is_message,
    )


def _require_envelopes(schema: pa.Schema, envelopes: Envelopes) -> None:
    if PAYLOAD in schema.names:
        return
    for name in ENVELOPE[1:]:
        if name not in schema.names:
            raise ChangesUnfit(table=envelopes.table, reason=f"an envelope has a column `{name}`")


def _without_operation(messages: Messages, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return which messages concern no row, and which are not Debezium's."""
    is_message = pc.fill_null(pc.equal(texts, MESSAGE), fill_value=False).to_pylist()
    is_strange = [False] * len(texts)
    for place in pc.indices_nonzero(pc.is_null(texts)).to_pylist():
        members = messages.members(place)
        is_message[place] = place not in messages.faults and is_about_no_row(members)
        is_strange[place] = not set(ENVELOPE) & set(members)
    return pa.array(is_message, pa.bool_()), pa.array(is_strange, pa.bool_())


def _kind(messages: Messages, before: Side, after: Side, envelopes: Envelopes) -> pa.StructType:
    """Return the type of the rows: as declared, or as seen in both sides."""
    if envelopes.kind is not None:
        return envelopes.kind
    shown = {field.name: field for field in (*rows_kind(messages, before, after), *(envelopes.learned or ()))}
    if not shown:
        raise ChangesUnfit(table=envelopes.table, reason="`after` shows no columns; declare them under `columns`")
    return pa.struct([field for name, field in shown.items() if name in (envelopes.names or shown)])


def rows_kind(messages: Messages, before: Side, after: Side) -> pa.StructType:
    """Return the type of the rows according to their schemas, or as seen in both sides."""
    sides = {"before": before, "after": after}
    found = (messages.shown(name) or side.shown_kind() for name, side in sides.items())
    shown = settled(reduce(widened, (one for one in found if one is not None), pa.struct([])))
    by_schema = reduce(widened, (*before.schema_kinds(), *after.schema_kinds()), pa.struct([]))
    return pa.struct(list({field.name: field for field in (*shown, *by_schema)}.values()))


def _unavailable(columns: Mapping[str, Column], size: int) -> pa.Array:
    """Return the columns for which each message has placeholders; NULL if it has none."""
    found: list[list[str] | None] = [None] * size
    for name, column in columns.items():
        if column.unavailable is not None:
            for place in pc.indices_nonzero(column.unavailable).to_pylist():
                found[place] = [*(found[place] or ()), name]
    return pa.array(found, UNAVAILABLE)


def _position(messages: Messages, envelopes: Envelopes) -> tuple[dict[str, pa.Array], list[Unfit]]:
    """Return the log position of each change, as columns of the row."""
    shown = messages.shown("source")
    fields = envelopes.sequence or _usual(shown, envelopes.table)
    if shown is not None and (unknown := [name for name in fields if shown.get_field_index(name) < 0]):
        raise ChangesUnfit(table=envelopes.table, reason=f"`source` has no field `{unknown[0]}` to order changes by")
    source = messages.side("source")
    found = {name: source.column(pa.field(name, _kind_at(shown, name))) for name in fields}
    columns = {position_column(name): _number(one.array, name) for name, one in found.items()}
    return columns, _unfit(source, "source", found)


def position_kind(name: str) -> pa.DataType | None:
    """Return the type of a position field of `source`, whatever a file contains; None for any other field."""
    if name == _FILE:
        return pa.string()
    return pa.int64() if name in _COUNTS else None


def _kind_at(shown: pa.StructType | None, name: str) -> pa.DataType:
    if (kind := position_kind(name)) is not None:
        return kind
    return pa.int64() if shown is None else shown.field(name).type


def _usual(shown: pa.StructType | None, table: str) -> tuple[str, ...]:
    """Return the fields that order the server's log."""
    for fields in (LSN, BINLOG):
        if shown is not None and all(shown.get_field_index(name) >= 0 for name in fields):
            return fields
    reason = "`source` has neither `lsn` nor `file`, `pos` and `row`; name its fields under `load.sequence_by`"
    raise ChangesUnfit(table=table, reason=reason)


def _number(files: pa.Array, name: str) -> pa.Array:
    """Return the number at the end of a log file's name: as texts, longer numbers would sort before shorter ones."""
    if name != _FILE or not types.is_string(files.type):
        return files
    return pc.struct_field(pc.extract_regex(files, _NUMBER), "number").cast(pa.int64())


def _unfit(side: Side, name: str, columns: Mapping[str, Column]) -> list[Unfit]:
    """Return the rows with a part that does not fit, by part and reason."""
    found = _misfits(side.faults, name, side.size)
    for member, column in columns.items():
        found += _misfits(column.misfits, f"{name}.{member}", side.size)
    return found


def _taken(columns: Iterable[str], position: Iterable[str]) -> list[str]:
    """Return the columns whose names Hakiri uses for its own."""
    return [name for name in columns if is_reserved(name) or name.casefold() in position]


def _reserved(name: str, *sides: Column) -> Unfit:
    which = reduce(pc.or_, (pc.is_valid(side.array) for side in sides))
    return Unfit(which, "has the name of a column that Hakiri adds", f"after.{name}")


def _misfits(misfits: Mapping[int, str], column: str, size: int) -> list[Unfit]:
    by_reason: dict[str, set[int]] = {}
    for place, reason in misfits.items():
        by_reason.setdefault(reason, set()).add(place)
    return [
        Unfit(pa.array([place in which for place in range(size)], pa.bool_()), reason, column)
        for reason, which in by_reason.items()
    ]


def _lacks(side: Side, op: pa.Array, wanted: Op) -> pa.Array:
    return pc.and_(pc.fill_null(pc.equal(op, wanted.value), fill_value=False), side.is_null)
