"""What is not promised when a source changes its shape is warned of by `plan`, where it can happen and only there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus
from hakiri.model.source import Piece, Survey
from hakiri.model.span import OneFile
from hakiri.model.types import LONG, STRING
from hakiri.plan.caution import CautionKind
from hakiri.plan.facts import ColumnFact, TransformFact
from hakiri.plan.make import make_plan
from hakiri.plan.rounds import chunk_name
from plan.world import facts_of, landed_keys, rows_of, spec_of, state_of, survey_of

GUARANTEES = Path(__file__).parents[2] / "docs" / "guarantees.md"

BEFORE = (ColumnFact("id", LONG), ColumnFact("cursor", LONG), ColumnFact("part", STRING))
AFTER = (*BEFORE, ColumnFact("kind", STRING))
ROWS = survey_of(rows_of([1, 2]))


def cautions(spec: dict[str, Any], **table: Any) -> dict[str, str]:
    facts = facts_of(spec_of(**spec), **{"landed_columns": BEFORE, "survey": ROWS, **table})
    return {one.kind: one.text for one in make_plan([facts]).pipelines[0].tables[0].cautions}


@pytest.mark.parametrize(
    ("mode", "columns", "is_told"),
    [
        ("append", AFTER, True),
        ("append", BEFORE, False),
        ("upsert", AFTER, False),
        ("truncate", AFTER, False),
    ],
)
def test_a_new_column_is_warned_of_where_rows_that_are_read_again_are_compared_without_it(
    mode: str, columns: tuple[ColumnFact, ...], is_told: bool
) -> None:
    told = cautions({"load": {"mode": mode}}, produced=columns)
    assert (CautionKind.NEW_COLUMN in told) is is_told
    assert ("`kind`" in told.get(CautionKind.NEW_COLUMN, "")) is is_told


def test_a_new_column_is_no_matter_where_all_rows_are_read_anew() -> None:
    assert CautionKind.NEW_COLUMN not in cautions({"load": {"mode": "append"}}, produced=AFTER, is_full_refresh=True)


@pytest.mark.parametrize(
    ("statuses", "key", "is_told"),
    [
        ((ChunkStatus.DONE, ChunkStatus.PENDING), (), True),
        ((ChunkStatus.DONE, ChunkStatus.PENDING), ("id",), False),
        ((ChunkStatus.DONE, ChunkStatus.DONE), (), False),
        ((ChunkStatus.PENDING, ChunkStatus.PENDING), (), False),
    ],
)
def test_chunks_that_were_read_before_and_after_a_column_came_are_warned_of(
    statuses: tuple[ChunkStatus, ...], key: tuple[str, ...], is_told: bool
) -> None:
    spec = {"load": {"mode": "append"}}
    planned = make_plan([facts_of(spec_of(**spec), survey=survey_of(rows_of(range(9)), weight=1_000_000))]).new_chunks
    open_ = tuple(state_of(one, status) for one, status in zip(planned, statuses, strict=False))
    assert len(open_) == 2
    told = cautions(spec, produced=AFTER, primary_key=key, known=open_, survey=None)
    assert (CautionKind.MIXED_SHAPES in told) is is_told


def files(*found: tuple[str, str]) -> Survey:
    return Survey(tuple(Piece(OneFile(path, version), bytes=10) for path, version in found))


def landed(spec: dict[str, Any], *found: tuple[str, str]) -> dict[str, Any]:
    chunks: tuple[Chunk, ...] = make_plan([facts_of(spec_of(**spec), survey=files(*found))]).new_chunks
    return {"known": tuple(state_of(one, ChunkStatus.DONE, rows=1) for one in chunks), "landed": landed_keys(chunks)}


@pytest.mark.parametrize(
    ("mode", "found", "key", "kind"),
    [
        ("append", [("a.csv", "10-1"), ("b.csv", "10-2")], (), None),
        ("append", [("a.csv", "12-3"), ("b.csv", "10-2")], (), CautionKind.CHANGED_FILE),
        ("append", [("a.csv", "12-3"), ("b.csv", "10-2")], ("id",), None),
        ("append", [("c.csv", "10-1"), ("b.csv", "10-2")], (), CautionKind.RENAMED_FILE),
        ("append", [("c.csv", "10-1"), ("b.csv", "10-2")], ("id",), CautionKind.RENAMED_FILE),
        ("append", [("c.csv", "10-9"), ("b.csv", "10-2")], (), None),
        ("upsert", [("c.csv", "10-1"), ("a.csv", "12-3")], ("id",), None),
        ("truncate", [("c.csv", "10-1"), ("a.csv", "12-3")], (), None),
    ],
)
def test_a_file_that_has_changed_or_looks_like_one_that_landed_is_warned_of(
    mode: str, found: list[tuple[str, str]], key: tuple[str, ...], kind: CautionKind | None
) -> None:
    spec = {"load": {"mode": mode}, "incremental": None}
    state = landed(spec, ("a.csv", "10-1"), ("b.csv", "10-2"))
    told = cautions(spec, produced=BEFORE, primary_key=key, survey=files(*found), **state)
    assert [one for one in (CautionKind.CHANGED_FILE, CautionKind.RENAMED_FILE) if one in told] == [kind] * bool(kind)
    assert "a.csv" in told.get(kind, "") if kind else True


JOINING = TransformFact("cafe" * 16, sees_all=False, joins=("geo.countries",))


@pytest.mark.parametrize(
    ("mode", "transform", "is_full_refresh", "is_told"),
    [
        ("append", JOINING, False, True),
        ("append", replace(JOINING, joins=()), False, False),
        ("append", None, False, False),
        ("append", JOINING, True, False),
        ("upsert", JOINING, False, False),
        ("truncate", JOINING, False, False),
    ],
)
def test_a_joined_table_is_warned_of_where_rows_that_are_read_again_are_known_by_content(
    mode: str, transform: TransformFact | None, is_full_refresh: bool, is_told: bool
) -> None:
    told = cautions({"load": {"mode": mode}}, transform=transform, is_full_refresh=is_full_refresh)
    assert (CautionKind.JOINED_TABLE in told) is is_told
    assert ("`geo.countries`" in told.get(CautionKind.JOINED_TABLE, "")) is is_told


@pytest.mark.parametrize(("version", "is_told"), [("10-1", False), ("12-3", True)])
def test_a_joined_table_is_no_matter_for_files_that_are_read_once(version: str, is_told: bool) -> None:
    spec = {"load": {"mode": "append"}, "incremental": None}
    state = landed(spec, ("a.csv", "10-1"))
    told = cautions(spec, transform=JOINING, survey=files(("a.csv", version), ("b.csv", "10-2")), **state)
    assert (CautionKind.JOINED_TABLE in told) is is_told


@pytest.mark.parametrize(
    ("survey", "incremental", "is_told"),
    [(files(("a.csv", "10-1")), None, True), (files(("a.csv", "10-1")), "cursor", False), (ROWS, None, False)],
)
def test_files_without_a_cursor_that_lands_may_have_a_key_twice_whatever_it_is(
    survey: Survey, incremental: str | None, is_told: bool
) -> None:
    spec = {"load": {"mode": "upsert"}, "incremental": incremental}
    told = cautions(spec, produced=BEFORE, primary_key=("id",), source_key=("id",), survey=survey)
    assert ("that of the last file, by name, and line counts" in told.get(CautionKind.NO_ORDER, "")) is is_told
    assert (CautionKind.NO_ORDER in told) is is_told


@pytest.mark.parametrize(("tail", "is_told"), [("ab", True), ("cd", False), ("", False)])
def test_a_copy_of_another_age_is_known_by_its_size_and_its_last_bytes(tail: str, is_told: bool) -> None:
    spec = {"load": {"mode": "append"}, "incremental": None}
    one, copy = OneFile("a.csv", "10-1", "ab" if tail else ""), OneFile("c.csv", "10-7", tail)
    chunks = make_plan([facts_of(spec_of(**spec), survey=Survey((Piece(one, bytes=10),)))]).new_chunks
    state = {"known": tuple(state_of(one, ChunkStatus.DONE) for one in chunks), "landed": landed_keys(chunks)}
    survey = Survey((Piece(one, bytes=10), Piece(copy, bytes=10)))
    told = cautions(spec, produced=BEFORE, survey=survey, **state)
    assert ("c.csv looks like a.csv" in told.get(CautionKind.RENAMED_FILE, "")) is is_told


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_landed_chunks_of_which_a_rebuilt_catalog_knows_no_more_are_warned_of(mode: str) -> None:
    spec = {"load": {"mode": mode}}
    lost = frozenset(ChunkKey("pipeline", "events", chunk_name(1, place)) for place in range(1, 5))
    state = {"produced": BEFORE, "primary_key": ("id",), "landed": lost}
    told = cautions(spec, **state).get(CautionKind.LOST_MANIFESTS, "")
    if mode == "append":
        assert "manifests of 4 landed chunks are lost (0001-00001, 0001-00002, 0001-00003, ...)" in told
        assert "--full-refresh" in told
    else:
        assert not told
    assert CautionKind.LOST_MANIFESTS not in cautions(spec, is_full_refresh=True, **state)


def test_every_case_that_is_not_promised_names_the_caution_that_warns_of_it() -> None:
    text = GUARANTEES.read_text(encoding="utf-8")
    section = text.partition("## When a source changes its shape")[2].partition("\n## ")[0]
    open_cases = re.findall(r"^- (Not promised:.*?)(?=\n- |\n\n|\Z)", section, re.MULTILINE | re.DOTALL)
    named = [re.findall(r"caution\s+`([a-z-]+)`", case) for case in open_cases]
    assert open_cases
    assert all(named)
    assert {one for case in named for one in case} <= {*CautionKind}
