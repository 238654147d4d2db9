"""Make sealed files part of a table without rewriting them: their add actions, with statistics from their footers.

A Parquet footer and a Delta statistic differ. The footer of a float does not count NaN, which Spark sorts above all
other values, so no greatest value is given for floats. Long texts are cut, the greater one upwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from hakiri.land.errors import StagedFileUnfit
from hakiri.land.recipe import Recipe
from hakiri.model.staged import StagedFile

INDEXED_LEAVES = 32
"""How many columns get statistics. As in Delta, leaves of nested columns are counted, from the left."""
TEXT_PREFIX = 32

_LAST_ASCII, _LAST_CHARACTER = "\x7f", "\U0010ffff"

Leaf = tuple[str, ...]


def add_actions(recipe: Recipe, folder: Path) -> tuple[AddAction, ...]:
    """Return an add action for each file with rows, with statistics from its footer. Raises StagedFileUnfit."""
    return tuple(_actions(recipe, folder))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The statistics of one column in one file."""

    nulls: int | None
    low: Any = None
    high: Any = None


def delta_statistics(footer: pq.FileMetaData) -> str:
    """Return the statistics of an add action, as JSON."""
    found = dict(_columns(footer))
    plain = {
        "numRecords": footer.num_rows,
        "minValues": _nested({leaf: _low(bounds.low) for leaf, bounds in found.items()}),
        "maxValues": _nested({leaf: _high(bounds.high) for leaf, bounds in found.items()}),
        "nullCount": _nested({leaf: bounds.nulls for leaf, bounds in found.items()}),
    }
    return _json(plain)


def _actions(recipe: Recipe, folder: Path) -> Iterator[AddAction]:
    for file in recipe.files:
        path = folder / file.path
        footer = _footer(recipe, file, path)
        if file.rows:
            yield AddAction(
                path=file.path,
                size=file.bytes,
                partition_values={},
                modification_time=int(path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(footer),
            )


def _footer(recipe: Recipe, file: StagedFile, path: Path) -> pq.FileMetaData:
    """Return a file's footer if the file is still the sealed one (G3). Raises StagedFileUnfit."""
    table = recipe.stamp.table.table
    if not path.is_file():
        raise StagedFileUnfit(table=table, path=file.path, problem="missing")
    if path.stat().st_size != file.bytes:
        raise StagedFileUnfit(table=table, path=file.path, problem="wrong size")
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise StagedFileUnfit(table=table, path=file.path, problem="not Parquet") from error
    if footer.num_rows != file.rows:
        raise StagedFileUnfit(table=table, path=file.path, problem="wrong row count")
    return footer


def _columns(footer: pq.FileMetaData) -> Iterator[tuple[Leaf, Bounds]]:
    """Yield the bounds of each leaf that gets statistics and is not within a list or map."""
    leaves = _leaves(footer.schema.to_arrow_schema())
    for index, leaf in zip(range(min(footer.num_columns, INDEXED_LEAVES)), leaves, strict=False):
        if leaf is not None:
            yield leaf, _bounds(footer, index)


def _leaves(schema: pa.Schema) -> Iterator[Leaf | None]:
    """Yield the path of each leaf in the file's order; None for leaves within lists and maps, which have no bounds."""
    for field in schema:
        yield from _leaves_of(field, ())


def _leaves_of(field: pa.Field, above: Leaf) -> Iterator[Leaf | None]:
    path = (*above, field.name)
    if pa.types.is_struct(field.type):
        for index in range(field.type.num_fields):
            yield from _leaves_of(field.type.field(index), path)
    elif pa.types.is_nested(field.type):
        yield from (None for _ in range(_width(field.type)))
    else:
        yield path


def _width(kind: pa.DataType) -> int:
    if not pa.types.is_nested(kind):
        return 1
    return sum(_width(kind.field(index).type) for index in range(kind.num_fields))


def _bounds(footer: pq.FileMetaData, column: int) -> Bounds:
    """Return the bounds over all row groups; none if a group has no statistics."""
    groups = [footer.row_group(index).column(column) for index in range(footer.num_row_groups)]
    statistics = [group.statistics for group in groups]
    if any(one is None or not one.has_null_count for one in statistics):
        return Bounds(None)
    nulls = sum(one.null_count for one in statistics)
    valued = [one for one, group in zip(statistics, groups, strict=True) if one.null_count < group.num_values]
    if not valued or not all(one.has_min_max for one in valued):
        return Bounds(nulls)
    try:
        return Bounds(nulls, min(one.min for one in valued), max(one.max for one in valued))
    except (OverflowError, ValueError, TypeError):  # a time that Python cannot represent
        return Bounds(nulls)


def _low(value: Any) -> Any:
    match value:
        case bool() | bytes():
            return None
        case int() | Decimal():
            return value
        case str():
            return value[:TEXT_PREFIX]
        case float():
            return value if abs(value) != float("inf") else None
        case datetime():
            return _instant(value)
        case date():
            return value.isoformat()
        case _:
            return None


def _high(value: Any) -> Any:
    match value:
        case float():
            return None
        case str() if len(value) > TEXT_PREFIX:
            # The replacement for the rest has to sort after it.
            last = _LAST_ASCII if value[TEXT_PREFIX] < _LAST_ASCII else _LAST_CHARACTER
            return value[:TEXT_PREFIX] + last if value[TEXT_PREFIX] < last else None
        case _:
            return _low(value)


def _instant(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
    return text if value.tzinfo is None else f"{text}Z"


def _nested(values: Mapping[Leaf, Any]) -> dict[str, Any]:
    """Return the known values as nested objects."""
    whole: dict[str, Any] = {}
    for (*above, name), value in values.items():
        if value is not None:
            inner = whole
            for step in above:
                inner = inner.setdefault(step, {})
            inner[name] = value
    return whole


def _json(value: Any) -> str:
    """Write JSON in which decimals stay numbers with all their digits."""
    match value:
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{_json(one)}" for name, one in value.items()) + "}"
        case Decimal():
            return format(value, "f")
        case _:
            return json.dumps(value, allow_nan=False)
