"""A token that a read brings lands with its rows, becomes the cursor last (G5), and is where the next run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conformance.connector.walks import LogConnector, PagesConnector
from hakiri.extract.connectors.token import token_batch, token_of
from hakiri.model.crash_points import STOP_AT, Boundary
from hakiri.model.cursor import StoredCursor, to_text
from hakiri.model.key import KeyValue
from hakiri.model.ledger import RunStatus
from hakiri.model.source import CursorKind, Survey
from hakiri.model.span import PageToken, Span
from hakiri.model.table import TableSchema
from hakiri.plan.reading import from_json
from hakiri.run import extract_chunks
from hakiri.run.facts import gather_facts
from hakiri.run.pipeline import Stage
from hakiri.stage.local import LocalFiles
from hakiri.stage.manifest import read_manifest
from run.walking import ONE_PASS, RECOVERY, THINGS, Walking, call_here, things

PAGES, LOG = CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID


@pytest.fixture
def walking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Walking]:
    monkeypatch.setattr(extract_chunks, "call_on_executor", call_here)

    def build(kind: CursorKind, count: int, **more: Any) -> Walking:
        made = Walking(tmp_path, kind=kind, **more)
        made.publish(count)
        return made

    return build


def end(kind: CursorKind, count: int) -> KeyValue:
    """The token after this many rows."""
    return f"row {count}" if kind is PAGES else count // 30 - 1


def stored(value: KeyValue) -> str:
    return to_text(StoredCursor(value))


def ids(walk: Walking) -> list[int]:
    return sorted(pl.read_delta(str(walk.table))["id"].to_list())


def wanted(count: int) -> list[int]:
    return sorted(row["id"] for row in things(count))


@pytest.mark.parametrize("kind", [PAGES, LOG])
@pytest.mark.parametrize(
    ("boundary", "left_to_do"),
    [
        (Boundary.COMPLETED, ONE_PASS),
        (Boundary.AFTER_COMMIT, ONE_PASS),
        (Boundary.SNAPSHOT_RECORDED, RECOVERY),
        (Boundary.CURSOR_MOVED, None),
    ],
)
def test_a_token_survives_a_kill_and_moves_the_cursor_once_its_rows_have_landed(
    walking: Callable[..., Walking], kind: CursorKind, boundary: Boundary, left_to_do: Sequence[Stage] | None
) -> None:
    walk = walking(kind, 60)
    command = [sys.executable, "-m", "run.walking", str(walk.root), kind.value, walk.mode]
    environment = {**os.environ, STOP_AT: boundary}
    killed = subprocess.run(command, cwd=Path(__file__).parents[1], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (walk.cursor() is None) is (left_to_do is not None)
    if left_to_do is not None:
        result = walk.run_once(stages=left_to_do)
        assert (result.status, result.errors) == (RunStatus.SUCCEEDED, ())
    assert (ids(walk), walk.cursor()) == (wanted(60), stored(end(kind, 60)))
    assert {reading.since for reading in walk.next_reads()} == {end(kind, 60)}


def test_of_several_streams_the_least_position_is_the_cursor(
    walking: Callable[..., Walking], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stream is read after the other, and the source grows in between."""
    walk = walking(LOG, 210, parallelism=1)
    grown = iter((240,))

    def growing(session: object, task: Callable[[], Any]) -> Any:
        done = call_here(session, task)
        for count in grown:
            walk.publish(count)
        return done

    monkeypatch.setattr(extract_chunks, "call_on_executor", growing)
    walk.run_once()
    with walk.services() as parts:
        brought = [state.seal.token for state in parts.catalog.chunks(THINGS) if state.seal]
    assert (sorted(brought), walk.cursor()) == ([stored(6), stored(7)], stored(6))
    assert [reading.since for reading in walk.next_reads()] == [6, 6]


@pytest.mark.parametrize("kind", [PAGES, LOG])
@pytest.mark.parametrize("mode", ["upsert", "append"])
def test_each_run_goes_on_from_the_token_and_every_row_lands_once(
    walking: Callable[..., Walking], spark: SparkSession, kind: CursorKind, mode: str
) -> None:
    walk = walking(kind, 60, mode=mode, session=spark)
    for count in (60, 90, 90, 300):
        walk.publish(count)
        result = walk.run_once()
        assert (result.status, result.errors) == (RunStatus.SUCCEEDED, ())
        assert (ids(walk), walk.cursor()) == (wanted(count), stored(end(kind, count)))


