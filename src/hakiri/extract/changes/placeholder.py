"""What Debezium writes in place of a value that the database's log did not hold.

PostgreSQL leaves a large (TOAST) value out of its log where an update did not change it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

PLACEHOLDER = "__debezium_unavailable_value"
_BYTES = PLACEHOLDER.encode()
_BASE64 = base64.b64encode(_BYTES).decode()
_MAP = {PLACEHOLDER: PLACEHOLDER}
_UUID = str(uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3))
TEXTS = (PLACEHOLDER, _BASE64, _BYTES.hex(), json.dumps(_MAP, separators=(",", ":")))
"""Of a text, of bytes in both spellings, of a map as text."""
_OTHERS = ([PLACEHOLDER], [_BASE64], [_UUID], list(_BYTES), _MAP)
"""Of lists of texts, of bytes, of UUIDs and of numbers, and of a map."""


def is_placeholder(value: Any) -> bool:
    """Whether a value of a message stands for one that was not sent."""
    if isinstance(value, str):
        return value in TEXTS
    return isinstance(value, list | dict) and value in _OTHERS


def placeholders(array: pa.Array) -> pa.Array | None:
    """Where a column has placeholders; None where it has none."""
    if types.is_string(array.type):
        found = pc.is_in(array, pa.array(TEXTS, pa.string()))
    elif types.is_list(array.type) or types.is_struct(array.type) or types.is_map(array.type):
        found = pa.array([is_placeholder(_plain(one)) for one in array.to_pylist()], pa.bool_())
    else:
        return None
    return found if pc.any(found).as_py() else None


def _plain(value: Any) -> Any:
    """A struct without the members that are NULL, a map as an object."""
    match value:
        case dict():
            return {name: one for name, one in value.items() if one is not None}
        case [tuple(), *_]:
            return dict(value)
        case _:
            return value
