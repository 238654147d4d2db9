"""Splits a stream of bytes into numbered lines with bounded memory, however long a line is."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from hakiri.extract.connectors.files.file_version import Front

CHUNK_BYTES = 1 << 20
SHOWN_BYTES = 1 << 16
BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line without its line feed; only the beginning if it is too long."""

    number: int
    text: bytes
    is_cut: bool = False


def lines(stream: Front, encoding: str, max_line_bytes: int) -> Iterator[Line]:
    """Yield the lines of a stream as UTF-8, numbered from 1, without a byte order mark.

    A line ends at a line feed or at the end of the file; if the file has grown, an unfinished last line is left out.
    """
    number, carry = 1, b""
    skipping: bytes | None = None  # the beginning of a line that is too long, while its rest is skipped
    for chunk in _decoded(stream, encoding):
        *whole, carry = (carry + chunk).split(b"\n")
        if skipping is not None and whole:
            yield Line(number, skipping, is_cut=True)
            skipping, number, whole = None, number + 1, whole[1:]
        for text in whole:
            yield _line(number, text, max_line_bytes)
            number += 1
        if skipping is not None:
            carry = b""
        elif len(carry) > max_line_bytes:
            skipping, carry = carry[:SHOWN_BYTES], b""
    if (skipping is None and not carry) or stream.goes_on():
        return
    if skipping is not None:
        yield Line(number, skipping, is_cut=True)
    else:
        yield _line(number, carry, max_line_bytes)


def _line(number: int, text: bytes, max_line_bytes: int) -> Line:
    if len(text) > max_line_bytes:
        return Line(number, text[:SHOWN_BYTES], is_cut=True)
    return Line(number, text)


def _decoded(stream: Front, encoding: str) -> Iterator[bytes]:
    """Convert the stream to UTF-8. Invalid bytes are kept, so that they are reported with their line."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)(_KEPT)
    is_first = True
    while chunk := stream.read(CHUNK_BYTES):
        if decoder:
            chunk = decoder.decode(chunk).encode("utf-8", "surrogateescape")
        yield chunk.removeprefix(BOM) if is_first else chunk
        is_first = False
    if decoder and decoder.getstate()[0] and not stream.goes_on():
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")


def _keep(fault: UnicodeError) -> tuple[str, int]:
    """Keep bytes that are invalid in the encoding, as something that is invalid in UTF-8 as well."""
    try:
        kept, end = codecs.lookup_error("surrogateescape")(fault)
    except UnicodeDecodeError as wide:  # for UTF-16 there are two bytes, more than the handler accepts
        return "\udcff", wide.end
    return str(kept), end


_KEPT = "hakiri.kept"
codecs.register_error(_KEPT, _keep)
