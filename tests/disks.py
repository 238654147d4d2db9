"""Disks so small that they can be filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_FILLER = "filler"


@dataclass(frozen=True)
class SmallDisk:
    """A file system in memory, of a size that tests choose."""

    folder: Path

    def fill(self) -> None:
        """Leave room for nothing."""
        with suppress(OSError), (self.folder / _FILLER).open("ab", buffering=0) as filler:
            while True:
                os.write(filler.fileno(), bytes(4096))

    def grow(self, mib: int) -> None:
        """Make room, as a person would."""
        (self.folder / _FILLER).unlink(missing_ok=True)
        _run("mount", "-o", f"remount,size={mib}m", str(self.folder))


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[SmallDisk]:
    """A disk mounted at this folder, gone at the end. Needs the right to mount, which root has."""
    folder.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={mib}m", "hakiri-test", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