def test_a_run_walks_pages_to_their_end_a_few_with_each_chunk(
    walking: Callable[..., Walking], spark: SparkSession
) -> None:
    walk = walking(PAGES, 300, session=spark)
    walk.run_once()
    with walk.services() as parts:
        states = parts.catalog.chunks(THINGS)
    seals = [state.seal for state in states if state.seal]
    ends = ["row 80", "row 160", "row 240", "row 300"]
    assert [from_json(state.chunk.predicate).span for state in states] == [PageToken(at) for at in (None, *ends)]
    assert [seal.token for seal in seals] == [stored(at) for at in (*ends, "row 300")]
    assert [read_manifest(LocalFiles(walk.table), seal.path).token for seal in seals] == [*ends, "row 300"]
    assert ids(walk) == wanted(300)


@pytest.mark.parametrize(("mode", "options"), [("truncate", {}), ("append", {"is_full_refresh": True})])
def test_pages_that_replace_a_table_are_read_to_their_end_before_they_land(
    walking: Callable[..., Walking], spark: SparkSession, mode: str, options: dict[str, Any]
) -> None:
    walk = walking(PAGES, 60, mode=mode, session=spark)
    walk.run_once()
    walk.publish(300)
    result = walk.run_once(**options)
    assert (result.status, result.errors, ids(walk)) == (RunStatus.SUCCEEDED, (), wanted(300))
    assert result.landings[0].landed.tally.staged == 300
    assert walk.cursor() == stored("row 300")


@dataclass(frozen=True)
class EndingPages(PagesConnector):
    """Pages of which the last one has no token, or leads back to the first."""

    leads_back: bool = False

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        *batches, token = super().read(schema, span, columns=columns, since=since)
        is_last = token_of(token) == f"row {len(self._rows())}"
        yield from batches if is_last else (*batches, token)
        if is_last and self.leads_back:
            yield token_batch("row 0")


@dataclass
class Ending(Walking):
    """The same table, from pages that end."""

    leads_back: bool = False

    @property
    def connector(self) -> EndingPages:
        return EndingPages(self.root / "rows.jsonl", page_rows=40, pages_a_read=2, leads_back=self.leads_back)


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_a_walk_ends_with_a_page_that_has_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(extract_chunks, "call_on_executor", call_here)
    walk = Ending(tmp_path, mode=mode)
    walk.publish(60)
    result = walk.run_once()
    assert (result.status, ids(walk)) == (RunStatus.SUCCEEDED, wanted(60))
    with walk.services() as parts:
        assert len(parts.catalog.chunks(THINGS)) == 1


def test_a_walk_that_leads_back_to_its_first_page_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_chunks, "call_on_executor", call_here)
    walk = Ending(tmp_path, mode="truncate", leads_back=True)
    walk.publish(60)
    result = walk.run_once(stages=ONE_PASS)
    assert result.errors == ()
    assert set(ids(walk)) == set(wanted(60))


@dataclass(frozen=True)
class PlacedLog(LogConnector):
    """A log whose surveys tell the position of their server; `known` are the positions that reads were given."""

    known: list[str] = field(default_factory=list)

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        return replace(super().survey(schema, since=since), standing="7 5")

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        self.known.append(schema.standing)
        return super().read(schema, span, columns=columns, since=since)


@dataclass
class Placed(Walking):
    """The same table, from a log whose surveys tell the position of their server."""

    known: list[str] = field(default_factory=list)

    @property
    def connector(self) -> PlacedLog:
        return PlacedLog(self.root / "rows.jsonl", known=self.known)


def test_reads_are_given_the_position_that_their_survey_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_chunks, "call_on_executor", call_here)
    walk = Placed(tmp_path, kind=LOG)
    walk.publish(60)
    with walk.at_work() as parts:
        assert gather_facts(walk.spec, walk.connector, parts.catalog).schemas["things"].standing == "7 5"
    assert walk.run_once(stages=ONE_PASS).status is RunStatus.SUCCEEDED
    assert set(walk.known) == {"7 5"}
