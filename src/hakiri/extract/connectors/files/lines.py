"""A stream of bytes is cut into numbered lines, however long one of them is, with bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from hakiri.extract.connectors.files.file_version import Front

CHUNK_BYTES = 1 << 20
SHOWN_BYTES = 1 << 16
BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line without its end; of one that is too long, the beginning."""

    number: int
    text: bytes
    is_cut: bool = False


def lines(stream: Front, encoding: str, max_line_bytes: int) -> Iterator[Line]:
    """The lines of a stream as UTF-8, from 1, without a byte order mark.

    A line ends at a line feed or at the end of the file; where the file goes on, what is left there is no line yet.
    """
    number, carry = 1, b""
    skipping: bytes | None = None  # the beginning of a line that is too long, while its rest goes by
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
    """The stream in UTF-8. Bytes that are not of the encoding stay what they are, to be judged where they stand."""
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
    """Bytes that are not of the encoding as what becomes no UTF-8 either."""
    try:
        kept, end = codecs.lookup_error("surrogateescape")(fault)
    except UnicodeDecodeError as wide:  # two bytes at once, of UTF-16, are more than it takes
        return "\udcff", wide.end
    return str(kept), end


_KEPT = "hakiri.kept"
codecs.register_error(_KEPT, _keep)
