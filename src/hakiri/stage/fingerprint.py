"""Computes the digest of a file while it is written, so that it need not be read again."""

from __future__ import annotations

import hashlib
import io
from typing import Any, BinaryIO

_BLOCK = 1 << 20


class FingerprintedSink(io.RawIOBase):
    """A file that counts and hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.bytes = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.bytes

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._digest.update(data)
        size = memoryview(data).nbytes
        self.bytes += size
        return size

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            super().close()


def read_fingerprint(file: BinaryIO) -> tuple[int, str]:
    """Return the size and the SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    size = 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()
