"""A column that is refused is shown with a few of its staged values, so that a person sees what came."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem, LocalFileSystem

from hakiri.model.staged import StagedChunk

SHOWN = 3
_MAX_LETTERS = 40


def files_at(root: str) -> tuple[FileSystem, str]:
    """The file system that staged files lie in, and the folder in it that their paths start from."""
    folder = root.rstrip("/")
    found: tuple[FileSystem, str] = FileSystem.from_uri(folder) if "://" in folder else (LocalFileSystem(), folder)
    return found


def sample(root: str, chunks: Iterable[StagedChunk], column: str) -> tuple[str, ...]:
    """A few values of the column, shortened; none where the last file that has it cannot be read."""
    system, folder = files_at(root)
    files = [file for chunk in chunks if column in chunk.schema.names for file in chunk.files if file.rows]
    for file in reversed(files):
        try:
            group = pq.ParquetFile(f"{folder}/{file.path}", filesystem=system).read_row_group(0, columns=[column])
        except (pa.ArrowException, OSError):
            return ()
        values = [str(value) for value in group.column(0).drop_null().slice(0, SHOWN).to_pylist()]
        if values:
            return tuple(text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…" for text in values)
    return ()
