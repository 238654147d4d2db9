"""Set or remove one key of a document, also through shorthands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hakiri.spec.lines import KeyPath

# The table that a shorthand abbreviates: `incremental = "updated_at"` is `{ column = "updated_at" }`.
_SHORTHANDS = {"tables": "name", "columns": "name", "transforms": "plan", "incremental": "column"}
_PART = re.compile(r'\.?(?:([A-Za-z0-9_$-]+)|"((?:[^"\\]|\\.)*)"|\[([0-9]{1,6})\])')


def parse_path(text: str) -> KeyPath:
    """Parse `tables[0].load.mode` or `source.config."a.b"` as a path. Raises ValueError."""
    path: list[str | int] = []
    position = 0
    while match := _PART.match(text, position):
        bare, quoted, index = match.groups()
        path.append(int(index) if index else bare if bare is not None else json.loads(f'"{quoted}"'))
        position = match.end()
    if not path or position != len(text):
        raise ValueError(f"`{text}` is not a key; write one like `schedule`, `backfill.window` or `tables[0].query`")
    return tuple(path)


def parse_value(text: str) -> Any:
    """Parse a JSON value; any other text is itself: `4`, `["a"]`, `every 15m`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def assign(root: Any, path: KeyPath, value: Any, as_item: Callable[[Any], Any] = lambda value: value) -> None:
    """Set the key, creating the tables on its path. A repeat changes nothing. Raises ValueError.

    `as_item` turns the value into what the holder keeps, where that is not plain data.
    """
    path, value = _written_out(root, path, value)
    holder = root
    for position, part in enumerate(path[:-1]):
        if not _has(holder, part):
            _put(holder, part, as_item([] if isinstance(path[position + 1], int) else {}))
        holder = holder[part]
    _put(holder, path[-1], as_item(value))


def remove(root: Any, path: KeyPath) -> None:
    """Remove the key. Raises KeyError if it does not exist."""
    holder = root
    for part in path[:-1]:
        holder = holder[_index(holder, part)] if _has(holder, part) else {}
    if not _has(holder, path[-1]):
        raise KeyError(path[-1])
    del holder[path[-1]]


def _written_out(root: Any, path: KeyPath, value: Any) -> tuple[KeyPath, Any]:
    """Return the same assignment one level up, if a shorthand has to become a table."""
    holder = root
    for position, part in enumerate(path[:-1]):
        if not _has(holder, part):
            break
        holder = holder[part]
        if isinstance(holder, str):
            rest = path[position + 1 :]
            for inner in reversed(rest):
                value = {inner: value}
            return path[: position + 1], {_shorthand_key(path[: position + 1]): str(holder), **value}
    return path, value


def _put(holder: Any, part: str | int, item: Any) -> None:
    if isinstance(holder, list) and part == len(holder):
        holder.append(item)
    else:
        holder[_index(holder, part)] = item


def _shorthand_key(path: KeyPath) -> str:
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    if name not in _SHORTHANDS:
        raise ValueError(f"`{name}` is a text and has no keys of its own")
    return _SHORTHANDS[name]


def _has(holder: Any, part: str | int) -> bool:
    if isinstance(holder, list):
        return isinstance(part, int) and part < len(holder)
    return isinstance(holder, dict) and part in holder


def _index(holder: Any, part: str | int) -> str | int:
    """Check that the part can name something in the holder. Raises ValueError."""
    if isinstance(holder, list) and not (isinstance(part, int) and part < len(holder)):
        raise ValueError(f"`{part}` is not an element: the list has {len(holder)}")
    if isinstance(holder, dict) and not isinstance(part, str):
        raise ValueError(f"`[{part}]` needs a list, and this is not one")
    if not isinstance(holder, dict | list):
        raise ValueError(f"`{part}` needs a table, and this is not one")
    return part
