"""Answer SQL over tables and views of a catalog by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hakiri.errors import QueryError
from hakiri.land.delta.spark_errors import translating
from hakiri.land.delta.spark_session import isolated_session, takes
from hakiri.land.errors import QueryFailed, QueryRefused, TableNotLanded, TableUnreadable, UnknownTable
from hakiri.land.query.parse import BACKTICKS, understand
from hakiri.land.query.rust import rows_of, write_stream
from hakiri.land.sql import DETAIL, text
from hakiri.land.target import Target, sql_name
from hakiri.model.query_result import QueryResult, Value
from hakiri.model.staged import PROVENANCE
from hakiri.model.view import View
from hakiri.spec.sql.select import Select, read_select
from hakiri.spec.validation_errors import guess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSTITUTE = "spark.sql.variable.substitute"
VARIABLE = "${"
ROWS_AT_ONCE = 2_000
TOO_LARGE = 4
"""A table stored in more than this many times the limit is not fetched: it cannot be mostly provenance."""


def ask(
    sql: str,
    tables: Mapping[str, Target],
    views: Callable[[], Mapping[str, View | None]],
    *,
    target: Callable[[str], Target],
    spark: Callable[[], SparkSession],
    most_rows: int | None = None,
) -> QueryResult:
    """Answer one SELECT in Spark's SQL over tables by name, and over views, whose place `target` returns.

    Fetches at most `most_rows` rows. The session is opened after the query was parsed. `views` is called only if the
    query names something that is no table; None stands for a view that was not made yet. Raises QueryRefused,
    QueryFailed, UnknownTable, TableNotLanded, and errors of opening a session; reading the rows may raise QueryFailed
    or SessionLost. A repeat runs the query again.
    """
    defined: Mapping[str, View | None] = views() if understand(sql, tables, mark=BACKTICKS).strangers else {}
    select = _read(understand(sql, {**defined, **tables}, mark=BACKTICKS).sql)
    places = {**{name: target(name) for name in defined}, **tables}
    session = isolated_session(spark())
    _require_there(session, select.tables, places, [name for name, view in defined.items() if view is None])
    statement = select.over({name: sql_name(places[name]) for name in select.tables})
    _require_literal(session, statement)
    with _translated(QueryRefused):
        frame = session.sql(statement)
        columns = tuple(frame.columns)
    return QueryResult(columns, _rows(frame if most_rows is None else frame.limit(most_rows)))


def stream_of(
    name: str, tables: Mapping[str, Target], spark: Callable[[], SparkSession], *, most_bytes: int
) -> bytes | None:
    """Return a table as an Arrow stream, without provenance columns; None if it is larger, or far more is stored.

    Raises UnknownTable, TableNotLanded, TableUnreadable, and errors of opening a session. A repeat reads the table
    again.
    """
    if name not in tables:
        raise UnknownTable(table=name, known=tuple(sorted(tables)), guess=guess(name, tables))
    session, stored = isolated_session(spark()), sql_name(tables[name])
    _require_there(session, [name], tables, [])
    with _translated(partial(TableUnreadable, table=name)):
        # The stored size is compressed and includes provenance, so only the rows show the real size.
        if session.sql(DETAIL.format(table=stored)).collect()[0]["sizeInBytes"] > TOO_LARGE * most_bytes:
            return None
        schema, batches = fetch(session.table(stored).drop(*PROVENANCE))
        return write_stream(batches, schema, most_bytes=most_bytes)


def fetch(frame: DataFrame) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema in Arrow, and the rows, which can be iterated once. Holds at most a partition in memory.

    Raises errors of Spark, also while rows are read, or QueryFailed for a value that Arrow has no type for.
    """
    # Two columns may have the same name.
    places = [f"c{number}" for number in range(len(frame.columns))]
    apart = frame.toDF(*places)
    fields = zip(apart.limit(0).toArrow().schema, frame.columns, strict=True)
    carried = [f"{_carried(field.name, field.dataType)} AS {field.name}" for field in apart.schema.fields]
    schema = pa.schema([field.with_name(name) for field, name in fields])
    return schema, _batches(apart.selectExpr(*carried), places, schema)


def _read(sql: str) -> Select:
    try:
        return read_select(sql)
    except ValueError as wrong:
        raise QueryRefused(reason=str(wrong)) from wrong


def _require_literal(session: SparkSession, statement: str) -> None:
    """Require that Spark runs the statement as written. Raises QueryRefused.

    Otherwise Spark would insert settings and its server's environment after the statement was checked.
    """
    if VARIABLE in statement and not takes(session, SUBSTITUTE, "false"):
        reason = f"this compute would put a setting, or a value of its environment, in the place of `{VARIABLE}...}}`"
        raise QueryRefused(reason=f"{reason}; as a text, write `concat('$', '{{...}}')`")


def _require_there(
    session: SparkSession, names: Iterable[str], places: Mapping[str, Target], unmade: Iterable[str]
) -> None:
    """Require that each of these can be read. Raises UnknownTable or TableNotLanded."""

    def is_there(name: str) -> bool:
        with _translated(QueryFailed):
            return name not in unmade and bool(session.catalog.tableExists(sql_name(places[name])))

    for name in names:
        if name not in places:
            known = tuple(sorted(filter(is_there, places)))
            raise UnknownTable(table=name, known=known, guess=guess(name, places))
        if not is_there(name):
            raise TableNotLanded(table=name)


def _rows(frame: DataFrame) -> Iterator[tuple[Value, ...]]:
    with _translated(QueryFailed):
        _schema, batches = fetch(frame)
        for batch in batches:
            yield from rows_of(batch)


def _translated(failure: Callable[..., QueryError]) -> AbstractContextManager[None]:
    """Translate exceptions of Spark to this error, or to those of a lost session."""
    return translating(
        lambda: QueryFailed(reason="others were changing what it reads; ask again"),
        lambda reason: failure(reason=reason),
        table="the answer",
    )


def _batches(frame: DataFrame, places: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = frame.toLocalIterator(prefetchPartitions=False)
    while some := [row.asDict(recursive=True) for row in islice(rows, ROWS_AT_ONCE)]:
        columns = zip(places, schema, strict=True)
        arrays = [_array([row[place] for row in some], field) for place, field in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except pa.ArrowException as error:  # its text has a value
        raise QueryFailed(reason=f"`{field.name}` is of a type that cannot be fetched; cast it to STRING") from error


def _carried(value: str, kind: Any) -> str:
    """Return the value with times as numbers, because Python lacks some years and converts to local time.

    The session's time zone is UTC, so a time without a zone gives the same number.
    """
    match kind.typeName():
        case "timestamp":
            return f"unix_micros({value})"
        case "timestamp_ntz":
            return f"unix_micros(CAST({value} AS TIMESTAMP))"
        case "date":
            return f"unix_date({value})"
        case "array":
            return f"transform({value}, e -> {_carried('e', kind.elementType)})"
        case "map":
            keys = f"transform_keys({value}, (k, v) -> {_carried('k', kind.keyType)})"
            return f"transform_values({keys}, (k, v) -> {_carried('v', kind.valueType)})"
        case "struct":
            fields = ", ".join(f"{text(one.name)}, {_carried(_field(value, one.name), one.dataType)}" for one in kind)
            return f"IF({value} IS NULL, NULL, named_struct({fields}))"
        case _:
            return value


def _field(value: str, name: str) -> str:
    return f"{value}[{text(name)}]"
