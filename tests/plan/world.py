"""A source of rows as plain values, surveyed and read as a connector would, and facts about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus, Gone, Seal, TableKey
from hakiri.model.cursor import StoredCursor, to_text
from hakiri.model.key import Key, KeyValue
from hakiri.model.ledger import Cursor, Phase
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import KeyRange, Partition, Span, WholeTable, cut
from hakiri.model.types import LONG, STRING
from hakiri.model.types.text import parse_type
from hakiri.plan.facts import ColumnFact, PipelineFacts, TableFacts
from hakiri.plan.reading import Reading, from_json
from hakiri.plan.rounds import History
from hakiri.spec.pipeline import PipelineSpec

UNTIMED = settings(deadline=None)  # a busy machine is no failure
NOW = datetime(2026, 5, 1, tzinfo=UTC)
HINT = BackfillHint(cursor_kind=CursorKind.MONOTONIC, safe_parallelism=4)

CURSORS: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-5, 5) | st.integers(),
    "timestamp": st.datetimes(
        datetime(2025, 12, 1), datetime(2026, 2, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11))])
    ),
    "timestamp_ntz": st.datetimes(min_value=datetime(2025, 12, 1), max_value=datetime(2026, 2, 1)),
    "date": st.dates(date(2025, 1, 1), date(2026, 2, 1)),
    "decimal(20,4)": st.decimals(-1000, 1000, places=4) | st.sampled_from([Decimal("1.5"), Decimal("1.50")]),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=3),
}
TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True)
class Row:
    """A row: its key, what it is found by when it changes, and the partition it lies in."""

    id: int
    cursor: KeyValue | None
    part: str = ""


def rows_of(values: Iterable[KeyValue | None], parts: str = "") -> list[Row]:
    return [Row(number, value, parts[number % len(parts)] if parts else "") for number, value in enumerate(values)]


def survey_of(rows: Sequence[Row], *, since: Any = None, every: int = 3, by: str = "cursor", weight: int = 1) -> Survey:
    """A counted survey: pieces of so many values, tied ones together, rows without a value in the first piece.

    A weight makes each row count for many, so that few rows make many chunks.
    """
    keys: list[Key] = sorted({_key(row, by) for row in rows if _key(row, by)[0] is not None})  # type: ignore[type-var]
    spans = cut((by,), keys[every::every], with_nulls=True)
    cursors: list[Any] = [row.cursor for row in rows if row.cursor is not None]
    pieces = [Piece(span, weight * len(read(rows, Reading(span, since))), 100) for span in spans]
    return Survey(tuple(pieces), min(cursors, default=None), max(cursors, default=None), is_exact=True)


def partitioned(rows: Sequence[Row], *, weight: int = 1) -> Survey:
    whole = survey_of(rows)
    pieces = [
        Piece(Partition((("part", name),), piece.span), piece.rows, piece.bytes)
        for name in sorted({row.part for row in rows})
        for piece in survey_of([row for row in rows if row.part == name], weight=weight).pieces
        if isinstance(piece.span, KeyRange)
    ]
    return Survey(tuple(pieces), whole.low, whole.high, is_exact=True)


def read(rows: Iterable[Row], reading: Reading) -> list[Row]:
    """The rows of a reading, as the connector's contract has them."""
    since: Any = reading.since
    return [
        row
        for row in rows
        if _holds(reading.span, row) and (since is None or row.cursor is None or row.cursor >= since)
    ]


def chunk_rows(rows: Iterable[Row], chunk: Chunk) -> list[Row]:
    return read(rows, from_json(chunk.predicate))


def spec_of(**parts: Any) -> PipelineSpec:
    plain = {"id": "shop", "source": {"connector": "sqlite"}, "tables": ["orders"], "incremental": "cursor"}
    return PipelineSpec.model_validate({**plain, **parts})


def facts_of(
    spec: PipelineSpec | None = None,
    *,
    kind: str = "bigint",
    hint: BackfillHint = HINT,
    phase: Phase | None = None,
    known: Iterable[ChunkState] = (),
    landed: frozenset[ChunkKey] = frozenset(),
    **table: Any,
) -> PipelineFacts:
    """Facts about one pipeline with one table of an id, a cursor of this type and a partition."""
    spec = spec or spec_of()
    columns = (ColumnFact("id", LONG), ColumnFact("cursor", parse_type(kind)), ColumnFact("part", STRING))
    facts = TableFacts(
        **{"spec": spec.tables[0], "columns": columns, "produced": columns, "primary_key": ("id",), **table},
        history=History.of(known, landed),
    )
    return PipelineFacts(spec=spec, hint=hint, tables=(facts,), phase=phase)


def stored(value: KeyValue, landing: int = 1) -> Cursor:
    return Cursor(TableKey("shop", "orders"), to_text(StoredCursor(value)), landing, NOW)


def state_of(
    chunk: Chunk,
    status: ChunkStatus = ChunkStatus.PENDING,
    *,
    rows: int = 0,
    cursor: str = "",
    gone: Gone | None = None,
) -> ChunkState:
    is_done = status is ChunkStatus.DONE
    return ChunkState(
        chunk=chunk,
        status=status,
        attempt=1,
        fence=1,
        failures=0,
        holder="",
        leased_until=None,
        not_before=None,
        error="",
        reason="",
        seal=Seal("p", rows, rows * 10, "f", cursor, gone) if is_done else None,
    )


def landed_keys(chunks: Iterable[Chunk]) -> frozenset[ChunkKey]:
    return frozenset(chunk.key for chunk in chunks)


def _key(row: Row, by: str) -> tuple[Any]:
    return (row.cursor,) if by == "cursor" else (row.id,)


def _holds(span: Span, row: Row) -> bool:
    match span:
        case WholeTable():
            return True
        case Partition():
            return dict(span.keys)["part"] == row.part and _holds(span.within, row)
        case KeyRange():
            value: Any = _key(row, span.columns[0])
            if value[0] is None:
                return span.with_nulls
            return (span.low is None or span.low <= value) and (span.high is None or value < span.high)
        case _:
            raise AssertionError(span)


def cursors(kind: str, *, nulls: bool = True) -> st.SearchStrategy[list[Any]]:
    """Values of a type, many of them tied, some missing."""
    one = CURSORS[kind]
    tied = st.lists(one, min_size=1, max_size=4).flatmap(lambda few: st.lists(st.sampled_from(few), max_size=40))
    some = st.lists(one, max_size=40) | tied
    return some if not nulls else some.flatmap(lambda found: st.permutations([*found, *([None] * (len(found) // 5))]))
