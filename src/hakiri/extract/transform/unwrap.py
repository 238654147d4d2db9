"""A component's file is the module that does the work, or that module in the wrapping of the component model."""

from __future__ import annotations

from collections.abc import Iterator

_WRAPPED = b"\0asm\x0d\x00\x01\x00"
_MODULE, _COMPONENT = 1, 4
_HEAD, _MAX_DEPTH = 8, 10


def unwrapped(raw: bytes) -> bytes | None:
    """The one module that a file is, or wraps; None where it wraps none, or several that have to be put together."""
    if not raw.startswith(_WRAPPED):
        return raw
    modules = list(_modules(raw))
    return modules[0] if len(modules) == 1 else None


def _modules(component: bytes, depth: int = 0) -> Iterator[bytes]:
    """Every module of a component and of those inside it; inside there are often some that only name types."""
    for kind, content in _sections(component):
        if kind == _MODULE:
            yield content
        elif kind == _COMPONENT and depth < _MAX_DEPTH:
            yield from _modules(content, depth + 1)


def _sections(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Each section's kind and content; the last may be cut off, as Wasmtime will tell."""
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
