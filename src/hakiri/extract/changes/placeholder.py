"""Recognizes the placeholders that Debezium writes for values missing from the database's log.

PostgreSQL omits a large (TOAST) value from its log if an update did not change it.
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
"""For texts, bytes in both spellings, and maps as text."""
_OTHERS = ([PLACEHOLDER], [_BASE64], [_UUID], list(_BYTES), _MAP)
"""For lists of texts, bytes, UUIDs and numbers, and for maps."""


def is_placeholder(value: Any) -> bool:
    """Return whether a value is a placeholder."""
    if isinstance(value, str):
        return value in TEXTS
    return isinstance(value, list | dict) and value in _OTHERS


def placeholders(array: pa.Array) -> pa.Array | None:
    """Return where a column has placeholders; None if it has none."""
    if types.is_string(array.type):
        found = pc.is_in(array, pa.array(TEXTS, pa.string()))
    elif types.is_list(array.type) or types.is_struct(array.type) or types.is_map(array.type):
        found = pa.array([is_placeholder(_plain(one)) for one in array.to_pylist()], pa.bool_())
    else:
        return None
    return found if pc.any(found).as_py() else None


def _plain(value: Any) -> Any:
    """Return a struct without its NULL members, and a map as an object."""
    match value:
        case dict():
            return {name: one for name, one in value.items() if one is not None}
        case [tuple(), *_]:
            return dict(value)
        case _:
            return value
