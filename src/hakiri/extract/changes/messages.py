"""Reads the two forms in which Kafka Connect's JSON converter writes messages.

A bare message is the envelope itself: `before`, `after`, `op`, `source`. With `schemas.enable` the envelope is the
`payload` of another object, beside the `schema` that describes it. A file may have both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.changes.connect import (
    ConnectType,
    arrow_kind,
    connect_type,
    converter,
)
from hakiri.extract.changes.placeholder import is_placeholder, placeholders
from hakiri.extract.connectors.fit_values import fit_array, fit_values
from hakiri.extract.connectors.infer import type_of_values
from hakiri.extract.connectors.strict_json import BadJson, parse_json

SCHEMA = "schema"
PAYLOAD = "payload"
ENVELOPE = ("before", "after", "op", "source")
NOT_AN_OBJECT = "is not an object"
_CLOCK = {"ts_ms", "ts_us", "ts_ns"}
_DDL = {"ddl", "tableChanges"}

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the rows of a batch, in its type."""

    array: pa.Array
    misfits: Mapping[int, str]
    unavailable: pa.Array | None = None
    """True where the message has a placeholder instead of the value."""


@dataclass(frozen=True)
class Side:
    """One member of the envelopes of a batch: the rows before or after the changes, or their log positions."""

    size: int
    array: pa.StructArray | None
    """Values of bare messages, typed by the source."""
    objects: Mapping[int, Object]
    """Values of the other messages, by index."""
    types: Mapping[int, ConnectType | None] = field(default_factory=dict)
    faults: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def is_null(self) -> pa.Array:
        """Return where there is no object."""
        if not self.objects:
            return pa.repeat(pa.scalar(value=True), self.size) if self.array is None else pc.is_null(self.array)
        of_columns = [True] * self.size if self.array is None else pc.is_null(self.array).to_pylist()
        return pa.array([gone and place not in self.objects for place, gone in enumerate(of_columns)], pa.bool_())

    def schema_kinds(self) -> list[pa.StructType]:
        """Return the columns that the messages' schemas define."""
        kinds = (arrow_kind(one) for one in dict.fromkeys(self.types.values()) if one is not None)
        return [kind for kind in kinds if types.is_struct(kind)]

    def shown_kind(self) -> pa.StructType | None:
        """Return the columns found in values without a schema that the source has not typed."""
        kind = type_of_values(one for place, one in self.objects.items() if self.types.get(place) is None)
        return kind if types.is_struct(kind) else None

    def column(self, wanted: pa.Field) -> Column:
        """Return the values of one member, converted to its type."""
        of_columns = self._of_columns(wanted)
        if not self.objects:
            return of_columns
        values = [self.objects.get(place, {}).get(wanted.name) for place in range(self.size)]
        return self._joined(of_columns, self._of_values(wanted, values))

    def _of_columns(self, wanted: pa.Field) -> Column:
        if self.array is None or self.array.type.get_field_index(wanted.name) < 0:
            return Column(pa.nulls(self.size, wanted.type), {})
        found = pc.struct_field(self.array, wanted.name)
        if converter(None, wanted.type) is not None and _is_of_json(found.type):
            return self._of_values(wanted, found.to_pylist())
        if (unavailable := placeholders(found)) is not None:
            found = without(found, unavailable)
        fitted = fit_array(found, wanted.type)
        return Column(fitted.array, fitted.misfits, unavailable)

    def _of_values(self, wanted: pa.Field, values: Sequence[Any]) -> Column:
        is_away = [is_placeholder(value) for value in values]
        present = [None if gone else value for value, gone in zip(values, is_away, strict=True)]
        converted, reasons = self._converted(wanted, present)
        fitted = fit_values(converted, wanted.type)
        return Column(fitted.array, fitted.misfits | reasons, pa.array(is_away, pa.bool_()) if any(is_away) else None)

    def _converted(self, wanted: pa.Field, values: Sequence[Any]) -> tuple[list[Any], dict[int, str]]:
        types_ = {place: one and one.field(wanted.name) for place, one in self.types.items()}
        converters = {one: converter(one, wanted.type) for one in {None, *types_.values()}}
        reasons: dict[int, str] = {}
        found: list[Any] = []
        for place, value in enumerate(values):
            convert = converters[types_.get(place)]
            try:
                found.append(value if value is None or convert is None else convert(value))
            except ValueError as reason:
                found.append(None)
                reasons[place] = str(reason)
        return [None if place in reasons else value for place, value in enumerate(found)], reasons

    def _joined(self, of_columns: Column, of_objects: Column) -> Column:
        """Merge the objects' values, by index, with those of the columns."""
        size, objects = self.size, self.objects
        places = pa.array([size + place if place in objects else place for place in range(size)], pa.int64())
        away = [one.unavailable if one.unavailable is not None else _none(size) for one in (of_columns, of_objects)]
        return Column(
            pa.concat_arrays([of_columns.array, of_objects.array]).take(places),
            {**of_columns.misfits, **of_objects.misfits},
            pc.or_(*away),
        )


