"""A rewind reads every row of its window again that any round has read, and as few rounds for it as it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, Window
from hakiri.model.errors import WindowMismatch
from hakiri.model.key import KeyValue
from hakiri.model.span import OneFile, PageToken, Partition, Span, WholeTable, cut
from hakiri.plan.reading import Reading, to_json, window_of
from hakiri.plan.reread import chunks_to_reread
from hakiri.plan.rounds import History, chunk_name, round_in_name
from plan.world import UNTIMED, Row, chunk_rows, landed_keys, state_of

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def chunks_of(number: int, readings: Sequence[Reading]) -> list[Chunk]:
    keys = (ChunkKey("shop", "orders", chunk_name(number, place + 1)) for place in range(len(readings)))
    return [
        Chunk(
            key,
            place,
            window_of(reading, "cursor"),
            to_json(reading),
            round=number,
            is_refresh=reading.replaces,
        )
        for place, (key, reading) in enumerate(zip(keys, readings, strict=True))
    ]


def history_of(rounds: Sequence[Sequence[Reading]]) -> History:
    chunks = [chunk for number, readings in enumerate(rounds, 1) for chunk in chunks_of(number, readings)]
    return History.of([state_of(chunk, ChunkStatus.DONE) for chunk in chunks], landed_keys(chunks))


def rounds_taken(rounds: Sequence[Sequence[Reading]], window: Window) -> list[int]:
    return sorted(round_in_name(key.chunk) for key in chunks_to_reread(history_of(rounds), window))


@dataclass(frozen=True)
class Line:
    """A kind of cursor: its values by number, and the bounds an operator names."""

    value: Any
    bound: Any


LINES = {
    "whole": Line(int, int),
    "decimal": Line(lambda number: Decimal(number) / 2, lambda number: number // 2),
    "float": Line(lambda number: number / 4, lambda number: number // 4),
    "instant": Line(
        lambda number: DAY + timedelta(hours=number),
        lambda number: f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00.000000Z",
    ),
    "text": Line(lambda number: f"{number:02}", int),
}
NUMBERS = st.integers(0, 30)
ROUNDS = st.lists(
    st.tuples(
        st.none() | NUMBERS,
        st.lists(NUMBERS, max_size=3),
        st.sampled_from(["cursor", "id"]),
        st.sampled_from(["", "a", "b", "ab"]),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=6,
)
"""Of each round: its floor, where it is cut and along what, its partitions, and whether it is a full refresh."""


def readings_of(line: Line, since: int | None, cuts: list[int], by: str, parts: str, replaces: bool) -> list[Reading]:
    points = [(line.value(point) if by == "cursor" else point,) for point in sorted(cuts)]
    ranges = cut((by,), points, with_nulls=True)
    spans: list[Span] = [Partition((("part", part),), span) for part in parts for span in ranges] or [*ranges]
    floor: KeyValue | None = None if since is None else line.value(since)
    return [Reading(span, floor, replaces=replaces) for span in spans]


@pytest.mark.parametrize("kind", LINES)
@settings(UNTIMED, max_examples=150)
@given(ROUNDS, st.none() | NUMBERS, st.none() | NUMBERS)
def test_what_any_round_since_the_last_refresh_reads_of_the_window_is_read_again(
    kind: str, rounds: list[tuple[Any, ...]], low: int | None, high: int | None
) -> None:
    line = LINES[kind]
    history = history_of([readings_of(line, *one) for one in rounds])
    window = Window(*(None if edge is None else line.bound(edge) for edge in (low, high)))
    refreshed = max((number for number, one in enumerate(rounds, 1) if one[-1]), default=0)
    rows = [Row(number, line.value(number), part) for number in range(32) for part in "abc"]
    within = {row for row in rows if kind == "text" or _lies_in(window, line.bound(row.id))}
    standing = [state.chunk for state in history.chunks if state.chunk.round >= refreshed]
    taken = chunks_to_reread(history, window)
    assert {chunk.key for chunk in standing} >= taken
    read, reread = (
        {row for chunk in chunks for row in chunk_rows(within, chunk)}
        for chunks in (standing, [chunk for chunk in standing if chunk.key in taken])
    )
    assert reread == read


def _lies_in(window: Window, bound: Any) -> bool:
    return (window.lower is None or window.lower <= bound) and (window.upper is None or bound < window.upper)


def hourly(lag: int) -> list[list[Reading]]:
    """A first round of a day, and one for each hour of the next two days."""
    tops = [DAY + timedelta(hours=hour) for hour in range(24, 72)]
    first = [Reading(WholeTable(), reach=tops[0])]
    floors = [top - timedelta(hours=lag) for top in tops]
    return [first, *([Reading(WholeTable(), since, top)] for since, top in zip(floors, tops[1:], strict=False))]


@pytest.mark.parametrize("lag", [0, 6])
def test_a_window_between_two_rounds_takes_those_two_and_not_every_one_before(lag: int) -> None:
    low, high = "2026-01-02T12:30:00.000000Z", "2026-01-02T13:30:00.000000Z"
    assert rounds_taken(hourly(lag), Window(low, high)) == [14 + lag, 15 + lag]
    assert rounds_taken(hourly(lag), Window(None, "2026-01-01T05:00:00.000000Z")) == [1]
    assert rounds_taken(hourly(lag), Window("2027-01-01T00:00:00.000000Z")) == [48], "the newest is open"


def test_what_a_later_floor_leaves_out_is_read_by_the_round_before_it() -> None:
    """The manifest came to say `start_from`, above the reach of the round that was there."""
    rounds = [[Reading(WholeTable(), reach=5)], [Reading(WholeTable(), 20, 30)]]
    assert rounds_taken(rounds, Window(10, 12)) == [1]


def test_a_floor_between_two_whole_numbers_leaves_what_is_below_it_to_the_round_before() -> None:
    rounds = [[Reading(WholeTable(), reach=Decimal("7.5"))], [Reading(WholeTable(), Decimal("7.5"), Decimal(9))]]
    assert [rounds_taken(rounds, Window(low, low + 1)) for low in (6, 7, 8)] == [[1], [1, 2], [2]]


def test_a_round_that_began_above_a_later_one_is_not_read_again() -> None:
    """The manifest came to say a longer lag."""
    assert rounds_taken([[Reading(WholeTable(), 5, 8)], [Reading(WholeTable(), 3, 9)]], Window(0, 10)) == [2]


def test_a_partition_that_a_later_round_did_not_have_is_read_by_the_one_that_has_it() -> None:
    first, second = (Partition((("part", name),)) for name in "ab")
    rounds = [[Reading(first, 0, 5), Reading(second, 0, 5)], [Reading(first, 5, 9)]]
    history = history_of(rounds)
    found = {key.chunk for key in chunks_to_reread(history, Window(6, 7))}
    assert found == {chunk_name(1, 2), chunk_name(2, 1)}


@pytest.mark.parametrize("span", [OneFile("a.csv", "1"), PageToken()])
def test_files_and_pages_stand_for_themselves(span: Span) -> None:
    assert rounds_taken([[Reading(span)], [Reading(OneFile("b.csv", "1"))]], Window(1, 2)) == [1, 2]


def test_what_was_read_before_the_last_full_refresh_stays_as_it_is() -> None:
    """The source may have other columns since: such a chunk would fail for good, and hold its table."""
    old, anew = Reading(OneFile("a.csv", "1")), Reading(OneFile("a.csv", "2"), replaces=True)
    assert rounds_taken([[old], [anew], [Reading(OneFile("b.csv", "1"))]], Window()) == [2, 3]


def test_a_window_without_an_order_to_the_cursor_is_told() -> None:
    with pytest.raises(WindowMismatch):
        rounds_taken(hourly(0), Window(1, 2))


def test_the_latest_generation_is_the_one_to_read_again() -> None:
    (chunk,) = chunks_of(1, [Reading(WholeTable())])
    newer = replace(chunk, key=replace(chunk.key, generation=2))
    known = [state_of(one, ChunkStatus.DONE) for one in (chunk, newer)]
    assert chunks_to_reread(History.of(known, landed_keys([chunk, newer])), Window(1, 2)) == {newer.key}
