"""Every row lies in exactly one chunk, however the values fall and whatever the operator asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.model.chunk import Chunk
from hakiri.model.key import to_plain
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import KeyRange, PageToken, Partition, PositionRange, WholeTable
from hakiri.plan import sizing
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.make import make_plan
from hakiri.plan.plan import TablePlan
from hakiri.plan.read_from import floor_of
from hakiri.plan.reading import from_json
from plan.world import (
    CURSORS,
    TIMES,
    UNTIMED,
    Row,
    chunk_rows,
    cursors,
    facts_of,
    partitioned,
    rows_of,
    spec_of,
    stored,
    survey_of,
)

KINDS = st.sampled_from(sorted(CURSORS))
HEAVY = 30_000
WINDOWS = st.sampled_from(["1d", "36h", "7d", "4000d"])
PARTITIONED = BackfillHint(CursorKind.PARTITIONED_MONOTONIC, safe_parallelism=8, partition_keys=("part",))


def table_plan(facts: PipelineFacts) -> TablePlan:
    return make_plan([facts]).pipelines[0].tables[0]


def chunks_of(facts: PipelineFacts) -> list[Chunk]:
    return [planned.chunk for planned in table_plan(facts).chunks]


def assert_each_once(rows: Sequence[Row], chunks: Sequence[Chunk]) -> None:
    found = Counter(row for chunk in chunks for row in chunk_rows(rows, chunk))
    assert found == Counter(rows)


@UNTIMED
@given(KINDS.flatmap(lambda kind: st.tuples(st.just(kind), cursors(kind))), st.integers(1, 9))
def test_each_row_is_in_one_chunk_for_every_type_of_cursor(values: tuple[str, list[Any]], every: int) -> None:
    rows = rows_of(values[1])
    for by in ("cursor", "id"):
        facts = facts_of(kind=values[0], survey=survey_of(rows, every=every, by=by, weight=HEAVY))
        chunks = chunks_of(facts)
        assert chunks
        assert_each_once(rows, chunks)


@UNTIMED
@given(st.sampled_from(TIMES).flatmap(lambda kind: st.tuples(st.just(kind), cursors(kind))), WINDOWS, st.booleans())
def test_each_row_is_in_one_window(values: tuple[str, list[Any]], window: str, by_id: bool) -> None:
    rows = rows_of(values[1])
    survey = survey_of(rows, by="id" if by_id else "cursor", weight=HEAVY)
    plan = table_plan(facts_of(spec_of(backfill={"window": window}), kind=values[0], survey=survey))
    assert_each_once(rows, [planned.chunk for planned in plan.chunks])
    assert sum(planned.rows or 0 for planned in plan.chunks) == survey.rows


@UNTIMED
@given(cursors("timestamp"), st.sampled_from([None, "7d"]))
def test_each_row_is_in_one_window_of_one_partition(values: list[Any], window: str | None) -> None:
    rows = rows_of(values, parts="abc")
    backfill = {"window": window} if window else {}
    chunks = chunks_of(
        facts_of(spec_of(backfill=backfill), kind="timestamp", hint=PARTITIONED, survey=partitioned(rows, weight=HEAVY))
    )
    assert_each_once(rows, chunks)
    assert all(isinstance(from_json(chunk.predicate).span, Partition) for chunk in chunks)


@UNTIMED
@given(cursors("timestamp"), st.datetimes(datetime(2025, 6, 1), datetime(2026, 6, 1)), st.sampled_from([None, "7d"]))
def test_nothing_older_than_the_start_is_read_and_all_else_is(
    values: list[Any], start: datetime, window: str | None
) -> None:
    rows = rows_of(values)
    backfill = {"start_from": start.isoformat(), **({"window": window} if window else {})}
    facts = facts_of(spec_of(backfill=backfill), kind="timestamp")
    since: Any = floor_of(facts, facts.tables[0])
    chunks = chunks_of(
        facts_of(spec_of(backfill=backfill), kind="timestamp", survey=survey_of(rows, since=since, weight=HEAVY))
    )
    assert_each_once([row for row in rows if row.cursor is None or row.cursor >= since], chunks)


@UNTIMED
@given(cursors("timestamp", nulls=False), WINDOWS)
def test_windows_lie_on_whole_multiples_wherever_the_data_begin(values: list[Any], window: str) -> None:
    facts = facts_of(spec_of(backfill={"window": window}), kind="timestamp", survey=survey_of(rows_of(values)))
    length = facts.spec.backfill.window or timedelta()
    for chunk in chunks_of(facts):
        span = from_json(chunk.predicate).span
        assert isinstance(span, KeyRange)
        if span.high:
            assert isinstance(span.high[0], datetime)
            assert (span.high[0] - datetime(1970, 1, 1, tzinfo=UTC)) % length == timedelta()


@UNTIMED
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 400)), max_size=40), st.integers(1, 100))
def test_a_joined_chunk_is_within_the_target_or_one_piece(sizes: list[tuple[int, int]], rows: int) -> None:
    target = sizing.Target(rows=rows, bytes=1_000)
    bounds = [None, *((number,) for number in range(1, len(sizes))), None]
    pieces = [
        Piece(KeyRange(("id",), low, high), *size) for low, high, size in zip(bounds, bounds[1:], sizes, strict=False)
    ]
    joined = sizing.join_pieces(pieces, target)
    largest = max((piece.rows or 0 for piece in pieces), default=0)
    assert all((piece.rows or 0) <= max(rows, largest) for piece in joined)
    assert sum(piece.rows or 0 for piece in joined) == sum(piece.rows or 0 for piece in pieces)
    assert all(
        not target.holds(
            Piece(first.span, (first.rows or 0) + (second.rows or 0), (first.bytes or 0) + (second.bytes or 0))
        )
        for first, second in pairwise(joined)
    )


def test_pieces_of_unknown_size_are_left_as_they_are() -> None:
    pieces = [Piece(KeyRange(("id",), None, (1,))), Piece(KeyRange(("id",), (1,), None))]
    assert len(sizing.join_pieces(pieces, sizing.Target())) == 2
    assert len(sizing.join_pieces(pieces, None)) == 1


def test_a_table_worth_it_is_cut_for_every_slot() -> None:
    pieces = tuple(
        Piece(KeyRange(("id",), (low,) if low else None, (low + 1,) if low < 39 else None), 10_000, 1_000_000)
        for low in range(40)
    )
    assert len(chunks_of(facts_of(survey=Survey(pieces)))) == 4
    assert len(chunks_of(facts_of(survey=Survey(pieces[:4])))) == 1


def test_one_value_that_holds_most_rows_is_a_chunk_of_its_own_and_said() -> None:
    spans = [
        KeyRange(("cursor",), None, (1,), with_nulls=True),
        KeyRange(("cursor",), (1,), (2,)),
        KeyRange(("cursor",), (2,)),
    ]
    survey = Survey(tuple(Piece(span, rows) for span, rows in zip(spans, (10, 9_000_000, 10), strict=True)), 0, 5)
    plan = table_plan(facts_of(survey=survey))
    assert [planned.rows for planned in plan.chunks] == [10, 9_000_000, 10]
    assert "skew" in [caution.kind for caution in plan.cautions]


@pytest.mark.parametrize("values", [[], [5], [None]])
def test_an_empty_table_and_one_row_make_one_chunk(values: list[Any]) -> None:
    rows = rows_of(values)
    chunks = chunks_of(facts_of(survey=survey_of(rows)))
    assert len(chunks) == 1
    assert_each_once(rows, chunks)


def test_page_tokens_are_walked_one_at_a_time() -> None:
    hint = BackfillHint(CursorKind.OPAQUE_TOKEN, safe_parallelism=1)
    survey = Survey((Piece(PageToken("a")), Piece(PageToken("b"))))
    plan = table_plan(facts_of(spec_of(backfill={"parallelism": 6}), hint=hint, survey=survey))
    assert [from_json(planned.chunk.predicate).span for planned in plan.chunks] == [PageToken("a")]
    assert "parallelism" in [caution.kind for caution in plan.cautions]
    assert (
        make_plan([facts_of(spec_of(backfill={"parallelism": 6}), hint=hint, survey=survey)])
        .pipelines[0]
        .knobs.parallelism.value
        == 1
    )


def test_a_log_is_one_chunk_for_each_stream() -> None:
    hint = BackfillHint(CursorKind.SNAPSHOT_ID, safe_parallelism=4)
    spans = [
        Partition((("part", name),), KeyRange(("lsn",), low, high))
        for name in "ab"
        for low, high in ((None, (50,)), ((50,), None))
    ]
    survey = Survey(tuple(Piece(span, 9_000_000) for span in spans), low=1, high=99)
    plan = table_plan(facts_of(hint=hint, survey=survey, cursor=stored(40)))
    read = [from_json(planned.chunk.predicate) for planned in plan.chunks]
    assert [(one.span.keys, one.since, one.reach) for one in read if isinstance(one.span, Partition)] == [
        ((("part", "a"),), 40, 99),
        ((("part", "b"),), 40, 99),
    ]


def test_parts_that_need_one_snapshot_are_read_as_one_chunk() -> None:
    pieces = (Piece(PositionRange(None, 10), 5), Piece(PositionRange(10, None), 5))
    plan = table_plan(facts_of(survey=Survey(pieces, needs_one_snapshot=True)))
    assert [from_json(planned.chunk.predicate).span for planned in plan.chunks] == [WholeTable()]
    assert "snapshot-needed" in [caution.kind for caution in plan.cautions]


@pytest.mark.parametrize(
    ("kind", "values", "lower", "upper"),
    [
        ("bigint", [-5, 10**30], None, 10**30),
        ("date", [date(2026, 1, 1), date(2026, 1, 2)], None, "2026-01-02T00:00:00.000000Z"),
        (
            "timestamp_ntz",
            [datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1)],
            None,
            "2026-01-01T00:00:00.000001Z",
        ),
        ("double", [0.5, 1.5], None, 2),
        ("string", ["a", "b"], None, None),
    ],
)
def test_a_window_never_leaves_out_what_its_chunk_reads(kind: str, values: list[Any], lower: Any, upper: Any) -> None:
    survey = survey_of(rows_of(values), every=1)
    large = Survey(tuple(Piece(piece.span, 900_000) for piece in survey.pieces), survey.low, survey.high)
    windows = [chunk.window for chunk in chunks_of(facts_of(kind=kind, survey=large))]
    assert (windows[0].lower, windows[0].upper) == (lower, upper)
    assert windows[-1].upper is None


def test_a_cursor_value_no_one_can_compare_is_not_reached() -> None:
    survey = Survey((Piece(WholeTable(), 1),), low=1.0, high=float("nan"))
    plan = table_plan(facts_of(kind="double", survey=survey))
    assert plan.progression.reach is None
    assert to_plain(1.0) == ["float", "1.0"]
