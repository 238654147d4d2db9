"""Paths of staged files. Every attempt has its own folder below the table's Delta root; ids cannot escape it.

    data/runs/<run>/<node>/chunk-<id>/attempt-<n>/part-00000.parquet         rows, where Delta can adopt them
                                                 /quarantine-00000.parquet   quarantined rows
                                                 /_manifest.json             written last

Spark and Delta, including VACUUM, ignore names with a leading underscore. Files with rows have none, not even for
quarantined rows: Spark has to read them to land them.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from hakiri.model.chunk import ChunkKey

RUNS = "data/runs"
MANIFEST = "_manifest.json"

_LONGEST_NAME = 120  # file systems allow 255 bytes, some object stores 1024 per path
_PREFIX = 64
_DEPTH_OF_ATTEMPT = 4  # run, node, chunk, attempt


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a node at a chunk."""

    run: str
    node: str
    chunk: ChunkKey
    number: int

    @property
    def folder(self) -> str:
        """Return the attempt's folder, relative to the table's Delta root. Every attempt has a different one."""
        if self.number < 1:
            raise ValueError("attempts are counted from 1")
        chunk = f"chunk-{encode(self.chunk.chunk)}"
        if self.chunk.generation > 1:
            chunk += f"~.{self.chunk.generation}"  # an encoded id never contains `~.`
        return f"{RUNS}/{encode(self.run)}/{encode(self.node)}/{chunk}/attempt-{self.number}"

    @property
    def manifest(self) -> str:
        return f"{self.folder}/{MANIFEST}"

    def part(self, index: int) -> str:
        return f"{self.folder}/part-{index:05}.parquet"

    def quarantine(self, index: int) -> str:
        return f"{self.folder}/quarantine-{index:05}.parquet"


def attempt_of(path: str) -> str | None:
    """Return the attempt's folder of a path below the table's root; None if it is in none."""
    parts = path.split("/")
    depth = RUNS.count("/") + 1 + _DEPTH_OF_ATTEMPT
    return "/".join(parts[:depth]) if len(parts) >= depth else None


def encode(name: str) -> str:
    """Encode an id as one part of a path; different ids stay different. Special characters become like `~2F`.

    `~` instead of `%`, because engines URL-encode the paths in a Delta log once more. Long ids are truncated and end
    in a digest.
    """
    if not name:
        raise ValueError("an empty id cannot name a folder")
    encoded = _ODD.sub(_escape, name)
    if len(encoded) <= _LONGEST_NAME:
        return encoded
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{encoded[:_PREFIX]}~~{digest}"


def parents(folder: str) -> tuple[str, ...]:
    """Return the parent folders, nearest first; the last is the table's root, as the empty text."""
    parts = folder.split("/")
    return tuple("/".join(parts[:length]) for length in range(len(parts) - 1, -1, -1))


# Delta ignores names that start with a dot or an underscore.
_ODD = re.compile(r"[^A-Za-z0-9._-]|^[._]")


def _escape(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))
