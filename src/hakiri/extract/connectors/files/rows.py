"""Reads rows of CSV, JSON lines and Parquet as typed batches, and the rest as faults with their line (G6)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from hakiri.extract.connectors.files import FilesConfig
from hakiri.extract.connectors.files.csv import CsvDialect, Record, blocks, parse, records
from hakiri.extract.connectors.files.file_version import Front
from hakiri.extract.connectors.files.jsonl import Entry, entries
from hakiri.extract.connectors.files.lines import lines
from hakiri.extract.connectors.files.parquet import batches, lakehouse_type, open_parquet
from hakiri.extract.connectors.files.spelling import Spellings, can_be_told_apart
from hakiri.extract.connectors.files.store import NAME
from hakiri.extract.connectors.fit_values import Fitted, fit_array, fit_values, json_text
from hakiri.extract.connectors.infer import grown_by, settled, type_of_texts, type_of_values
from hakiri.extract.connectors.quarantine import BatchKind, Fault, add_places, fault_batch, wants_places
from hakiri.extract.errors import BadValue, NoColumnFound
from hakiri.model.columns.names import is_reserved, two_spellings, why_unnameable
from hakiri.model.types.growth import grown


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to read from a file; with `or_more`, also any additional columns and members."""

    fields: pa.Schema
    or_more: bool
    origin: str
    table: str
    asked: tuple[str, ...] = ()
    """The columns that the manifest names. One that `fields` lacks had no value yet, and gets the type of its first."""

    def takes(self, name: str) -> bool:
        """Whether a column beyond `fields` is read."""
        return self.or_more or name in self.asked

    def require_one_of(self, names: Iterable[str]) -> None:
        """Raise NoColumnFound if the file has columns but none of the wanted ones."""
        header, known = tuple(names), self.asked or tuple(self.fields.names)
        if header and known and not set(header) & set(known):
            raise NoColumnFound(connector=NAME, table=self.table, file=self.origin, header=header, known=known)

    def require_names(self, fields: Iterable[pa.Field]) -> None:
        """Raise BadValue, naming the file, if no table can have these columns."""
        own = list(fields)
        reason = why_unnameable(own)
        if pair := two_spellings(own):
            reason = f"`{pair[0]}` and `{pair[1]}` differ in case alone, and to Delta they are the same"
        if reserved := [field.name for field in own if self.or_more and is_reserved(field.name)]:
            reason = f"`{reserved[0]}` is a column that Hakiri adds"
        if reason:
            advice = "rename the column in the file, or leave it out with `columns`"
            raise BadValue(connector=NAME, table=self.table, reason=reason, where=self.origin, advice=advice)


