"""Extracts the core module from a WebAssembly component."""

from __future__ import annotations

from collections.abc import Iterator

_WRAPPED = b"\0asm\x0d\x00\x01\x00"
_MODULE, _COMPONENT = 1, 4
_HEAD, _MAX_DEPTH = 8, 10


def unwrapped(raw: bytes) -> bytes | None:
    """Return the only module in a file, which may be the file itself; None if there is none, or several to link."""
    if not raw.startswith(_WRAPPED):
        return raw
    modules = list(_modules(raw))
    return modules[0] if len(modules) == 1 else None


def _modules(component: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield every module of a component and of its nested components, of which many contain only types."""
    for kind, content in _sections(component):
        if kind == _MODULE:
            yield content
        elif kind == _COMPONENT and depth < _MAX_DEPTH:
            yield from _modules(content, depth + 1)


def _sections(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each section's kind and content. The last may be truncated; Wasmtime reports that."""
    at = _HEAD
    while at < len(raw):
        kind, size, at = raw[at], 0, at + 1
        for shift in range(0, 35, 7):
            byte, at = raw[at : at + 1], at + 1
            size |= (byte[0] & 0x7F if byte else 0) << shift
            if not byte or byte[0] < 0x80:
                break
        yield kind, raw[at : at + size]
        at += size
