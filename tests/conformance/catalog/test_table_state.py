"""What the catalog says of a table without reading its history is what the whole history says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clocks import ManualClock
from conformance.catalog.plans import registered, seal_for, table_of
from conformance.catalog.subjects import Subject
from hakiri.catalog.port import Catalog
from hakiri.land.table_state import expected_landing
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, Failure, FailureKind, TableKey, Window
from hakiri.model.cursor import StoredCursor, to_text
from hakiri.model.ledger import Landing, LandingStatus, Pipeline, Snapshot
from hakiri.model.source import CursorKind
from hakiri.model.span import WholeTable
from hakiri.plan.batch import exchanges
from hakiri.plan.overlap import overlapping
from hakiri.plan.reading import Reading, to_json
from hakiri.plan.rounds import History, chunk_name, cursor_after

PICKS = st.integers(0, 1_000)


def chunk_of(table: TableKey, number: int, place: int, *, is_refresh: bool = False) -> Chunk:
    """A chunk after whose round the cursor is the round's number."""
    reading = Reading(WholeTable(), reach=number, replaces=is_refresh)
    key = ChunkKey(table.pipeline, table.table, chunk_name(number, place))
    return Chunk(key, place, Window(number, number + 1), to_json(reading), round=number, is_refresh=is_refresh)


def complete_history(catalog: Catalog, table: TableKey) -> History:
    landed = (one for one in catalog.landings(table) if one.status is LandingStatus.LANDED)
    return History.of(catalog.chunks(table), frozenset(key for one in landed for key in one.chunks))


class Tables(RuleBasedStateMachine):
    """One table that is planned, read, landed, rewound, archived and restored in any order."""

    subject: Subject
    numbers = iter(range(1, 1_000_000))

    def __init__(self) -> None:
        super().__init__()
        self.catalog = self.subject.open(ManualClock())
        self.table = table_of(f"table-{next(self.numbers)}")
        self.catalog.register(Pipeline(self.table.pipeline, parallelism=9, max_attempts=1))

    def teardown(self) -> None:
        self.catalog.close()

    @rule(count=st.integers(1, 3), is_refresh=st.booleans())
    def plan(self, count: int, is_refresh: bool) -> None:
        number = History.recent(self.catalog.table_state(self.table)).last_round + 1
        planned = [chunk_of(self.table, number, place, is_refresh=is_refresh) for place in range(1, count + 1)]
        assert self.catalog.add_chunks(planned) == count
        assert self.catalog.add_chunks(planned) == 0

    @rule(limit=st.integers(1, 3), fails=st.booleans())
    def read(self, limit: int, fails: bool) -> None:
        leases = self.catalog.claim(self.table.pipeline, node="a", limit=limit)
        for lease in leases[1:] if fails else leases:
            token = to_text(StoredCursor(100 * lease.chunk.round + lease.chunk.ordinal))
            self.catalog.complete(lease, replace(seal_for(lease, rows=lease.chunk.round), token=token))
        for lease in leases[:1] if fails else ():
            self.catalog.fail(lease, Failure(FailureKind.PERMANENT, "HK405", "no"))

    @rule(pick=PICKS, ending=st.sampled_from(["finish", "unchanged", "abandon", "leave"]))
    def land(self, pick: int, ending: str) -> None:
        staged = [state.chunk.key for state in self.catalog.staged(self.table)]
        state = self.catalog.table_state(self.table)
        if not staged and not state.reserved:
            return
        first = pick % (len(staged) or 1)
        landing = self.catalog.reserve_landing(
            self.table, staged[first:], node="a", dead_holder=state.reserved.holder if state.reserved else ""
        )
        version = state.landings[-1].version if state.landings else None
        match ending:
            case "finish":
                self.finish(landing, landing.number)
            case "unchanged":
                self.finish(landing, landing.number if version is None else version)
            case "abandon":
                self.catalog.abandon_landing(landing, "nothing was written")

    def finish(self, landing: Landing, version: int) -> None:
        self.catalog.finish_landing(landing, version=version)
        self.catalog.commit_snapshot(Snapshot(self.table, landing.number, version, (), ()))
        self.catalog.advance_cursor(self.table, str(landing.number), landing=landing.number)

    @rule(pick=PICKS)
    def rewind(self, pick: int) -> None:
        known = complete_history(self.catalog, self.table).chunks
        if known:
            self.catalog.rewind(self.table, known[pick % len(known)].chunk.window, "read it again")

    @rule()
    def archive(self) -> None:
        self.catalog.archive(self.table.pipeline)

    @rule(knows_chunk=st.booleans())
    def restore(self, knows_chunk: bool) -> None:
        """As a rebuild does: a landing that only the table's log knew, with or without what it had read."""
        state = self.catalog.table_state(self.table)
        if state.reserved:
            return
        chunk = chunk_of(self.table, History.recent(state).last_round + 1, 1)
        landing = Landing(self.table, state.number + 1, (chunk.key,), LandingStatus.LANDED, version=state.number + 1)
        self.catalog.restore_landing(landing)
        if knows_chunk:
            assert self.catalog.add_chunks([chunk]) == 0

    @rule()
    def decide(self) -> None:
        latest = self.catalog.latest_schema(self.table)
        self.catalog.append_schema(self.table, "{}", after=latest.version if latest else 0)

    @invariant()
    def compare(self) -> None:
        catalog, table = self.catalog, self.table
        state, landings = catalog.table_state(table), catalog.landings(table)
        whole = complete_history(catalog, table)
        recent = History.recent(state, lost=catalog.lost_chunks(table))
        recent = replace(recent, totals=catalog.landed_totals(table, recent.last_round))
        for told in (answers, landing_answers):
            assert told(recent) == told(whole)
        rounded = recent.with_round(catalog.chunks_of_round(table, recent.last_round))
        for kind in CursorKind:
            assert cursors(rounded, kind) == cursors(whole, kind)
        taken = {key for one in landings if one.status is not LandingStatus.ABANDONED for key in one.chunks}
        done = [one for one in catalog.chunks(table, [ChunkStatus.DONE]) if one.chunk.key not in taken]
        assert list(state.staged) == list(catalog.staged(table)) == done
        assert expected_landing(state.landings) == expected_landing(landings)
        assert catalog.last_landings(table) == state.landings
        for number in range(1, state.number + 2):
            before = catalog.last_landings(table, before=number)
            assert expected_landing(before) == expected_landing([one for one in landings if one.number < number])
        assert (
            [state.reserved]
            if state.reserved
            else [one for one in landings if one.status is LandingStatus.RESERVED] == []
        )
        assert state.number == max((one.number for one in landings), default=0)
        assert list(catalog.landings(table, since=state.number)) == list(landings[-1:])
        assert (state.cursor, state.schema) == (catalog.cursor(table), next(reversed(catalog.schemas(table)), None))
        every = catalog.chunks(table)
        assert set(catalog.find_chunks([one.chunk.key for one in every])) == set(every)
        for snapshot in catalog.snapshots(table)[-1:]:
            assert catalog.snapshot(table, landing=snapshot.landing) == snapshot
        assert catalog.snapshot(table, landing=state.number + 1) is None
        left = [ChunkStatus.PENDING, ChunkStatus.WAITING, ChunkStatus.RUNNING]
        unfinished = catalog.count_unfinished(table.pipeline)
        assert unfinished.left == len(catalog.chunks(table, left))
        assert unfinished.failed == len(catalog.chunks(table, [ChunkStatus.FAILED]))


