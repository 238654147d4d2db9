"""A snapshot names only files that are durable and are what it says they are."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal, Protocol

from hakiri.errors import SidecarUnfit
from hakiri.model.durable import sync
from hakiri.model.ledger import Sidecar

_BLOCK = 1 << 20


class Sidecars(Protocol):
    """Where sidecar manifests lie."""

    def require(self, sidecar: Sidecar) -> None:
        """Return when the file is durable, whole and unchanged. Raises SidecarUnfit. A repeat looks again."""
        ...


class LocalSidecars:
    """Sidecars in a folder, or in a volume that is mounted as one."""

    def __init__(self, root: Path = Path()) -> None:
        self._root = root

    def require(self, sidecar: Sidecar) -> None:
        path = self._root / sidecar.path
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size != sidecar.size:
                    raise _unfit(sidecar, "wrong size")
                digest = hashlib.sha256()
                while block := file.read(_BLOCK):
                    digest.update(block)
                if digest.hexdigest() != sidecar.sha256:
                    raise _unfit(sidecar, "wrong content")
            sync(path)
            sync(path.parent)
        except FileNotFoundError as cause:
            raise _unfit(sidecar, "missing") from cause


def _unfit(sidecar: Sidecar, problem: Literal["missing", "wrong size", "wrong content"]) -> SidecarUnfit:
    return SidecarUnfit(path=sidecar.path, problem=problem)
