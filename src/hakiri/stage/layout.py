"""Every attempt has a folder of its own under the table's Delta root, and no id can name a place outside it.

    data/runs/<run>/<node>/chunk-<id>/attempt-<n>/part-00000.parquet         rows, where Delta can adopt them
                                                 /quarantine-00000.parquet   rows set aside
                                                 /_manifest.json             written last

A name with a leading underscore is invisible to Spark and Delta: no reader and no VACUUM ever meets it. Rows have none,
also those set aside: Spark has to read them to land them.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from hakiri.model.chunk import ChunkKey

RUNS = "data/runs"
MANIFEST = "_manifest.json"

_LONGEST_NAME = 120  # file systems end at 255 bytes, paths of some object stores at 1024
_PREFIX = 64
_DEPTH_OF_ATTEMPT = 4  # run, node, chunk, attempt


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one node at one chunk."""

    run: str
    node: str
    chunk: ChunkKey
    number: int

    @property
    def folder(self) -> str:
        """The attempt's own folder, relative to the table's Delta root. Different attempts have different folders."""
        if self.number < 1:
            raise ValueError("attempts are counted from 1")
        chunk = f"chunk-{encode(self.chunk.chunk)}"
        if self.chunk.generation > 1:
            chunk += f"~.{self.chunk.generation}"  # an encoded id never holds `~.`
        return f"{RUNS}/{encode(self.run)}/{encode(self.node)}/{chunk}/attempt-{self.number}"

    @property
    def manifest(self) -> str:
        return f"{self.folder}/{MANIFEST}"

    def part(self, index: int) -> str:
        return f"{self.folder}/part-{index:05}.parquet"

    def quarantine(self, index: int) -> str:
        return f"{self.folder}/quarantine-{index:05}.parquet"


def attempt_of(path: str) -> str | None:
    """The attempt's folder that a path below the table's root is, or lies in; None above all attempts."""
    parts = path.split("/")
    depth = RUNS.count("/") + 1 + _DEPTH_OF_ATTEMPT
    return "/".join(parts[:depth]) if len(parts) >= depth else None


def encode(name: str) -> str:
    """The id as one name of a path, different for different ids; what is not a plain character becomes `~2F`.

    `~` and not `%`, because the paths in a Delta log are URL-encoded once more by each engine. Long ids keep their
    head and end in a digest.
    """
    if not name:
        raise ValueError("an empty id cannot name a folder")
    encoded = _ODD.sub(_escape, name)
    if len(encoded) <= _LONGEST_NAME:
        return encoded
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{encoded[:_PREFIX]}~~{digest}"


def parents(folder: str) -> tuple[str, ...]:
    """The folders that hold this one, the nearest first; the last is the table's root, written as the empty text."""
    parts = folder.split("/")
    return tuple("/".join(parts[:length]) for length in range(len(parts) - 1, -1, -1))


# A name that starts with a dot or an underscore would be hidden from Delta.
_ODD = re.compile(r"[^A-Za-z0-9._-]|^[._]")


def _escape(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))