def answers(history: History) -> dict[str, Any]:
    """What a plan asks."""
    return {
        "open": history.open,
        "last round": history.last_round,
        "refreshed": history.refreshed,
        "begun": history.is_begun,
        "refreshing": history.is_refreshing,
        "backfilling": history.is_backfilling,
        "lost": history.lost,
        "totals": history.totals,
        "last": [one.chunk.key for one in history.chunks[-1:]],
    }


def landing_answers(history: History) -> dict[str, Any]:
    """What a landing asks, of each chunk that is open and of all of them."""
    parts = [history.open, *((one,) for one in history.open)]
    return {
        "again": overlapping((one.chunk for one in history.open), history),
        "exchanges": [exchanges(history, part, replaces_table=True) for part in parts if part],
        "cursor": cursors(history, CursorKind.MONOTONIC),
    }


def cursors(history: History, kind: CursorKind) -> list[str]:
    """What the cursor becomes when any open chunk lands, or all of them."""
    parts = [history.open, *((one,) for one in history.open)]
    return [cursor_after(kind, history.after_landing(one.chunk.key for one in part), "") for part in parts]


def test_a_chunk_that_is_rewound_before_it_is_archived_is_known_to_have_landed(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 1)
    table = table_of(pipeline)
    (lease,) = catalog.claim(pipeline, node="a")
    catalog.complete(lease, seal_for(lease))
    catalog.finish_landing(catalog.reserve_landing(table, [lease.chunk.key], node="a"), version=0)
    for _ in range(2):  # the second time, the older generation is in the archive
        (again,) = catalog.rewind(table, Window(), "read it again")
        state = catalog.table_state(table)
        assert [one.chunk.key for one in state.open] == [again]
        assert lease.chunk.key in state.landed
        (later,) = catalog.claim(pipeline, node="a")
        catalog.complete(later, seal_for(later))
        catalog.archive(pipeline)


def test_a_table_is_known_from_its_open_work(subject: Subject) -> None:
    run_state_machine_as_test(
        type("SubjectTables", (Tables,), {"subject": subject}),
        settings=settings(
            max_examples=-(-subject.crowd.examples // 5),  # each step is compared, so each history tells much
            stateful_step_count=subject.crowd.steps,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],  # to shrink a failure takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )
