"""What is on the disk is known to be, files and the folders that name them alike."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Return when the file's content, or the folder's list of names, survives a power cut. A repeat is harmless."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
