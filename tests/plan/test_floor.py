"""A read starts where the last one ended less the lag, and a setting the cursor cannot bear is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hakiri.errors import HakiriError, render
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.cursor import CursorColumn, StoredCursor, is_ahead, to_text
from hakiri.model.ledger import Cursor
from hakiri.model.source import BackfillHint, CursorKind, RateBudget
from hakiri.model.types import LONG
from hakiri.model.types.text import parse_type
from hakiri.plan.errors import (
    CursorColumnChanged,
    CursorColumnMissing,
    CursorUnordered,
    CursorUnreadable,
    KeyNeeded,
    NoWindowForCursor,
    UnfitForCursor,
    WatermarkUnfit,
    WindowTooSmall,
)
from hakiri.plan.facts import ColumnFact, TransformFact
from hakiri.plan.knobs import Origin, Setting, knobs_of
from hakiri.plan.make import make_plan
from hakiri.plan.read_from import floor_of
from hakiri.spec.load import LoadMode
from plan.world import HINT, NOW, facts_of, landed_keys, rows_of, spec_of, state_of, stored, survey_of

WITH_LAG = {"column": "cursor", "lag": "36h"}


def floor(kind: str, cursor: Any = None, **spec: Any) -> Any:
    facts = facts_of(spec_of(**spec), kind=kind, cursor=None if cursor is None else stored(cursor))
    return floor_of(facts, facts.tables[0])


@pytest.mark.parametrize(
    ("kind", "cursor", "expected"),
    [
        ("timestamp", NOW, NOW - timedelta(hours=36)),
        ("timestamp_ntz", datetime(2026, 1, 3), datetime(2026, 1, 1, 12)),
        ("date", date(2026, 1, 3), date(2026, 1, 1)),
        ("timestamp", datetime.min.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)),
        ("date", date.min, date.min),
    ],
)
def test_a_floor_is_the_cursor_less_the_lag(kind: str, cursor: Any, expected: Any) -> None:
    assert floor(kind, cursor, incremental=WITH_LAG) == expected


@pytest.mark.parametrize(
    ("kind", "start", "expected"),
    [
        ("timestamp", "2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("timestamp_ntz", "2026-01-01T02:00:00+02:00", datetime(2026, 1, 1)),
        ("date", "2026-01-01", date(2026, 1, 1)),
        ("bigint", 7, 7),
        ("decimal(9,2)", 7, Decimal(7)),
        ("double", 7, 7.0),
    ],
)
def test_a_start_is_taken_as_the_cursor_counts(kind: str, start: Any, expected: Any) -> None:
    found = floor(kind, backfill={"start_from": start})
    assert (found, type(found)) == (expected, type(expected))


def test_a_start_bounds_the_overlap_too() -> None:
    assert floor("bigint", 5, backfill={"start_from": 7}) == 7
    assert floor("bigint", 9, backfill={"start_from": 7}) == 9


def test_a_table_without_a_cursor_is_read_from_its_beginning() -> None:
    assert floor("bigint", incremental=None, backfill={"start_from": 7}) is None


@pytest.mark.parametrize(
    ("kind", "spec", "error", "said"),
    [
        ("bigint", {"incremental": WITH_LAG}, UnfitForCursor, "`incremental.lag` is a length of time"),
        ("bigint", {"backfill": {"start_from": "2026-01-01"}}, UnfitForCursor, "`backfill.start_from` is a time"),
        ("timestamp", {"backfill": {"start_from": 5}}, UnfitForCursor, "`backfill.start_from` is a number"),
        ("string", {"backfill": {"window": "30d"}}, NoWindowForCursor, "the table is then cut by size"),
        ("bigint", {"incremental": "cursr"}, CursorColumnMissing, "did you mean `cursor`?"),
    ],
)
def test_what_the_cursor_cannot_bear_is_refused(
    kind: str, spec: dict[str, Any], error: type[HakiriError], said: str
) -> None:
    with pytest.raises(error) as caught:
        make_plan([facts_of(spec_of(**spec), kind=kind, survey=survey_of([]))])
    assert said in render(caught.value)


def test_a_window_that_would_cut_to_dust_is_refused() -> None:
    survey = survey_of(rows_of([datetime(1990, 1, 1, tzinfo=UTC), NOW]))
    with pytest.raises(WindowTooSmall, match="into 1146441601 chunks"):
        make_plan([facts_of(spec_of(backfill={"window": "1s"}), kind="timestamp", survey=survey)])


def test_a_connectors_window_is_not_forced_on_a_number() -> None:
    hint = BackfillHint(CursorKind.MONOTONIC, safe_parallelism=1, natural_window=timedelta(days=1))
    assert make_plan([facts_of(hint=hint, survey=survey_of(rows_of([1])))]).has_work


@pytest.mark.parametrize("text", ["{", "[1]", '["int","x"]'])
def test_a_cursor_of_another_make_is_not_guessed_at(text: str) -> None:
    cursor = Cursor(TableKey("shop", "orders"), text, 1, NOW)
    with pytest.raises(CursorUnreadable):
        make_plan([facts_of(cursor=cursor, survey=survey_of([]))])
    refreshed = make_plan([facts_of(cursor=cursor, survey=survey_of([]), is_full_refresh=True)])
    assert refreshed.has_work


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp", 5),
        ("bigint", NOW),
        ("date", NOW),
        ("timestamp_ntz", date(2026, 1, 1)),
        ("string", 500),
        ("bigint", "500"),
        ("binary", "500"),
    ],
)
def test_a_cursor_of_another_column_is_not_compared_with_this_one(kind: str, value: Any) -> None:
    with pytest.raises(CursorUnreadable, match=f"and `cursor` is {kind} now"):
        make_plan([facts_of(kind=kind, cursor=stored(value), survey=survey_of([]))])


@pytest.mark.parametrize("before", [CursorColumn("seen", "bigint"), CursorColumn("cursor", "boolean")])
def test_a_full_refresh_that_was_cut_off_goes_on_without_the_stored_cursor(before: CursorColumn) -> None:
    other = Cursor(TableKey("shop", "orders"), to_text(StoredCursor(5, before)), 1, NOW)
    survey = survey_of(rows_of(range(9)), weight=20_000)
    chunks = make_plan([facts_of(cursor=other, survey=survey, is_full_refresh=True)]).new_chunks
    assert len(chunks) > 1
    known = [state_of(chunks[0], ChunkStatus.DONE), *map(state_of, chunks[1:])]
    for seen in (None, survey):
        facts = facts_of(cursor=other, known=known, survey=seen, is_cursor_ahead=True)
        assert floor_of(facts, facts.tables[0]) is None
        table = make_plan([facts]).pipelines[0].tables[0]
        assert (table.counts.open, "future-cursor" in [one.kind for one in table.cautions]) == (len(chunks), False)
    landed = facts_of(cursor=other, known=known, landed=landed_keys(chunks), survey=survey)
    with pytest.raises((CursorColumnChanged, CursorUnreadable)):
        make_plan([landed])


@pytest.mark.parametrize(
    ("before", "kind", "goes_on"),
    [
        ("bigint", "decimal(20,2)", True),
        ("int", "double", True),
        ("boolean", "bigint", False),
        ("binary", "string", False),
    ],
)
def test_a_cursor_goes_on_only_by_its_own_kind_of_type(before: str, kind: str, goes_on: bool) -> None:
    value = "a" if kind == "string" else 5
    last = Cursor(TableKey("shop", "orders"), to_text(StoredCursor(value, CursorColumn("cursor", before))), 1, NOW)
    facts = facts_of(kind=kind, cursor=last, survey=survey_of([]))
    if goes_on:
        assert floor_of(facts, facts.tables[0]) == value
        return
    with pytest.raises(CursorUnreadable, match=rf"\({value}\) is {before}, and `cursor` is"):
        floor_of(facts, facts.tables[0])


def test_a_cursor_goes_on_only_by_its_own_column() -> None:
    other = Cursor(TableKey("shop", "orders"), to_text(StoredCursor(5, CursorColumn("seen", "bigint"))), 1, NOW)
    with pytest.raises(CursorColumnChanged, match="up to `seen` = 5, and its cursor is `cursor` now"):
        make_plan([facts_of(cursor=other, survey=survey_of([]))])
    renamed = spec_of(tables=[{"name": "orders", "renamed": {"cursor": "seen"}}])
    facts = facts_of(renamed, cursor=other, survey=survey_of([]))
    assert floor_of(facts, facts.tables[0]) == 5


def test_a_cursor_that_lands_in_another_order_is_refused_where_its_order_matters() -> None:
    with pytest.raises(CursorUnordered, match=r"cannot be the cursor of .*: it sorts otherwise"):
        make_plan([facts_of(unordered="it sorts otherwise", survey=survey_of([]))])
    whole = spec_of(load={"mode": "truncate"})
    assert make_plan([facts_of(whole, unordered="it sorts otherwise", survey=survey_of([]))]).has_work


@pytest.mark.parametrize("is_full_refresh", [False, True])
@pytest.mark.parametrize("landed", ["string", "timestamp"])
def test_a_cursor_that_the_table_holds_as_text_is_refused(landed: str, is_full_refresh: bool) -> None:
    columns = (ColumnFact("id", LONG), ColumnFact("Cursor", parse_type(landed)))
    held: dict[str, Any] = {"landed_columns": columns, "survey": survey_of([]), "is_full_refresh": is_full_refresh}
    accepted = {"Cursor": "date | bigint"}
    with pytest.raises(CursorUnordered, match="it is bigint at the source and text in the table") as caught:
        make_plan([facts_of(**held, accepted=accepted)])
    assert "help: read `cursor` under another name in a `query`" in render(caught.value)
    assert make_plan([facts_of(spec_of(load={"mode": "truncate"}), **held, accepted=accepted)]).has_work
    assert make_plan([facts_of(kind="string", **held, accepted={"cursor": "string"})]).has_work
    assert make_plan([facts_of(**held)]).has_work, "a type that is not accepted is refused as a change of the schema"


def test_an_accepted_narrower_cursor_sorts_as_it_lands() -> None:
    columns = (ColumnFact("id", LONG), ColumnFact("cursor", LONG))
    facts = facts_of(kind="int", landed_columns=columns, accepted={"cursor": "int"}, survey=survey_of([]))
    assert make_plan([facts]).has_work


@pytest.mark.parametrize(
    ("value", "is_so"),
    [
        (NOW + timedelta(seconds=1), True),
        (NOW, False),
        (NOW.replace(tzinfo=None) + timedelta(hours=14), False),
        (NOW.replace(tzinfo=None) + timedelta(hours=15), True),
        (NOW.date(), False),
        (NOW.date() + timedelta(days=1), True),
        (5, False),
        (None, False),
    ],
)
def test_a_time_is_ahead_in_whatever_zone_it_is_meant(value: Any, is_so: bool) -> None:
    assert is_ahead(value, NOW) is is_so


def test_a_top_in_the_future_is_said() -> None:
    top = NOW + timedelta(days=900)
    plan = make_plan([facts_of(kind="timestamp", survey=survey_of(rows_of([NOW, top])), is_ahead=True)])
    (said,) = (one.text for one in plan.pipelines[0].tables[0].cautions if one.kind == "future-cursor")
    assert top.replace(tzinfo=None).isoformat() in said


@pytest.mark.parametrize(
    ("kind", "last", "top", "is_cursor_ahead", "told"),
    [
        ("timestamp", NOW + timedelta(days=900), NOW, True, "future-cursor"),
        ("timestamp", NOW, NOW - timedelta(days=1), False, "cursor-beyond-source"),
        ("timestamp", NOW, NOW, False, None),
        ("bigint", 500, 499, False, "cursor-beyond-source"),
        ("string", "b", "a", False, "cursor-beyond-source"),
        ("bigint", 500, None, False, None),
    ],
)
def test_a_cursor_that_new_rows_may_come_before_is_said_with_the_way_out(
    kind: str, last: Any, top: Any, is_cursor_ahead: bool, told: str | None
) -> None:
    facts = {"cursor": stored(last), "survey": survey_of(rows_of([top])), "is_cursor_ahead": is_cursor_ahead}
    plan = make_plan([facts_of(kind=kind, **facts)])
    said = {one.kind: one.text for one in plan.pipelines[0].tables[0].cautions}
    assert {"future-cursor", "cursor-beyond-source"} & set(said) == ({told} if told else set())
    assert told is None or "`hakiri apply shop --full-refresh`" in said[told]
    anew = make_plan([facts_of(kind=kind, is_full_refresh=True, **facts)])
    assert not {"future-cursor", "cursor-beyond-source"} & {one.kind for one in anew.pipelines[0].tables[0].cautions}


def test_a_knob_tells_who_set_it() -> None:
    hint = BackfillHint(CursorKind.MONOTONIC, safe_parallelism=4, rate_budget=RateBudget(5, 1.0))
    knobs = knobs_of(facts_of(spec_of(backfill={"window": "30d"}, retry={"max_attempts": 5}), hint=hint))
    assert knobs.window == Setting(timedelta(days=30), Origin.MANIFEST)
    assert knobs.parallelism == Setting(4, Origin.CONNECTOR)
    assert knobs.rate_budget == Setting(RateBudget(5, 1.0), Origin.CONNECTOR)
    assert knobs.max_attempts == Setting(5, Origin.MANIFEST)
    assert knobs.start_from == Setting(None, Origin.DEFAULT)


def test_more_parallelism_than_the_source_bears_is_said_and_done() -> None:
    plan = make_plan([facts_of(spec_of(backfill={"parallelism": 9}), hint=HINT, survey=survey_of([]))]).pipelines[0]
    assert plan.knobs.parallelism == Setting(9, Origin.MANIFEST)
    assert "parallelism" in [caution.kind for caution in plan.tables[0].cautions]


@pytest.mark.parametrize(
    ("spec", "table", "kind"),
    [
        ({"incremental": None, "backfill": {"window": "1d"}}, {}, "no-cursor"),
        ({}, {}, "numeric-cursor"),
        ({}, {"primary_key": ()}, "no-key"),
        ({"incremental": None, "load": {"upsert_key": "part"}}, {"source_key": ("id",)}, "no-order"),
        ({"load": {"upsert_key": "part"}}, {"transform": TransformFact("f00d", False, keeps_cursor=False)}, "no-order"),
        ({}, {"produced": (ColumnFact("id", LONG),)}, "no-order"),
        ({"tables": [{"name": "orders", "primary_key": ["id"]}]}, {"source_key": ("part", "id")}, "other-key"),
        ({"load": {"mode": "upsert", "upsert_key": "id"}}, {"source_key": ("part",)}, "other-key"),
    ],
)
def test_what_may_surprise_is_said(spec: dict[str, Any], table: dict[str, Any], kind: str) -> None:
    plan = make_plan([facts_of(spec_of(**spec), survey=survey_of([]), **table)])
    assert kind in [caution.kind for caution in plan.pipelines[0].tables[0].cautions]


def test_a_table_with_a_key_lands_by_upsert_and_one_without_by_append_unless_declared_otherwise() -> None:
    def mode(spec: dict[str, Any], **table: Any) -> LoadMode:
        return make_plan([facts_of(spec_of(**spec), survey=survey_of([]), **table)]).pipelines[0].tables[0].load.mode

    assert mode({}) is LoadMode.UPSERT
    assert mode({}, primary_key=()) is LoadMode.APPEND
    assert mode({"load": {"upsert_key": "part"}}, primary_key=()) is LoadMode.UPSERT
    assert mode({"load": {"mode": "append"}}) is LoadMode.APPEND
    with pytest.raises(KeyNeeded):
        mode({"load": {"mode": "upsert"}}, primary_key=())


MARKED = {"load": {"mode": "incremental_watermark", "watermark_column": "cursor"}, "incremental": None}


@pytest.mark.parametrize(
    ("kind", "held", "expected"),
    [
        ("timestamp", NOW, NOW),
        ("timestamp_ntz", datetime(2026, 1, 3), datetime(2026, 1, 3)),
        ("date", date(2026, 1, 3), date(2026, 1, 3)),
        ("bigint", 7, 7),
        ("decimal(9,2)", Decimal("7.25"), Decimal("7.25")),
        ("double", 7.5, 7.5),
        ("timestamp", None, None),
        ("string", "greatest", None),  # another order at the source
    ],
)
def test_a_watermark_is_what_the_table_holds_whatever_the_cursor_says(kind: str, held: Any, expected: Any) -> None:
    facts = facts_of(spec_of(**MARKED), kind=kind, cursor=stored("no value of this column"), watermark=held)
    assert floor_of(facts, facts.tables[0]) == expected


def test_a_watermark_of_another_kind_than_its_source_is_refused() -> None:
    facts = facts_of(spec_of(**MARKED), kind="bigint", watermark=NOW)
    with pytest.raises(CursorUnreadable):
        floor_of(facts, facts.tables[0])


@pytest.mark.parametrize("kind", ["boolean", "binary", "array<int>"])
def test_a_column_without_an_order_is_no_watermark(kind: str) -> None:
    facts = facts_of(spec_of(**MARKED), kind=kind)
    with pytest.raises(WatermarkUnfit, match="no order that the source and the table share"):
        floor_of(facts, facts.tables[0])


def test_a_full_refresh_asks_no_watermark() -> None:
    facts = facts_of(spec_of(**MARKED), watermark=7, is_full_refresh=True)
    assert floor_of(facts, facts.tables[0]) is None


def test_a_watermark_is_the_cursor_of_its_table_alone() -> None:
    tables = [{"name": "orders", "load": MARKED["load"]}, "customers"]
    spec = spec_of(tables=tables, incremental={"column": "changed", "lag": "1h"})
    assert [one and one.column for one in map(spec.incremental_of, spec.tables)] == ["cursor", "changed"]