class Messages:
    """The messages of a batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.names = batch.schema.names
        self._payloads, self._schemas, self.faults = self._wrapped()

    def text(self, name: str) -> pa.Array:
        """Return a text member."""
        own = self._column(name)
        if own is None or types.is_nested(own.type):
            own = pa.nulls(self.batch.num_rows, pa.string())
        own = own.cast(pa.string())
        if not self._payloads:
            return own
        found = own.to_pylist()
        for place, payload in self._payloads.items():
            value = payload.get(name)
            found[place] = value if isinstance(value, str) else None
        return pa.array(found, pa.string())

    def side(self, name: str) -> Side:
        """Return an object member."""
        own = self._column(name)
        array = own if own is not None and types.is_struct(own.type) else None
        found = {} if own is None or array is not None else dict(enumerate(own.to_pylist()))
        found |= {place: payload.get(name) for place, payload in self._payloads.items()}
        objects: dict[int, Object] = {}
        faults: dict[int, str] = {}
        for place, value in found.items():
            read = _object(value)
            if isinstance(read, str):
                faults[place] = read
            elif read is not None:
                objects[place] = read
        types_ = {place: one and one.field(name) for place, one in self._schemas.items()}
        return Side(self.batch.num_rows, array, objects, types_, faults)

    def shown(self, name: str) -> pa.DataType | None:
        """Return the type of a member that the source has typed, in either form."""
        if name in self.names and types.is_struct(kind := self.batch.schema.field(name).type):
            return kind
        payload = self.batch.schema.field(PAYLOAD).type if PAYLOAD in self.names else None
        if payload is None or not types.is_struct(payload) or payload.get_field_index(name) < 0:
            return None
        member = payload.field(name).type
        return member if types.is_struct(member) else None

    def members(self, place: int) -> Object:
        """Return the members of a message that are not NULL."""
        if place in self._payloads:
            return self._payloads[place]
        (row,) = self.batch.slice(place, 1).to_pylist()
        return _present(row)

    def _wrapped(self) -> tuple[dict[int, Object], dict[int, ConnectType | None], dict[int, str]]:
        """Return payloads, schemas and read errors of wrapped messages, by index."""
        payloads: dict[int, Object] = {}
        schemas: dict[int, ConnectType | None] = {}
        faults: dict[int, str] = {}
        known: dict[str, ConnectType | None] = {}
        for place, (schema, payload) in self._pairs():
            read = _object(payload)
            if isinstance(read, str):
                faults[place] = read
            payloads[place] = {} if read is None or isinstance(read, str) else _present(read)
            text = schema if isinstance(schema, str) else json.dumps(schema, sort_keys=True, default=str)
            if text not in known:
                parsed = _object(schema)
                known[text] = None if isinstance(parsed, str) else connect_type(parsed)
            schemas[place] = known[text]
        return payloads, schemas, faults

    def _pairs(self) -> list[tuple[int, tuple[Any, Any]]]:
        """Return the indexes of wrapped messages with their schemas and payloads."""
        if PAYLOAD not in self.names and SCHEMA not in self.names:
            return []
        size = self.batch.num_rows
        columns = [self.batch.column(name).to_pylist() if name in self.names else [None] * size for name in _WRAPPER]
        ops = self.batch.column("op").is_valid().to_pylist() if "op" in self.names else [False] * size
        found = enumerate(zip(*columns, strict=True))
        return [(place, pair) for place, pair in found if not ops[place] and pair != (None, None)]

    def _column(self, name: str) -> pa.Array | None:
        return self.batch.column(name) if name in self.names else None


_WRAPPER = (SCHEMA, PAYLOAD)


def is_about_no_row(members: Object) -> bool:
    """Return whether a message without a change is one that Debezium writes.

    Those are tombstones, heartbeats, the begin and end of transactions, and schema changes.
    """
    names = set(members)
    if names <= _CLOCK:
        return True
    if members.get("status") in ("BEGIN", "END"):
        return "id" in names
    return "databaseName" in names and bool(names & _DDL)


def without(array: pa.Array, which: pa.Array) -> pa.Array:
    """Replace the values where `which` is true by NULL. Works for any type."""
    places = pa.array(range(len(array)), pa.int64())
    return array.take(pc.if_else(which, pa.scalar(None, pa.int64()), places))


def _none(size: int) -> pa.Array:
    return pa.repeat(pa.scalar(value=False), size)


def _is_of_json(kind: pa.DataType) -> bool:
    """Return whether JSON values of this type can be used unchanged."""
    return bool(types.is_integer(kind) or types.is_string(kind) or types.is_list(kind) or types.is_struct(kind))


def _present(value: Object) -> Object:
    return {name: one for name, one in value.items() if one is not None}


def _object(value: Any) -> Object | str | None:
    """Return the object that a value or a text contains; None for NULL; a reason if there is none."""
    if value is None or isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return NOT_AN_OBJECT
    try:
        read = parse_json(value)
    except BadJson as reason:
        return str(reason)
    return read if read is None or isinstance(read, dict) else NOT_AN_OBJECT
