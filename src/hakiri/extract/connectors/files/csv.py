"""Parses CSV: every record becomes either a row, or a fault with its line (G6)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv

from hakiri.extract.connectors.files.lines import BOM, Line

BLOCK_BYTES = 4 << 20


class Record(NamedTuple):
    """The lines of one record, the number of the first, and a fault if it is no valid row."""

    line: int
    text: bytes
    fault: str | None = None


@dataclass(frozen=True)
class CsvDialect:
    """The delimiter and quotes of a CSV file."""

    delimiter: str
    quote: str
    null_values: tuple[str, ...]
    max_record_bytes: int

    @cached_property
    def whole(self) -> re.Pattern[bytes]:
        """Match a line with all quotes closed. Possessive, so that no line causes backtracking."""
        return re.compile(rb"(?:%b(?:%b|\Z))*+" % (self._field, self._delimiter))

    @cached_property
    def closing(self) -> re.Pattern[bytes]:
        """Match a line that closes the open quote, and every other quote it opens."""
        return re.compile(
            rb"%b(?:%b|\Z)(?:%b(?:%b|\Z))*+" % (self._rest, self._delimiter, self._field, self._delimiter)
        )

    def width(self, text: bytes) -> int:
        """Count the fields of a record."""
        return 1 + sum(found[1] is not None for found in self._fields.finditer(text))

    @cached_property
    def one_line(self) -> re.Pattern[bytes]:
        """Match a record without a carriage return outside quotes, except at its end."""
        field = self._field_of(rb"[^%b\r]" % self._delimiter)
        return re.compile(rb"(?:%b(?:%b|\r?\Z))*+" % (field, self._delimiter))

    @cached_property
    def _fields(self) -> re.Pattern[bytes]:
        return re.compile(rb"%b(?:(%b)|\Z)" % (self._field, self._delimiter))

    @cached_property
    def _delimiter(self) -> bytes:
        return re.escape(self.delimiter.encode())

    @cached_property
    def _rest(self) -> bytes:
        return self._rest_of(rb"[^%b]" % self._delimiter)

    @cached_property
    def _field(self) -> bytes:
        return self._field_of(rb"[^%b]" % self._delimiter)

    def _rest_of(self, outside: bytes) -> bytes:
        """Return the pattern for the rest of a quoted field, up to the next delimiter."""
        quote = re.escape(self.quote.encode())
        return rb"(?:[^%b]++|%b%b)*+%b%b*+" % (quote, quote, quote, quote, outside)

    def _field_of(self, outside: bytes) -> bytes:
        """Return the pattern of a field; `outside` is what it may contain outside quotes."""
        quote = re.escape(self.quote.encode())
        return rb"(?:%b%b|(?!%b)%b%b*+)?+" % (quote, self._rest_of(outside), quote, outside, outside)


class Parsed(NamedTuple):
    """Rows as columns of bytes, the line of each row, and the records that are no rows."""

    columns: list[pa.Array]
    lines: list[int]
    faults: list[Record]


def records(found: Iterable[Line], dialect: CsvDialect) -> Iterator[Record]:
    """Group lines into records. A quote that is never closed makes its line a fault, not the rest of the file.

    Each line is examined at most twice: as the first of a record, and as one that may close an open quote.
    """
    rest, ahead = iter(found), deque[Line]()
    quote = dialect.quote.encode()
    size = 0  # of the following lines that do not close the open quote
    while line := ahead.popleft() if ahead else next(rest, None):
        size -= len(line.text) if size else 0
        if quote not in line.text or _ends(line, dialect, is_open=False):
            yield Record(line.number, line.text, _TOO_LONG if line.is_cut else None)
            continue
        is_closed = False
        while not is_closed and size + len(line.text) <= dialect.max_record_bytes and (more := next(rest, None)):
            is_closed = _ends(more, dialect, is_open=True)
            ahead.append(more)
            size += len(more.text)
        if is_closed:
            yield _record([line, *ahead])
            ahead, size = deque(), 0
        else:
            yield Record(line.number, line.text, "opens a quote that is not closed")


def blocks(found: Iterable[Record]) -> Iterator[list[Record]]:
    """Group records into blocks that are parsed together."""
    block: list[Record] = []
    size = 0
    for record in found:
        block.append(record)
        size += len(record.text)
        if size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def parse(block: list[Record], width: int, dialect: CsvDialect) -> Parsed:
    """Parse the records to rows of `width` fields, and return those that are no rows as faults."""
    judged = [_require_one_line(record, dialect) for record in block]
    whole = [record for record in judged if record.fault is None and not (width != 1 and _is_blank(record))]
    faults = [record for record in judged if record.fault]
    columns = _parse(whole, width, dialect)
    if columns is None:
        judged = [_require_width(record, width, dialect) for record in whole]
        whole = [record for record in judged if record.fault is None]
        faults += [record for record in judged if record.fault]
        columns = _parse(whole, width, dialect)
    if columns is None:
        return _halved(whole, width, dialect, faults)
    return Parsed(columns, [record.line for record in whole], sorted(faults))


def _halved(whole: list[Record], width: int, dialect: CsvDialect, faults: list[Record]) -> Parsed:
    """Isolate records that Arrow parses differently, by halving groups whose rows do not add up."""
    pieces: list[list[pa.Array]] = [_none(width)]
    lines: list[int] = []
    halves = [whole]
    while halves:
        some = halves.pop()
        if columns := _parse(some, width, dialect):
            pieces.append(columns)
            lines += [record.line for record in some]
        elif len(some) == 1:
            faults.append(some[0]._replace(fault="is not CSV"))
        else:
            middle = len(some) // 2
            halves += [some[middle:], some[:middle]]
    return Parsed([pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)], lines, sorted(faults))


def _none(width: int) -> list[pa.Array]:
    return [pa.array([], pa.binary())] * width


def _ends(line: Line, dialect: CsvDialect, *, is_open: bool) -> bool:
    pattern = dialect.closing if is_open else dialect.whole
    return line.is_cut or pattern.fullmatch(line.text.removesuffix(b"\r")) is not None


def _record(waiting: list[Line]) -> Record:
    text = b"\n".join(line.text for line in waiting)
    return Record(waiting[0].number, text, _TOO_LONG if waiting[-1].is_cut else None)


_TOO_LONG = "is longer than a line may be"


def _is_blank(record: Record) -> bool:
    return record.text in (b"", b"\r")


def _parse(some: list[Record], width: int, dialect: CsvDialect) -> list[pa.Array] | None:
    """Parse the fields of the records; None unless each is one row of the right width."""
    if not some:
        return _none(width)
    names = [str(index) for index in range(width)]
    # Arrow drops one byte order mark; the file's own is gone already, and any other is data.
    data = BOM + b"\n".join(record.text for record in some) + b"\n"
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote,
                newlines_in_values=True,
                ignore_empty_lines=False,
            ),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.binary()),
                null_values=dialect.null_values,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(some):
        return None
    return [column.combine_chunks() for column in table.columns]


def _require_one_line(record: Record, dialect: CsvDialect) -> Record:
    """Mark a record as faulty if it has a carriage return at which Arrow would begin another row."""
    if record.fault or record.text.find(b"\r", 0, -1) < 0 or dialect.one_line.fullmatch(record.text):
        return record
    return record._replace(fault="has a carriage return outside quotes")


def _require_width(record: Record, width: int, dialect: CsvDialect) -> Record:
    fields = dialect.width(record.text)
    if fields == width:
        return record
    return record._replace(fault=f"has {fields} field{'s' if fields > 1 else ''} where {width} are due")
