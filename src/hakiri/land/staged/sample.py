"""Show a few staged values of a column that is refused."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as arrow
from pyarrow.fs import FileSystem, LocalFileSystem

from hakiri.model.staged import StagedChunk

SHOWN = 3
_MAX_LETTERS = 40


def files_at(root: str) -> tuple[FileSystem, str]:
    """Return the file system of staged files, and the folder that their paths are relative to."""
    folder = root.rstrip("/")
    found: tuple[FileSystem, str] = FileSystem.from_uri(folder) if "://" in folder else (LocalFileSystem(), folder)
    return found


def sample_column(root: str, chunks: Iterable[StagedChunk], column: str) -> tuple[str, ...]:
    """Return a few shortened values of the column, or of a field within it; none if its last file cannot be read."""
    system, folder = files_at(root)
    files = [
        (file, name)
        for chunk in chunks
        if (name := leading_column(chunk.schema.names, column)) is not None
        for file in chunk.files
        if file.rows
    ]
    for file, name in reversed(files):
        try:
            group = pq.ParquetFile(f"{folder}/{file.path}", filesystem=system).read_row_group(0, columns=[name])
        except (pa.ArrowException, OSError):
            return ()
        if values := show_values(group.column(0).chunks, column[len(name) + 1 :]):
            return values
    return ()


def show_values(column: Iterable[pa.Array], path: str = "") -> tuple[str, ...]:
    """Return the first values of a column, or of the field at the path within it, shortened."""
    values = chain.from_iterable(_within(values, path).drop_null() for values in column)
    texts = (str(value.as_py()) for value in islice(values, SHOWN))
    return tuple(text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…" for text in texts)


def leading_column(names: Iterable[str], path: str) -> str | None:
    """Return the longest of the names that the path begins with, ignoring case; a name may contain dots."""
    found = [name for name in names if f"{path}.".casefold().startswith(f"{name}.".casefold())]
    return max(found, key=len, default=None)


def _within(values: pa.Array, path: str) -> pa.Array:
    """Return the values at a path: `x`, `element`, `lines.element.price`."""
    if not path:
        return values
    if arrow.is_struct(values.type):
        name = leading_column([values.type.field(index).name for index in range(values.type.num_fields)], path)
        return _within(pc.struct_field(values, name), path[len(name) + 1 :]) if name else values
    step, _, rest = path.partition(".")
    if arrow.is_map(values.type):
        return _within(values.keys if step == "key" else values.items, rest)
    return _within(pc.list_flatten(values), rest) if step == "element" else values
