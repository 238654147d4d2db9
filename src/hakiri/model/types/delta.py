"""Types as the JSON of Delta logs, which is also the JSON of Spark schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, assert_never

from hakiri.model.types import Array, Decimal, Field, Map, Simple, Struct, Type


def from_delta(plain: Any) -> Struct:
    """Convert the parsed JSON of a schema. Raises ValueError for anything else."""
    found = _read(plain)
    if not isinstance(found, Struct):
        raise ValueError("a schema is a struct")
    return found


def from_schema_string(text: str) -> Struct:
    """Parse the `schemaString` of a Delta log. Raises ValueError for any other text."""
    return from_delta(json.loads(text))


def to_delta(kind: Type) -> Any:
    """Convert to values that JSON can store."""
    match kind:
        case Simple():
            return kind.name
        case Decimal():
            return f"decimal({kind.precision},{kind.scale})"
        case Array():
            return {"type": "array", "elementType": to_delta(kind.element), "containsNull": True}
        case Map():
            pair = {"keyType": to_delta(kind.key), "valueType": to_delta(kind.value)}
            return {"type": "map", **pair, "valueContainsNull": True}
        case Struct():
            fields = [
                {"name": one.name, "type": to_delta(one.type), "nullable": one.is_nullable, "metadata": {}}
                for one in kind.fields
            ]
            return {"type": "struct", "fields": fields}
        case _:
            assert_never(kind)


_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def _read(plain: Any) -> Type:
    match plain:
        case str():
            found = _DECIMAL.fullmatch(plain)
            return Decimal(int(found[1]), int(found[2])) if found else Simple(plain)
        case {"type": "struct", "fields": [*fields]}:
            return Struct(tuple(map(_field, fields)))
        case {"type": "array", "elementType": element}:
            return Array(_read(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return Map(_read(key), _read(value))
        case _:
            raise ValueError("not a type of a Delta schema")


def _field(plain: Mapping[str, Any]) -> Field:
    match plain:
        case {"name": str(name), "type": kind}:
            return Field(name, _read(kind), bool(plain.get("nullable", True)))
        case _:
            raise ValueError("not a field of a Delta schema")
