"""Every record of a CSV file becomes a row, or a fault with its line: the two always add up to the records (G6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv

from hakiri.extract.connectors.files.lines import BOM, Line

BLOCK_BYTES = 4 << 20


class Record(NamedTuple):
    """The lines of one row, and the number of the first; a reason where they are none."""

    line: int
    text: bytes
    fault: str | None = None


@dataclass(frozen=True)
class CsvDialect:
    """How fields are told apart."""

    delimiter: str
    quote: str
    null_values: tuple[str, ...]
    max_record_bytes: int

    @cached_property
    def whole(self) -> re.Pattern[bytes]:
        """Matches a line all of whose quotes are closed. Possessive, so a hostile line costs no more than another."""
        return re.compile(rb"(?:%b(?:%b|\Z))*+" % (self._field, self._delimiter))

    @cached_property
    def closing(self) -> re.Pattern[bytes]:
        """Matches the line on which an open quote is closed, and all others on it."""
        return re.compile(
            rb"%b(?:%b|\Z)(?:%b(?:%b|\Z))*+" % (self._rest, self._delimiter, self._field, self._delimiter)
        )

    def width(self, text: bytes) -> int:
        """How many fields a record has."""
        delimiters = re.finditer(rb"%b(?:(%b)|\Z)" % (self._field, self._delimiter), text)
        return 1 + sum(found[1] is not None for found in delimiters)

    @cached_property
    def _delimiter(self) -> bytes:
        return re.escape(self.delimiter.encode())

    @cached_property
    def _rest(self) -> bytes:
        """What is left of a quoted field, and what stands between its end and the next delimiter."""
        quote = re.escape(self.quote.encode())
        return rb"(?:[^%b]++|%b%b)*+%b[^%b]*+" % (quote, quote, quote, quote, self._delimiter)

    @cached_property
    def _field(self) -> bytes:
        quote = re.escape(self.quote.encode())
        return rb"(?:%b%b|[^%b%b][^%b]*+)?+" % (quote, self._rest, quote, self._delimiter, self._delimiter)


class Parsed(NamedTuple):
    """The rows of some records as columns of bytes, the line of each row, and the records that are no rows."""

    columns: list[pa.Array]
    lines: list[int]
    faults: list[Record]


def records(found: Iterable[Line], dialect: CsvDialect) -> Iterator[Record]:
    """The records of a file's lines. A quote that is never closed costs the line it stands on, not the file."""
    waiting: list[Line] = []
    size = 0
    for line in found:
        if not waiting and dialect.quote.encode() not in line.text and not line.is_cut:
            yield Record(line.number, line.text)
            continue
        is_end = _ends(line, dialect, is_open=bool(waiting))
        waiting.append(line)
        size += len(line.text)
        if is_end:
            yield _record(waiting)
        elif size > dialect.max_record_bytes:
            yield from _unclosed(waiting, dialect)
        else:
            continue
        waiting, size = [], 0
    if waiting:
        yield from _unclosed(waiting, dialect)


def blocks(found: Iterable[Record]) -> Iterator[list[Record]]:
    """The records in groups that are read in one go."""
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
    """The records as rows of so many fields. A group that does not add up is halved until the culprit stands alone."""
    whole = [record for record in block if record.fault is None and not (width > 1 and _is_blank(record))]
    faults = [record for record in block if record.fault]
    pieces: list[list[pa.Array]] = []
    lines: list[int] = []
    halves = [whole] if whole else []
    while halves:
        some = halves.pop()
        if columns := _parse(some, width, dialect):
            pieces.append(columns)
            lines += [record.line for record in some]
        elif len(some) == 1:
            faults.append(some[0]._replace(fault=_reason(some[0], width, dialect)))
        else:
            middle = len(some) // 2
            halves += [some[middle:], some[:middle]]
    columns = [pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)] or [pa.array([], pa.binary())] * width
    return Parsed(columns, lines, sorted(faults))


def _ends(line: Line, dialect: CsvDialect, *, is_open: bool) -> bool:
    pattern = dialect.closing if is_open else dialect.whole
    return line.is_cut or pattern.fullmatch(line.text.removesuffix(b"\r")) is not None


def _record(waiting: list[Line]) -> Record:
    text = b"\n".join(line.text for line in waiting)
    fault = "is longer than a line may be" if waiting[-1].is_cut else None
    return Record(waiting[0].number, text, fault)


def _unclosed(waiting: list[Line], dialect: CsvDialect) -> Iterator[Record]:
    yield Record(waiting[0].number, waiting[0].text, "opens a quote that is not closed")
    yield from records(waiting[1:], dialect)


def _is_blank(record: Record) -> bool:
    return record.text in (b"", b"\r")


def _parse(some: list[Record], width: int, dialect: CsvDialect) -> list[pa.Array] | None:
    """The fields of the records, or None unless each is one row of the right width."""
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


def _reason(record: Record, width: int, dialect: CsvDialect) -> str:
    if b"\r" in record.text.removesuffix(b"\r"):
        return "has a carriage return outside quotes"
    fields = dialect.width(record.text)
    return f"has {fields} field{'s' if fields > 1 else ''} where {width} are due"
