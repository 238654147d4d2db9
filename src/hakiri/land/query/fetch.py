"""What a session finds comes some rows at a time, and every value of it as exact as Arrow has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hakiri.land.errors import QueryFailed
from hakiri.land.sql import text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_AT_ONCE = 2_000


def fetch(frame: DataFrame) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """What the rows are in Arrow, and the rows, which come once: no more than a partition of them is held at a time.

    Raises what Spark raises, and so may the rows, or QueryFailed for a value that Arrow has no type for.
    """
    # Two columns of an answer may share a name.
    places = [f"c{number}" for number in range(len(frame.columns))]
    apart = frame.toDF(*places)
    fields = zip(apart.limit(0).toArrow().schema, frame.columns, strict=True)
    carried = [f"{_carried(field.name, field.dataType)} AS {field.name}" for field in apart.schema.fields]
    schema = pa.schema([field.with_name(name) for field, name in fields])
    return schema, _batches(apart.selectExpr(*carried), places, schema)


def _batches(frame: DataFrame, places: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = frame.toLocalIterator(prefetchPartitions=False)
    while some := [row.asDict(recursive=True) for row in islice(rows, ROWS_AT_ONCE)]:
        columns = zip(places, schema, strict=True)
        arrays = [_array([row[place] for row in some], field) for place, field in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except pa.ArrowException as error:  # it shows a value
        raise QueryFailed(reason=f"`{field.name}` is of a type that cannot be fetched; cast it to STRING") from error


def _carried(value: str, kind: Any) -> str:
    """The value with numbers for its times, as Arrow has them: Python has not all their years, and but local clocks.

    The session's time zone is UTC, so that a time without one is the same number.
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
