"""A chunk is dispatched to one worker at a time, and never more at once than allowed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from conformance.catalog.plans import plan, registered, seal_for, table_of
from conformance.catalog.subjects import Crowd, Subject
from conformance.catalog.workers import dispatch_all
from hakiri.catalog.errors import PlanChanged, UnknownPipeline
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Chunk, ChunkStatus, Window
from hakiri.model.clock import Clock
from hakiri.model.ledger import Pipeline

Handles = Callable[[Subject, Clock | None], Catalog]


@pytest.mark.commits
def test_many_workers_dispatch_every_chunk_exactly_once(subject: Subject, handles: Handles, pipeline: str) -> None:
    dispatch_to(subject.crowd.sample, subject, handles(subject, None), pipeline)


@pytest.mark.exhaustive
def test_a_hundred_workers_dispatch_a_thousand_chunks_exactly_once_where_the_backend_is_meant_for_it(
    subject: Subject, handles: Handles, pipeline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.perf_counter()
    dispatch_to(subject.crowd, subject, handles(subject, None), pipeline)
    seconds = time.perf_counter() - started
    with capsys.disabled():
        print(f" [{subject.crowd.workers} workers, {subject.crowd.chunks} chunks, {seconds:.1f} s]", end="")  # noqa: T201


def dispatch_to(crowd: Crowd, subject: Subject, catalog: Catalog, pipeline: str) -> None:
    """Require that the crowd is given every chunk once."""
    registered(catalog, pipeline, crowd.chunks)
    dispatched = dispatch_all(subject, crowd, pipeline)
    assert sorted(chunk for chunk, _ in dispatched) == [chunk.key.chunk for chunk in plan(pipeline, crowd.chunks)]
    assert {attempt for _, attempt in dispatched} == {1}
    (progress,) = catalog.progress(pipeline)
    assert (progress.running + progress.done, progress.total) == (crowd.chunks, crowd.chunks)


def test_chunks_are_claimed_in_order_and_only_up_to_the_limit(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 3)
    first = catalog.claim(pipeline, node="a", limit=2)
    second = catalog.claim(pipeline, node="b", limit=2)
    assert [lease.chunk for lease in (*first, *second)] == plan(pipeline, 3)
    assert catalog.claim(pipeline, node="c", limit=2) == ()
    assert [state.lease() for state in catalog.leases(pipeline)] == [*first, *second]


def test_a_pipelines_parallelism_is_a_counted_semaphore(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 4, parallelism=2)
    held = catalog.claim(pipeline, node="a", limit=4)
    assert len(held) == 2
    assert other.claim(pipeline, node="b", limit=4) == ()
    catalog.complete(held[0], seal_for(held[0]))
    assert len(other.claim(pipeline, node="b", limit=4)) == 1


def test_the_limit_over_all_pipelines_is_a_counted_semaphore(fresh: Subject, handles: Handles) -> None:
    catalog = handles(fresh, None)
    registered(catalog, "first", 3)
    registered(catalog, "second", 3)
    assert len(catalog.claim("first", node="a", limit=2, max_parallel_chunks=3)) == 2
    assert len(catalog.claim("second", node="a", limit=2, max_parallel_chunks=3)) == 1
    assert catalog.claim("first", node="a", limit=2, max_parallel_chunks=3) == ()


def test_planning_again_adds_only_what_is_new(catalog: Catalog, pipeline: str) -> None:
    registered(catalog, pipeline, 2)
    assert catalog.add_chunks(plan(pipeline, 3)) == 1
    assert catalog.add_chunks(plan(pipeline, 3)) == 0
    moved = plan(pipeline, 1)[0]
    with pytest.raises(PlanChanged):
        catalog.add_chunks([Chunk(moved.key, moved.ordinal, Window(5, 6), moved.predicate)])
    pending = catalog.chunks(table_of(pipeline), [ChunkStatus.PENDING])
    assert [state.chunk for state in pending] == plan(pipeline, 3)


def test_an_unregistered_pipeline_has_no_work(catalog: Catalog, pipeline: str) -> None:
    with pytest.raises(UnknownPipeline):
        catalog.claim(pipeline, node="a")


def test_registering_again_sets_limits_and_keeps_the_phase(catalog: Catalog, pipeline: str) -> None:
    catalog.register(Pipeline(pipeline, parallelism=1))
    catalog.register(Pipeline(pipeline, parallelism=7))
    assert Pipeline(pipeline, parallelism=7) in catalog.pipelines()
