"""Checks the files of a snapshot (sidecars) before it is committed: durable, complete and unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from hakiri.catalog.errors import SidecarUnfit
from hakiri.model.durable import sync
from hakiri.model.ledger import Sidecar

_BLOCK = 1 << 20


class Sidecars(Protocol):
    """The storage of sidecar manifests."""

    def require(self, sidecar: Sidecar) -> None:
        """Check that the file is durable, complete and unchanged. Raises SidecarUnfit. A repeat checks again."""
        ...


class LocalSidecars:
    """Sidecars in a folder or a mounted volume."""

    def __init__(self, root: Path = Path()) -> None:
        self._root = root

    def require(self, sidecar: Sidecar) -> None:
        path = self._root / sidecar.path
        _require(sidecar, lambda: path.open("rb"))
        sync(path)
        sync(path.parent)


class StoredSidecars:
    """Sidecars in an object store, where every visible object is durable."""

    def __init__(self, open_file: Callable[[str], BinaryIO]) -> None:
        self._open = open_file

    def require(self, sidecar: Sidecar) -> None:
        _require(sidecar, lambda: self._open(sidecar.path))


def _require(sidecar: Sidecar, open_file: Callable[[], BinaryIO]) -> None:
    size, digest = 0, hashlib.sha256()
    try:
        with open_file() as file:
            while block := file.read(_BLOCK):
                size += len(block)
                digest.update(block)
    except FileNotFoundError as cause:
        raise _unfit(sidecar, "missing") from cause
    if size != sidecar.size:
        raise _unfit(sidecar, "wrong size")
    if digest.hexdigest() != sidecar.sha256:
        raise _unfit(sidecar, "wrong content")


def _unfit(sidecar: Sidecar, problem: Literal["missing", "wrong size", "wrong content"]) -> SidecarUnfit:
    return SidecarUnfit(path=sidecar.path, problem=problem)