def csv_rows(stream: Front, config: FilesConfig, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file."""
    dialect = _dialect(config)
    found = records(lines(stream, config.encoding, config.max_line_bytes), dialect)
    names, found = _header(found, config, dialect, wanted)
    wanted.require_one_of(names)
    types = {field.name: field.type for field in wanted.fields}
    for block in blocks(found):
        columns, places, faults = parse(block, len(names), dialect)
        yield from _quarantined(wanted, ((one.line, one.fault or "", one.text) for one in faults))
        texts = {name: fit_array(column, pa.string()) for name, column in zip(names, columns, strict=True)}
        beyond = [name for name in names if name not in types and wanted.takes(name)]
        types |= {name: settled(type_of_texts(texts[name].array)) for name in beyond}
        if wanted.or_more:
            wanted.require_names(_fields(types))
        fitted = {name: _retyped(texts[name], kind) for name, kind in types.items() if name in texts}
        shown = {record.line: record.text for record in block} if _has_misfits(fitted) else {}
        for start in range(0, len(places), config.batch_rows):
            part = slice(start, start + config.batch_rows)
            yield from _batches(wanted, fitted, part, places, [shown.get(place, b"") for place in places[part]])


def jsonl_rows(stream: Front, config: FilesConfig, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a JSON lines file."""
    types = {field.name: field.type for field in wanted.fields}
    found = entries(lines(stream, config.encoding, config.max_line_bytes))
    strange: dict[str, None] | None = None if wanted.or_more else {}  # the keys seen, until a wanted one is found
    while block := _some(found, config.batch_rows):
        yield from _quarantined(wanted, ((one.line, one.fault, one.text) for one in block if one.fault))
        good = [one for one in block if one.fault is None]
        if strange is not None:
            strange |= dict.fromkeys(name for one in good for name in one.value)
            strange = None if strange.keys() & {*types, *wanted.asked} else strange
        for name in wanted.asked:
            if name not in types and any(name in one.value for one in good):
                types[name] = settled(type_of_values(one.value.get(name) for one in good))
        if wanted.or_more:
            good, refused, types = _well_named(good, types)
            yield from _quarantined(wanted, ((one.line, one.fault, one.text) for one in refused))
        if wanted.asked or not types:  # a row without columns cannot land; `{}` tells nothing about declared ones
            bare = [one for one in good if not (types and one.value)]
            yield from _quarantined(wanted, ((one.line, "is an object without members", one.text) for one in bare))
            good = [one for one in good if types and one.value]
        fitted = {name: fit_values([one.value.get(name) for one in good], kind) for name, kind in types.items()}
        places = [one.line for one in good]
        yield from _batches(wanted, fitted, slice(0, len(good)), places, [one.text for one in good])
    wanted.require_one_of(strange or ())


def _well_named(found: list[Entry], types: dict[str, pa.DataType]) -> tuple[list[Entry], list[Entry], dict[str, Any]]:
    """Return the entries with valid keys, those without, and the types extended by new keys of the former."""
    shown = _types_with(found, types)
    if can_be_told_apart(shown):
        return found, [], shown
    spellings = Spellings(types)
    judged = [one._replace(fault=spellings.refuse(one.value, shown)) for one in found]
    good = [one for one in judged if one.fault is None]
    return good, [one for one in judged if one.fault], _types_with(good, types)


def _types_with(found: list[Entry], types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    known = {name: grown_by(kind, (one.value.get(name) for one in found)) for name, kind in types.items()}
    names = dict.fromkeys(name for one in found for name in one.value if name not in types)
    return known | {name: settled(type_of_values(one.value.get(name) for one in found)) for name in names}


def parquet_rows(opened: Any, config: FilesConfig, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file."""
    types = {field.name: field.type for field in wanted.fields}
    own = open_parquet(opened).schema_arrow
    wanted.require_one_of(own.names)
    if wanted.or_more:
        types |= {field.name: _grown(types.get(field.name), lakehouse_type(field.type)) for field in own}
        wanted.require_names(_fields(types))
    types |= {one.name: lakehouse_type(one.type) for one in own if one.name in wanted.asked and one.name not in types}
    names = [name for name in types if name in own.names]
    row = 1
    for batch, cut in batches(opened, names, config.batch_rows):
        fitted = {name: _marked(fit_array(batch.column(name), types[name]), cut.get(name, ())) for name in names}
        raw = _shown_rows(batch) if _has_misfits(fitted) else []
        places = range(row, row + batch.num_rows)
        yield from _batches(wanted, fitted, slice(0, batch.num_rows), places, raw)
        row += batch.num_rows


def _marked(fitted: Fitted, cut: Iterable[int]) -> Fitted:
    reason = f"cannot be read as {fitted.array.type}"
    return Fitted(fitted.array, {**dict.fromkeys(cut, reason), **fitted.misfits})


def _shown_rows(batch: pa.RecordBatch) -> list[bytes]:
    """Write each row as JSON. Values that Python cannot represent, such as the year 20000, are written by Arrow."""
    columns = {name: _shown_values(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    return [json_text(dict(zip(columns, row, strict=True))).encode() for row in zip(*columns.values(), strict=True)]


def _shown_values(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ArithmeticError, ValueError):
        return [" ".join(column.slice(place, 1).to_string().split()) for place in range(len(column))]


def _grown(kind: pa.DataType | None, own: pa.DataType) -> pa.DataType:
    return own if kind is None else grown(kind, own)


def csv_schema(stream: Front, config: FilesConfig, wanted: Wanted, rows: int) -> pa.Schema:
    """Return the columns of a CSV file, with types inferred from its first rows."""
    dialect = _dialect(config)
    found = records(lines(stream, config.encoding, config.max_line_bytes), dialect)
    names, found = _header(found, config, dialect, wanted)
    sample = parse(list(islice(found, rows)), len(names), dialect)
    texts = [fit_array(column, pa.string()).array for column in sample.columns]
    return pa.schema([(name, type_of_texts(column)) for name, column in zip(names, texts, strict=True)])


def jsonl_schema(stream: Front, config: FilesConfig, rows: int) -> pa.Schema:
    """Return the keys of a JSON lines file, with types inferred from its first rows."""
    found = entries(lines(stream, config.encoding, config.max_line_bytes))
    good, _, _ = _well_named([one for one in islice(found, rows) if one.fault is None], {})
    names = dict.fromkeys(name for one in good for name in one.value)
    return pa.schema([(name, type_of_values(one.value.get(name) for one in good)) for name in names])


def parquet_schema(opened: Any, wanted: Wanted) -> pa.Schema:
    """Return the columns of a Parquet file."""
    found = pa.schema([(field.name, lakehouse_type(field.type)) for field in open_parquet(opened).schema_arrow])
    if wanted.or_more:
        wanted.require_names(found)
    return found


def _dialect(config: FilesConfig) -> CsvDialect:
    return CsvDialect(config.delimiter, config.quote, config.null_values, config.max_line_bytes)


def _header(
    found: Iterator[Record], config: FilesConfig, dialect: CsvDialect, wanted: Wanted
) -> tuple[list[str], Iterator[Record]]:
    """Return the names of a file's fields, and the records after the header."""
    passed: list[Record] = []
    for first in found:
        if first.text.strip() and (config.header or first.fault is None):
            fields = _fields_of(first, dialect, wanted.origin)
            break
        passed.append(first)
    else:
        return [], iter(passed)
    if not config.header:
        seen = [*passed, first, *islice(found, _WIDTH_LINES)]
        return _names_by_place(wanted, len(fields), seen, dialect), chain(seen, found)
    try:
        names = [(field or b"").decode() for field in fields]
    except UnicodeDecodeError as cause:
        raise BadValue(connector=NAME, reason="its header is not UTF-8", where=wanted.origin) from cause
    if len(set(names)) < len(names) or "" in names:
        raise BadValue(connector=NAME, reason="its header does not name each column once", where=wanted.origin)
    if wanted.or_more:
        wanted.require_names(pa.field(name, pa.string()) for name in names)
    return names, found


def _fields(types: dict[str, pa.DataType]) -> list[pa.Field]:
    return [pa.field(name, kind) for name, kind in types.items()]


def _names_by_place(wanted: Wanted, width: int, seen: Iterable[Record], dialect: CsvDialect) -> list[str]:
    """Return the field names of a file without a header; its lines of another width are quarantined.

    Where no columns are declared, a file has as many as most of its first lines. Other files may have more or fewer,
    but one with a single field has another delimiter.
    """
    if not all(map(_NUMBERED.fullmatch, wanted.asked)):
        return list(wanted.asked)
    due = max((int(found[1]) for name in wanted.fields.names if (found := _NUMBERED.fullmatch(name))), default=0)
    if not wanted.or_more:
        return _numbered(max(width, due))
    usual = _usual_width(seen, dialect, due) or width
    return _numbered(due if usual == 1 and due else usual)


_WIDTH_LINES = 100
_NUMBERED = re.compile("column_([1-9][0-9]{0,4})")


def _numbered(width: int) -> list[str]:
    return [f"column_{index + 1}" for index in range(width)]


def _usual_width(found: Iterable[Record], dialect: CsvDialect, due: int) -> int:
    """Return the number of fields that most of these lines have, the due one where several are as usual."""
    widths = Counter(dialect.width(one.text) for one in found if one.fault is None and one.text.strip())
    return max(widths, key=lambda width: (widths[width], width == due), default=0)


def _fields_of(first: Record, dialect: CsvDialect, origin: str) -> list[bytes | None]:
    if first.fault:
        raise BadValue(connector=NAME, reason=f"its first line {first.fault}", where=origin)
    columns, found, _ = parse([first], dialect.width(first.text), dialect)
    if not found:
        raise BadValue(connector=NAME, reason="its first line is no CSV", where=origin)
    return [column[0].as_py() for column in columns]


def _some(found: Iterator[Entry], rows: int) -> list[Entry]:
    block: list[Entry] = []
    size = 0
    for entry in islice(found, rows):
        block.append(entry)
        size += len(entry.text)
        if size >= _BLOCK_BYTES:
            break
    return block


_BLOCK_BYTES = 8 << 20


def _retyped(texts: Fitted, kind: pa.DataType) -> Fitted:
    fitted = fit_array(texts.array, kind)
    return Fitted(fitted.array, {**fitted.misfits, **texts.misfits})


def _has_misfits(fitted: dict[str, Fitted]) -> bool:
    return any(column.misfits for column in fitted.values())


def _batches(
    wanted: Wanted, fitted: dict[str, Fitted], part: slice, places: Sequence[int], raw: Sequence[bytes]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of fitted columns: those that fit as a batch, the others as quarantined rows."""
    some = range(len(places))[part]
    bad: dict[int, tuple[str, str]] = {}
    for name, column in fitted.items():
        for index, reason in column.misfits.items():
            if index in some:
                bad.setdefault(index, (name, reason))
    if bad:
        faults = (
            Fault(
                origin=wanted.origin,
                position=places[index],
                reason=bad[index][1],
                column=bad[index][0],
                raw=_shown(raw[index - some.start]),
            )
            for index in sorted(bad)
        )
        yield fault_batch(BatchKind.QUARANTINED, faults)
    kinds = {field.name: field.type for field in wanted.fields} | {name: one.array.type for name, one in fitted.items()}
    arrays = [fitted[name].array[part] if name in fitted else pa.nulls(len(some), kind) for name, kind in kinds.items()]
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(kinds.items())))
    if wants_places(wanted.fields):
        batch = add_places(batch, wanted.origin, places[part])
    if bad:
        batch = batch.filter(pa.array([index not in bad for index in some], pa.bool_()))
    if batch.num_rows:
        yield batch


def _quarantined(wanted: Wanted, found: Iterable[tuple[int, str | None, bytes]]) -> Iterator[pa.RecordBatch]:
    faults = [
        Fault(origin=wanted.origin, position=line, reason=reason or "", raw=_shown(text))
        for line, reason, text in found
    ]
    if faults:
        yield fault_batch(BatchKind.QUARANTINED, faults)


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
