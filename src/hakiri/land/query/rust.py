"""Answer SQL over landed tables without a JVM. Tables that delta-rs cannot read correctly are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from hakiri.errors import QueryError
from hakiri.land.errors import QueryFailed, QueryRefused, TableNotLanded, UnknownTable, ViewUnanswerable
from hakiri.land.query.parse import understand
from hakiri.land.query.session import QuerySession, open_table, reason_of
from hakiri.model.query_result import QueryResult, Value
from hakiri.model.staged import PROVENANCE
from hakiri.model.view import View, in_order
from hakiri.spec.validation_errors import guess

_NOT_FOUND = re.compile(r"table '(?:datafusion\.)?(?:public\.)?(?P<name>.*?)' not found")
_MISUNDERSTOOD = ("SQL error", "Schema error", "Error during planning", "This feature is not implemented")


def ask(sql: str, tables: Mapping[str, str], views: Callable[[], Mapping[str, View | None]] = dict) -> QueryResult:
    """Answer one SELECT over tables, given by name with path or address. Opens only those that it names.

    `views` is called only if the query names something that is no table; None stands for a view that was not made yet.
    Raises QueryRefused, QueryFailed, UnknownTable, TableNotLanded, TableUnreadable or ViewUnanswerable; reading the
    rows may raise QueryFailed. A repeat runs the query again.
    """
    question = understand(sql, tables)
    defined: Mapping[str, View | None] = views() if question.strangers else {}
    if defined:
        question = understand(sql, {**defined, **tables})
    session = QuerySession(tables)
    session.lay_out(name for name in question.tables if name in tables)
    _lay_out_views(session, [name for name in question.tables if name not in tables], tables, defined)
    try:
        reader = session.execute(question.sql)
    except DeltaError as error:
        raise _translated(error, sql, tables, [name for name, view in defined.items() if view]) from error
    return QueryResult(tuple(reader.schema.names), _rows(reader))


def _lay_out_views(
    session: QuerySession, names: Iterable[str], tables: Mapping[str, str], defined: Mapping[str, View | None]
) -> None:
    """Register these views and those that they read, each after what it reads."""
    needed: dict[str, View] = {}
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        view = defined.get(name)
        if view is None:
            raise TableNotLanded(table=name)
        needed[name] = view
        waiting += [read for read in view.reads if read not in tables and read not in needed]
    for view in in_order(needed.values()):
        try:
            session.lay_out_view(view)
        except ValueError as wrong:
            raise ViewUnanswerable(view=view.name, reason=str(wrong)) from wrong


def stream_of(name: str, tables: Mapping[str, str], *, most_bytes: int) -> bytes | None:
    """Return a whole table as an Arrow stream, without provenance columns; None if it is larger.

    Raises UnknownTable, TableNotLanded, TableUnreadable or QueryFailed. A repeat reads the table again.
    """
    if name not in tables:
        raise UnknownTable(table=name, known=tuple(sorted(tables)), guess=guess(name, tables))
    builder = QueryBuilder()
    builder.register("t", open_table(name, tables[name]))
    reader = pa.RecordBatchReader.from_stream(builder.execute("select * from t"))
    return write_stream(iter(partial(_next, reader), None), reader.schema, most_bytes=most_bytes)


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Value, ...]]:
    """Yield the rows of an answer, as values for people and programs."""
    columns = [_values(column) for column in batch.columns]
    yield from zip(*columns, strict=True) if columns else [()] * batch.num_rows


def write_stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, most_bytes: int) -> bytes | None:
    """Write the rows as an Arrow stream, without provenance columns; None if it gets larger."""
    kept = [column for column in schema.names if column not in PROVENANCE]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([schema.field(column) for column in kept])) as stream:
        for batch in batches:
            stream.write_batch(batch.select(kept))
            if sink.tell() > most_bytes:
                return None
    return bytes(sink.getvalue())


def _translated(error: Exception, sql: str, tables: Mapping[str, str], views: list[str]) -> QueryError:
    said = str(error)
    if found := _NOT_FOUND.search(said):
        return _unknown(found["name"], sql, tables, views)
    if said.startswith(_MISUNDERSTOOD):
        return QueryRefused(reason=reason_of(error))
    return QueryFailed(reason=reason_of(error))


def _unknown(name: str, sql: str, tables: Mapping[str, str], views: list[str]) -> UnknownTable:
    # The engine adds `public.` to names without dots, so its message has it either way.
    written = f"public.{name}" if f"public.{name}" in sql.lower() else name
    landed = [known for known, path in tables.items() if DeltaTable.is_deltatable(path)]
    return UnknownTable(table=written, known=tuple(sorted([*landed, *views])), guess=guess(written, (*tables, *views)))


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Value, ...]]:
    while (batch := _next(reader)) is not None:
        yield from rows_of(batch)


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except (pa.ArrowException, OSError) as error:
        raise QueryFailed(reason=reason_of(error)) from error


def _values(column: pa.Array) -> list[Value]:
    """Return the exact values of a column. Arrow writes times, because it knows years that Python does not."""
    if pa.types.is_timestamp(column.type):
        return [None if text is None else _instant(text) for text in column.cast(pa.string()).to_pylist()]
    if pa.types.is_date(column.type):
        return list(column.cast(pa.string()).to_pylist())
    return [_plain(value) for value in column.to_pylist()]


def _instant(text: str) -> str:
    """Format `2026-05-12 08:14:00.500000Z` as `2026-05-12T08:14:00.5Z`."""
    return _FRACTION.sub(lambda found: found[1].rstrip("0").rstrip("."), text.replace(" ", "T", 1))


def _plain(value: Any) -> Value:
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    return None if value is None else str(value)


def _struct(value: dict[str, Any]) -> Value:
    return {name: _plain(inner) for name, inner in value.items()}


def _list(value: list[Any]) -> Value:
    return [_plain(inner) for inner in value]


_FRACTION = re.compile(r"(\.\d+)")
_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Value]], ...] = (
    ((bool, int, str), lambda value: value),
    (float, lambda value: value if math.isfinite(value) else str(value)),
    (Decimal, lambda value: format(value, "f")),
    (datetime, lambda value: value.isoformat().replace("+00:00", "Z")),
    ((date, time), lambda value: value.isoformat()),
    (bytes, lambda value: f"0x{value.hex()}"),
    (dict, _struct),
    ((list, tuple), _list),
)
