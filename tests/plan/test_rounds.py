"""Rounds follow each other without a gap: whatever lands when, no row is lost and none is planned twice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus, Gone, TableKey
from hakiri.model.cursor import CursorColumn, StoredCursor, to_text
from hakiri.model.ledger import Cursor, Phase
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import OneFile, PageToken, Partition, WholeTable
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.make import make_plan
from hakiri.plan.plan import PipelinePlan
from hakiri.plan.read_from import floor_of
from hakiri.plan.reading import cursor_from_text, from_json
from hakiri.plan.rounds import History, chunk_name, cursor_after, round_in_name
from plan.world import (
    NOW,
    UNTIMED,
    Row,
    chunk_rows,
    facts_of,
    landed_keys,
    read,
    rows_of,
    spec_of,
    state_of,
    stored,
    survey_of,
)

LAG = timedelta(seconds=5)
TABLE = TableKey("shop", "orders")
Steps = list[tuple[str, int]]


def steps(*verbs: str, most: int) -> st.SearchStrategy[Steps]:
    return st.lists(st.tuples(st.sampled_from(verbs), st.integers(0, 5)), max_size=most)


TURNS = st.lists(
    st.tuples(steps("insert", "update", most=4), steps("read", "read", "insert", "update", most=8)), max_size=5
)
"""What happens before each plan, and between it and the next landing."""


@dataclass
class Stage:
    """A source that moves while it is read, and a catalog that remembers what was planned, read and landed."""

    by: str
    weight: int
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    rows: dict[int, Row] = field(default_factory=dict)
    states: dict[ChunkKey, ChunkState] = field(default_factory=dict)
    read: dict[ChunkKey, list[Row]] = field(default_factory=dict)
    landed: set[ChunkKey] = field(default_factory=set)
    cursor: str = ""

    def take(self, step: str, number: int) -> None:
        self.now += timedelta(seconds=1)
        getattr(self, f"_{step}")(number)

    def facts(self) -> PipelineFacts:
        cursor = Cursor(TABLE, self.cursor, 1, NOW) if self.cursor else None
        spec = spec_of(incremental={"column": "cursor", "lag": "5s"})
        bare = facts_of(
            spec,
            kind="timestamp",
            cursor=cursor,
            known=tuple(self.states.values()),
            landed=frozenset(self.landed),
        )
        since = floor_of(bare, bare.tables[0])
        survey = survey_of(list(self.rows.values()), since=since, by=self.by, every=2, weight=self.weight)
        return replace(bare, tables=(replace(bare.tables[0], survey=survey),))

    def _insert(self, late: int) -> None:
        self.rows[len(self.rows)] = Row(len(self.rows), self.now - timedelta(seconds=late))

    def _update(self, number: int) -> None:
        if number in self.rows:
            self.rows[number] = Row(number, self.now)

    def _plan(self, _: int = 0) -> None:
        for chunk in make_plan([self.facts()]).new_chunks:
            assert chunk.key not in self.states
            self.states[chunk.key] = state_of(chunk)

    def _read(self, number: int = 0) -> None:
        pending = [state for state in self.states.values() if state.status is ChunkStatus.PENDING]
        if pending:
            chunk = pending[number % len(pending)].chunk
            self.read[chunk.key] = chunk_rows(self.rows.values(), chunk)
            self.states[chunk.key] = state_of(chunk, ChunkStatus.DONE)

    def _land(self, _: int = 0) -> None:
        self.landed |= set(self.read)
        self.cursor = cursor_after(
            CursorKind.MONOTONIC, History.of(self.states.values(), frozenset(self.landed)), self.cursor
        )

    def finish(self) -> None:
        """One round for what is open, one for what came meanwhile."""
        for _ in range(2):
            self._plan()
            for _ in self.states:
                self._read()
            self._land()

    def has(self) -> set[Row]:
        return {row for key in self.landed for row in self.read[key]}


@settings(UNTIMED, max_examples=200)
@given(TURNS, st.sampled_from(["id", "cursor"]), st.sampled_from([1, 40_000]))
def test_a_source_that_moves_while_it_is_read_loses_no_row(
    turns: list[tuple[Steps, Steps]], by: str, weight: int
) -> None:
    stage = Stage(by, weight)
    for before, during in turns:
        for step, number in [*before, ("plan", 0), *during, ("land", 0)]:
            stage.take(step, number)
    stage.finish()
    assert set(stage.rows.values()) <= stage.has()


@UNTIMED
@given(st.lists(st.integers(0, 99), min_size=1, max_size=40), st.data())
def test_planning_again_after_any_part_is_done_plans_nothing_twice(values: list[int], data: st.DataObject) -> None:
    rows = rows_of(values)
    survey = survey_of(rows, weight=30_000)
    first = make_plan([facts_of(survey=survey)]).new_chunks
    statuses = [data.draw(st.sampled_from([ChunkStatus.PENDING, ChunkStatus.RUNNING, ChunkStatus.DONE])) for _ in first]
    done = [chunk for chunk, status in zip(first, statuses, strict=True) if status is ChunkStatus.DONE]
    landed = landed_keys(done[: data.draw(st.integers(0, len(done)))])
    known = tuple(map(state_of, first, statuses))
    again = make_plan([facts_of(survey=survey, known=known, landed=landed)])
    if len(landed) < len(first):
        assert again.new_chunks == ()
        counts = again.pipelines[0].tables[0].counts
        assert counts.pending + counts.running + counts.staged + counts.landed == len(first)


SEEN = CursorColumn("cursor", "bigint")
KEPT = to_text(StoredCursor(3, SEEN))


def planned(**table: Any) -> PipelinePlan:
    spec = table.pop("spec", None)
    return make_plan([facts_of(spec, **table)]).pipelines[0]


def one_round(survey: Survey, **table: Any) -> tuple[Chunk, ...]:
    return make_plan([facts_of(survey=survey, **table)]).new_chunks


def test_a_cursor_moves_when_the_last_chunk_of_its_round_lands() -> None:
    first = one_round(survey_of(rows_of(range(20)), weight=50_000))
    known = [state_of(chunk, ChunkStatus.DONE) for chunk in first]
    assert len(first) > 2
    assert cursor_after(CursorKind.MONOTONIC, History.of(known, landed_keys(first[1:])), "") == ""
    assert cursor_after(CursorKind.MONOTONIC, History.of(known, landed_keys(first)), "") == to_text(
        StoredCursor(19, SEEN)
    )


def test_a_cursor_does_not_go_back_when_its_source_loses_the_newest_rows() -> None:
    first = one_round(survey_of(rows_of([1, 2, 3])))
    known = [state_of(chunk, ChunkStatus.DONE) for chunk in first]
    for value, expected in ((9, 9), (2, 3)):
        current = to_text(StoredCursor(value, SEEN))
        after = cursor_after(CursorKind.MONOTONIC, History.of(known, landed_keys(first)), current)
        assert after == to_text(StoredCursor(expected, SEEN))
    anew = one_round(survey_of(rows_of([1, 2, 3])), is_full_refresh=True)
    known = [state_of(chunk, ChunkStatus.DONE) for chunk in anew]
    current = to_text(StoredCursor(9, SEEN))
    assert cursor_after(CursorKind.MONOTONIC, History.of(known, landed_keys(anew)), current) == to_text(
        StoredCursor(3, SEEN)
    )


def test_a_cursor_is_where_the_source_stood_before_the_first_read() -> None:
    first = one_round(survey_of(rows_of([1, 2, 3])))
    assert from_json(first[0].predicate).reach == 3
    assert len(read(rows_of([1, 2, 3, 4]), from_json(first[0].predicate))) == 4


def test_a_page_token_is_where_its_chunk_ended() -> None:
    hint = BackfillHint(CursorKind.OPAQUE_TOKEN, safe_parallelism=1)
    first = one_round(Survey((Piece(PageToken()),)), hint=hint)
    brought = to_text(StoredCursor("next"))
    known = [state_of(chunk, ChunkStatus.DONE, cursor=brought) for chunk in first]
    assert cursor_after(CursorKind.OPAQUE_TOKEN, History.of(known, landed_keys(first)), "") == brought


def test_a_position_that_a_log_was_read_up_to_wins_over_the_surveyed_one_and_never_goes_back() -> None:
    hint = BackfillHint(CursorKind.SNAPSHOT_ID, safe_parallelism=2)
    (chunk,) = one_round(Survey((Piece(WholeTable()),), low=1, high=7), hint=hint)

    def after(kind: CursorKind, token: str, current: str = "") -> str:
        return cursor_after(
            kind, History.of([state_of(chunk, ChunkStatus.DONE, cursor=token)], landed_keys([chunk])), current
        )

    read, surveyed = to_text(StoredCursor(9)), to_text(StoredCursor(7))
    assert after(CursorKind.SNAPSHOT_ID, read) == read
    assert after(CursorKind.SNAPSHOT_ID, "") == surveyed
    assert after(CursorKind.SNAPSHOT_ID, read, current=to_text(StoredCursor(12))) == to_text(StoredCursor(12))
    assert after(CursorKind.MONOTONIC, read) == surveyed, "what was read is no measure where a column is the cursor"


def test_a_stream_without_a_position_does_not_move_the_others_past_what_they_read() -> None:
    hint = BackfillHint(CursorKind.SNAPSHOT_ID, safe_parallelism=2, partition_keys=("s",))
    pieces = tuple(Piece(Partition((("s", name),))) for name in "ab")
    busy, quiet = one_round(Survey(pieces, low=1, high=100), hint=hint)
    for token, expected in ((60, 60), (120, 100)):
        known = [
            state_of(busy, ChunkStatus.DONE, cursor=to_text(StoredCursor(token))),
            state_of(quiet, ChunkStatus.DONE, cursor=""),
        ]
        history = History.of(known, landed_keys([busy, quiet]))
        assert cursor_after(CursorKind.SNAPSHOT_ID, history, "") == to_text(StoredCursor(expected))


def test_a_rewound_chunk_opens_its_table_again_and_leaves_the_cursor() -> None:
    first = one_round(survey_of(rows_of([1, 2, 3])))
    second = replace(first[0], key=replace(first[0].key, generation=2))
    known = (state_of(first[0], ChunkStatus.DONE), state_of(second))
    plan = planned(
        survey=survey_of(rows_of([1, 2, 3, 9])), known=known, landed=landed_keys(first), cursor=stored(3),
        phase=Phase.STREAMING,
    )  # fmt: skip
    assert plan.tables[0].chunks == ()
    assert (plan.tables[0].phase, plan.tables[0].counts.pending) == (Phase.BACKFILLING, 1)
    assert plan.move is not None
    assert plan.move.verb == "gap detected"
    assert cursor_after(CursorKind.MONOTONIC, History.of(known, landed_keys(first)), KEPT) == KEPT


def test_a_failed_chunk_holds_the_next_round_back() -> None:
    first = one_round(survey_of(rows_of([1])))
    table = planned(survey=survey_of(rows_of([1, 2])), known=(state_of(first[0], ChunkStatus.FAILED),)).tables[0]
    assert (table.chunks, table.counts.failed, table.has_work) == ((), 1, True)
    assert "failed-chunks" in [caution.kind for caution in table.cautions]


@pytest.mark.parametrize(
    ("phase", "is_landed", "verb"),
    [
        (None, False, "chunks discovered"),
        (Phase.PLANNING, False, "chunks discovered"),
        (Phase.BACKFILLING, False, None),
        (Phase.BACKFILLING, True, "caught up"),
        (Phase.STREAMING, True, None),
        (Phase.STREAMING, False, "gap detected"),
    ],
)
def test_a_phase_moves_as_the_chunks_do(phase: Phase | None, is_landed: bool, verb: str | None) -> None:
    survey = survey_of(rows_of([1, 2]))
    first = one_round(survey) if is_landed else ()
    known = tuple(state_of(chunk, ChunkStatus.DONE) for chunk in first)
    plan = planned(survey=survey, phase=phase, known=known, landed=landed_keys(first))
    assert (plan.move and plan.move.verb) == verb


def test_an_unchanged_source_gives_the_overlap_and_nothing_else() -> None:
    spec = spec_of(incremental={"column": "cursor", "lag": "2s"})
    moments = [NOW + timedelta(seconds=number) for number in range(10)]
    bare = facts_of(
        spec,
        kind="timestamp",
        cursor=stored(moments[-1]),
        landed=frozenset({ChunkKey("shop", "orders", chunk_name(1, 1))}),
    )
    since = floor_of(bare, bare.tables[0])
    survey = survey_of(rows_of(moments), since=since)
    plan = make_plan([replace(bare, tables=(replace(bare.tables[0], survey=survey),))])
    assert since == moments[7]
    assert plan.pipelines[0].tables[0].is_overlap_only
    assert [len(chunk_rows(rows_of(moments), chunk)) for chunk in plan.new_chunks] == [3]
    assert plan.new_chunks[0].round == 2


BEGUN = frozenset({ChunkKey("shop", "orders", chunk_name(1, 1))})


def test_a_cursor_that_is_the_key_has_nothing_to_read_again() -> None:
    plan = make_plan(
        [facts_of(survey=survey_of(rows_of([1, 2])), cursor=stored(2), landed=BEGUN, primary_key=("cursor",))]
    )
    assert not plan.has_work


def test_an_emptied_table_has_nothing_to_read() -> None:
    assert not make_plan([facts_of(survey=survey_of([]), landed=BEGUN)]).has_work


def test_an_emptied_source_empties_a_table_it_replaces() -> None:
    assert make_plan([facts_of(spec_of(load={"mode": "truncate"}), survey=survey_of([]), landed=BEGUN)]).has_work


def test_a_key_that_may_come_late_is_looked_for_again() -> None:
    spec = spec_of(incremental={"column": "cursor", "lag": "1h"})
    table = {"cursor": stored(NOW), "landed": BEGUN, "primary_key": ("cursor",)}
    assert make_plan([facts_of(spec, kind="timestamp", survey=survey_of(rows_of([NOW])), **table)]).has_work


def test_a_log_that_has_not_moved_has_nothing_to_read() -> None:
    hint = BackfillHint(CursorKind.SNAPSHOT_ID, safe_parallelism=2)
    survey = Survey((Piece(WholeTable()),), low=1, high=7)
    assert not make_plan([facts_of(hint=hint, survey=survey, cursor=stored(7), landed=BEGUN)]).has_work
    assert make_plan([facts_of(hint=hint, survey=survey, cursor=stored(6), landed=BEGUN)]).has_work


def test_a_replacing_load_reads_the_whole_table_each_time() -> None:
    facts = facts_of(
        spec_of(load={"mode": "truncate"}), cursor=stored(5), landed=BEGUN, survey=survey_of(rows_of([1, 5]))
    )
    assert floor_of(facts, facts.tables[0]) is None
    assert [from_json(chunk.predicate).since for chunk in make_plan([facts]).new_chunks] == [None]


def test_a_replacing_load_takes_another_cursor_at_once() -> None:
    before = replace(stored(5), value=to_text(StoredCursor(5, CursorColumn("seen", "int"))))
    facts = facts_of(spec_of(load={"mode": "truncate"}), cursor=before, landed=BEGUN, survey=survey_of(rows_of([1, 5])))
    (table,) = make_plan([facts]).pipelines[0].tables
    assert (table.counts.new, table.is_overlap_only) == (1, False)


def files(*found: tuple[str, str]) -> Survey:
    return Survey(tuple(Piece(OneFile(path, version), bytes=10) for path, version in found))


@pytest.mark.parametrize(("mode", "read_again"), [("append", ["b"]), ("truncate", ["a", "b"])])
def test_a_file_is_read_once_in_each_version(mode: str, read_again: list[str]) -> None:
    spec = spec_of(load={"mode": mode}, incremental=None)
    first = make_plan([facts_of(spec, survey=files(("a", "1")))]).new_chunks
    table = {"known": tuple(state_of(chunk, ChunkStatus.DONE) for chunk in first), "landed": landed_keys(first)}
    assert not make_plan([facts_of(spec, survey=files(("a", "1")), **table)]).has_work
    then = make_plan([facts_of(spec, survey=files(("a", "1"), ("b", "1")), **table)]).new_chunks
    spans = [from_json(chunk.predicate).span for chunk in then]
    assert [span.path for span in spans if isinstance(span, OneFile)] == read_again


def test_all_files_are_read_where_a_table_that_was_added_to_is_to_be_exchanged() -> None:
    spec = spec_of(load={"mode": "truncate"}, incremental=None)
    survey = files(("a", "2"))
    last = make_plan([facts_of(spec, survey=survey)]).new_chunks
    table = {"known": tuple(state_of(chunk, ChunkStatus.DONE) for chunk in last), "landed": landed_keys(last)}
    for landed, has_work in (("append", True), ("upsert", True), ("truncate", False), ("", False)):
        assert make_plan([facts_of(spec, survey=survey, landed_mode=landed, **table)]).has_work is has_work


@pytest.mark.parametrize(("lacking", "read_again"), [(Gone.REPLACED, ["a"]), (Gone.MISSING, [])])
def test_a_table_that_is_replaced_reads_all_files_again_after_a_round_in_which_one_was_another(
    lacking: Gone, read_again: list[str]
) -> None:
    """Such a round was left out, so that the table is not what it would have made; b is deleted in either case."""
    spec = spec_of(load={"mode": "truncate"}, incremental=None)
    a, b = make_plan([facts_of(spec, survey=files(("a", "1"), ("b", "1")))]).new_chunks
    states = (state_of(a, ChunkStatus.DONE, rows=1), state_of(b, ChunkStatus.DONE, gone=lacking))
    facts = facts_of(spec, known=states, landed=landed_keys([a, b]), survey=files(("a", "1")))
    spans = [from_json(chunk.predicate).span for chunk in make_plan([facts]).new_chunks]
    assert [span.path for span in spans if isinstance(span, OneFile)] == read_again


def test_a_file_that_a_full_refresh_did_not_find_is_read_when_it_is_back() -> None:
    spec = spec_of(incremental=None)
    first = make_plan([facts_of(spec, survey=files(("a", "1"), ("b", "1")))]).new_chunks
    states = tuple(state_of(chunk, ChunkStatus.DONE) for chunk in first)
    table = {"known": states, "landed": landed_keys(first), "survey": files(("a", "1"))}
    anew = make_plan([facts_of(spec, is_full_refresh=True, **table)]).new_chunks
    known = (*states, *(state_of(chunk, ChunkStatus.DONE) for chunk in anew))
    table = {"known": known, "landed": landed_keys([*first, *anew]), "survey": files(("a", "1"), ("b", "1"))}
    then = make_plan([facts_of(spec, **table)]).new_chunks
    assert [from_json(chunk.predicate).span for chunk in then] == [OneFile("b", "1")]


def test_files_are_not_cut_by_a_window() -> None:
    survey = replace(files(("a", "1"), ("b", "1")), low=NOW - timedelta(days=9), high=NOW)
    chunks = make_plan([facts_of(spec_of(backfill={"window": "1d"}), kind="timestamp", survey=survey)]).new_chunks
    assert [from_json(chunk.predicate).span for chunk in chunks] == [OneFile("a", "1"), OneFile("b", "1")]


def test_a_full_refresh_begins_at_the_beginning_once_nothing_is_open() -> None:
    survey = survey_of(rows_of([1, 2]))
    fresh = make_plan([facts_of(survey=survey, cursor=stored(2), landed=BEGUN, is_full_refresh=True)]).new_chunks
    assert [(chunk.round, from_json(chunk.predicate).since) for chunk in fresh] == [(2, None)]
    open_first = planned(survey=survey, known=(state_of(fresh[0]),), is_full_refresh=True).tables[0]
    assert (open_first.chunks, [one.kind for one in open_first.cautions][-1]) == ((), "refresh-waits")


def test_a_lost_catalog_goes_on_after_the_last_landed_round() -> None:
    landed = frozenset({ChunkKey("shop", "orders", chunk_name(7, 3))})
    chunks = one_round(survey_of(rows_of([1, 2])), landed=landed, cursor=stored(1))
    assert [chunk.round for chunk in chunks] == [8]


def test_names_sort_as_they_are_dispatched_and_strangers_have_no_round() -> None:
    assert chunk_name(1, 2) < chunk_name(1, 10) < chunk_name(2, 1)
    assert (round_in_name(chunk_name(12, 3)), round_in_name("chunk-1")) == (12, 0)


def test_a_history_counts_each_chunk_by_its_latest_generation() -> None:
    chunk = one_round(survey_of(rows_of([1])))[0]
    newer = replace(chunk, key=replace(chunk.key, generation=2))
    known = [state_of(newer), state_of(chunk, ChunkStatus.SUPERSEDED)]
    assert [state.chunk.key.generation for state in History.of(known, frozenset()).chunks] == [2]


def test_a_stored_cursor_comes_back_as_it_was() -> None:
    for cursor in (StoredCursor(NOW), StoredCursor(NOW, SEEN)):
        assert cursor_from_text(TABLE, to_text(cursor)) == cursor
    assert cursor_from_text(TABLE, "") is None


def test_a_table_without_open_chunks_needs_a_survey() -> None:
    with pytest.raises(ValueError, match="needs a survey"):
        make_plan([facts_of()])
