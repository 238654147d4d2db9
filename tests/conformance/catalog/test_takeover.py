"""A dead holder's chunk goes to someone else, and nothing the dead one still says counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clocks import ManualClock, SkewedClock
from conformance.catalog.plans import registered, seal_for, table_of
from conformance.catalog.subjects import Subject
from conformance.catalog.workers import doomed, stage
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkStatus, Failure, FailureKind, Seal
from hakiri.model.clock import Clock, SystemClock

Handles = Callable[[Subject, Clock | None], Catalog]

TERM = 60.0


def test_a_dead_holders_chunk_is_taken_over_after_the_lease(
    catalog: Catalog, other: Catalog, clock: ManualClock, pipeline: str
) -> None:
    registered(catalog, pipeline, 1)
    (old,) = catalog.claim(pipeline, node="a", lease_seconds=TERM)
    assert other.claim(pipeline, node="b") == ()
    clock.advance(TERM - 1)
    assert other.claim(pipeline, node="b") == ()
    clock.advance(1)
    (new,) = other.claim(pipeline, node="b")
    assert new.chunk == old.chunk
    assert new.attempt == old.attempt + 1
    assert new.fence > old.fence


def test_a_late_complete_of_the_old_holder_is_refused(
    catalog: Catalog, other: Catalog, clock: ManualClock, pipeline: str
) -> None:
    registered(catalog, pipeline, 1)
    (old,) = catalog.claim(pipeline, node="a", lease_seconds=TERM)
    clock.advance(2 * TERM)
    (new,) = other.claim(pipeline, node="b")
    with pytest.raises(LeaseLost):
        catalog.complete(old, seal_for(old))
    with pytest.raises(LeaseLost):
        catalog.fail(old, Failure(FailureKind.RETRYABLE))
    assert catalog.renew([old]) == ()
    other.complete(new, seal_for(new))
    (state,) = catalog.chunks(table_of(pipeline))
    assert (state.status, state.seal) == (ChunkStatus.DONE, seal_for(new))


@pytest.mark.parametrize("seconds", [60 * TERM, -60 * TERM], ids=["forward", "back"])
def test_a_clock_that_is_set_ends_no_lease_that_lives_and_keeps_none_that_is_dead(
    catalog: Catalog, other: Catalog, clock: ManualClock, pipeline: str, seconds: float
) -> None:
    registered(catalog, pipeline, 2)
    (old,) = catalog.claim(pipeline, node="a", limit=1, lease_seconds=TERM)
    (kept,) = other.claim(pipeline, node="b", limit=1, lease_seconds=TERM)
    assert catalog.claim(pipeline, node="a", limit=2) == ()
    clock.set(seconds)
    assert catalog.claim(pipeline, node="a", limit=2) == ()
    assert other.claim(pipeline, node="b", limit=2) == ()
    for _ in range(2):
        clock.advance(TERM / 2)
        assert other.renew([kept], lease_seconds=TERM)
    (new,) = other.claim(pipeline, node="b", limit=2, lease_seconds=TERM)
    assert new.chunk == old.chunk
    other.complete(kept, seal_for(kept))


def test_a_lease_that_ran_out_is_good_until_someone_else_has_it(
    catalog: Catalog, clock: ManualClock, pipeline: str
) -> None:
    registered(catalog, pipeline, 1)
    (lease,) = catalog.claim(pipeline, node="a", lease_seconds=TERM)
    clock.advance(10 * TERM)
    catalog.complete(lease, seal_for(lease))
    catalog.complete(lease, seal_for(lease))
    with pytest.raises(LeaseLost):
        catalog.complete(lease, Seal("elsewhere", 1, 1, "other"))
    clock.advance(10 * TERM)
    assert catalog.claim(pipeline, node="b") == ()


@pytest.mark.parametrize("ahead", [TERM, -TERM], ids=["ahead", "behind"])
def test_a_renewing_holder_keeps_its_chunk_from_a_worker_whose_clock_is_wrong_by_a_whole_lease(
    subject: Subject, catalog: Catalog, clock: ManualClock, handles: Handles, pipeline: str, ahead: float
) -> None:
    skewed = handles(subject, SkewedClock(clock, ahead))
    registered(catalog, pipeline, 1)
    held = catalog.claim(pipeline, node="a", lease_seconds=TERM)
    for _ in range(3):
        assert skewed.claim(pipeline, node="b") == ()
        clock.advance(TERM / 2)
        assert skewed.claim(pipeline, node="b") == ()
        held = catalog.renew(held, lease_seconds=TERM)
        assert len(held) == 1
    catalog.complete(held[0], seal_for(held[0]))


def test_a_chunk_whose_holders_keep_dying_is_failed_when_its_attempts_are_used_up(
    catalog: Catalog, clock: ManualClock, pipeline: str
) -> None:
    registered(catalog, pipeline, 1, max_attempts=2)
    for attempt in (1, 2):
        (lease,) = catalog.claim(pipeline, node="a", lease_seconds=TERM)
        assert lease.attempt == attempt
        clock.advance(2 * TERM)
    assert catalog.claim(pipeline, node="a") == ()
    (state,) = catalog.chunks(table_of(pipeline))
    assert (state.status, state.failures) == (ChunkStatus.FAILED, 2)


def test_failures_wait_then_retry_and_end_as_their_kind_says(
    catalog: Catalog, clock: ManualClock, pipeline: str
) -> None:
    registered(catalog, pipeline, 2, max_attempts=2)
    first, second = catalog.claim(pipeline, node="a", limit=2)
    later = Failure(FailureKind.RETRYABLE, "HK999", "connection reset", retry_after_seconds=30)
    assert catalog.fail(first, later) is ChunkStatus.WAITING
    assert catalog.fail(second, Failure(FailureKind.PERMANENT, message="no such column")) is ChunkStatus.FAILED
    assert catalog.claim(pipeline, node="a", limit=2) == ()
    clock.advance(30)
    (again,) = catalog.claim(pipeline, node="a", limit=2)
    assert (again.chunk, again.attempt) == (first.chunk, 2)
    assert catalog.fail(again, Failure(FailureKind.RELEASED)) is ChunkStatus.WAITING
    (last,) = catalog.claim(pipeline, node="b")
    assert catalog.fail(last, later) is ChunkStatus.FAILED


@pytest.mark.parametrize(
    "step", ["after claim", "after stage", pytest.param("mid-complete", marks=pytest.mark.commits)]
)
def test_a_killed_holders_chunk_is_worked_on_again(
    subject: Subject, handles: Handles, pipeline: str, step: str, tmp_path: Path
) -> None:
    clock = ManualClock(SystemClock().now())
    survivor = handles(subject, clock)
    registered(survivor, pipeline, 1)
    old = doomed(subject, pipeline, step, tmp_path)
    left = list(tmp_path.rglob("*.parquet"))
    assert len(left) == (step != "after claim")
    assert survivor.claim(pipeline, node="survivor") == ()
    clock.advance(600)
    (new,) = survivor.claim(pipeline, node="survivor")
    assert (new.chunk, new.attempt) == (old.chunk, old.attempt + 1)
    with pytest.raises(LeaseLost):
        survivor.complete(old, seal_for(old))
    staged = stage(new, tmp_path)
    survivor.complete(new, seal_for(new))
    (state,) = survivor.chunks(table_of(pipeline))
    assert state.seal == seal_for(new)
    assert staged not in left


def test_a_holder_killed_after_its_commit_has_completed_its_chunk(
    subject: Subject, handles: Handles, pipeline: str, tmp_path: Path
) -> None:
    clock = ManualClock(SystemClock().now())
    survivor = handles(subject, clock)
    registered(survivor, pipeline, 1)
    old = doomed(subject, pipeline, "after complete", tmp_path)
    clock.advance(600)
    assert survivor.claim(pipeline, node="survivor") == ()
    (state,) = survivor.chunks(table_of(pipeline))
    assert (state.status, state.seal) == (ChunkStatus.DONE, seal_for(old))
