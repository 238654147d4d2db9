"""Schema history is dense, runs end once, and readers never see less than they saw."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import pytest

from clocks import ManualClock
from conformance.catalog.plans import table_of
from conformance.catalog.subjects import Subject
from hakiri.catalog.errors import BackwardMove, CatalogTooNew, SchemaMoved
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import TableKey
from hakiri.model.clock import Clock
from hakiri.model.ledger import Pipeline, Run, RunStatus

Handles = Callable[[Subject, Clock | None], Catalog]


@pytest.mark.commits
def test_racing_writers_leave_no_gap_and_no_duplicate(subject: Subject, handles: Handles, pipeline: str) -> None:
    """Every writer appends to the history it knows, so all of them race for the same version, then for later ones."""
    table = table_of(pipeline)
    wanted, writers = (8, 4) if subject.crowd.is_processes else (2, 2)
    reader = handles(subject, None)
    opened = [handles(subject, None) for _ in range(writers)]
    seen: list[list[int]] = []
    with ThreadPoolExecutor(writers) as threads:
        racing = [
            threads.submit(append_schemas, catalog, table, f"writer-{n}", wanted) for n, catalog in enumerate(opened)
        ]
        while not all(writer.done() for writer in racing):
            seen.append([schema.version for schema in reader.schemas(table)])
        made = sorted(version for writer in racing for version in writer.result())
    assert made == [schema.version for schema in reader.schemas(table)] == list(range(1, wanted + 1))
    assert all(versions == list(range(1, len(versions) + 1)) for versions in seen)
    assert all(len(earlier) <= len(later) for earlier, later in pairwise(seen))


def append_schemas(catalog: Catalog, table: TableKey, name: str, count: int) -> list[int]:
    """Append to the history as it was last seen until there are so many versions; tell which were ours."""
    made: list[int] = []
    last = 0
    while last < count:
        try:
            last = catalog.append_schema(table, json.dumps({"by": name, "after": last}), after=last).version
            made.append(last)
        except SchemaMoved as moved:
            last = moved.found
    return made


def test_a_version_is_appended_once_and_only_to_the_history_its_writer_knew(
    catalog: Catalog, other: Catalog, pipeline: str
) -> None:
    table = table_of(pipeline)
    first = catalog.append_schema(table, "{}", after=0)
    assert first.version == 1
    assert other.append_schema(table, "{}", after=0) == first
    for schema, after in (('{"a": 1}', 0), ('{"a": 1}', 2)):
        with pytest.raises(SchemaMoved):
            other.append_schema(table, schema, after=after)
    assert other.append_schema(table, '{"a": 1}', after=1).version == 2
    assert [schema.version for schema in catalog.schemas(table)] == [1, 2]


def test_a_run_ends_once(catalog: Catalog, clock: ManualClock, pipeline: str) -> None:
    run = Run(f"run of {pipeline}", pipeline, RunStatus.RUNNING, clock.now())
    ended = replace(run, status=RunStatus.SUCCEEDED, finished_at=clock.now(), rows=5, bytes=50)
    catalog.record_run(run)
    catalog.record_run(ended)
    catalog.record_run(ended)
    for changed in (run, replace(ended, status=RunStatus.FAILED)):
        with pytest.raises(BackwardMove):
            catalog.record_run(changed)
    assert catalog.runs(pipeline) == (ended,)


@pytest.mark.commits
def test_a_release_that_is_older_than_the_store_refuses_it(fresh: Subject, handles: Handles) -> None:
    handles(fresh, None).register(Pipeline("p"))
    fresh.raw.mark_newer()
    with pytest.raises(CatalogTooNew):
        handles(fresh, None).register(Pipeline("p"))
