"""Gives the wheel's Java the certificate authorities that Python trusts, including a company's own."""

from __future__ import annotations

import ssl
import struct
from hashlib import sha1, sha256


def trust_store() -> bytes | None:
    """Build a Java key store of the certificate authorities that Python trusts; None if there are none.

    Deterministic.
    """
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    return _key_store(sorted(authorities)) if authorities else None


# The layout of Java's `JKS` files. Java reads certificates without a password, so this one protects nothing.
_MAGIC, _VERSION, _CERTIFICATE, _PASSWORD = 0xFEEDFEED, 2, 2, "changeit"


def _key_store(certificates: list[bytes]) -> bytes:
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates)) + b"".join(_entry(der) for der in certificates)
    checksum = sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False)
    return body + checksum.digest()


def _entry(der: bytes) -> bytes:
    alias, added = _text(sha256(der).hexdigest()), struct.pack(">q", 0)
    return struct.pack(">I", _CERTIFICATE) + alias + added + _text("X.509") + struct.pack(">I", len(der)) + der


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()
