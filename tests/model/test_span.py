"""Spans are stored and read back exactly, and cuts lose nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.model.key import from_plain, to_plain
from hakiri.model.span import (
    KeyRange,
    OneFile,
    PageToken,
    Partition,
    PositionRange,
    WholeTable,
    cut,
    cut_positions,
    from_json,
    join,
    to_json,
)

VALUES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.text(),
    st.binary(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.times(),
    st.uuids(),
)
KEYS = st.lists(VALUES, min_size=1, max_size=3).map(tuple)
RANGES = st.builds(
    KeyRange,
    st.lists(st.text(), min_size=1, max_size=3).map(tuple),
    st.none() | KEYS,
    st.none() | KEYS,
    st.booleans(),
)
PAGES = st.builds(PageToken, st.none() | st.text())
SPANS = st.one_of(
    st.just(WholeTable()),
    RANGES,
    st.builds(PositionRange, st.none() | st.integers(), st.none() | st.integers()),
    st.builds(OneFile, st.text(), st.text()),
    PAGES,
    st.builds(
        Partition,
        st.lists(st.tuples(st.text(), st.none() | VALUES), max_size=2).map(tuple),
        st.one_of(st.just(WholeTable()), RANGES, PAGES),
    ),
)


@given(SPANS)
def test_a_span_comes_back_from_its_text_as_it_was(span: KeyRange) -> None:
    text = to_json(span)
    assert from_json(text) == span
    assert to_json(from_json(text)) == text


@given(VALUES)
def test_a_key_value_keeps_its_type(value: int) -> None:
    assert type(from_plain(to_plain(value))) is type(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, ["bool", "True"]),
        (2**70, ["int", str(2**70)]),
        (Decimal("1.500"), ["decimal", "1.500"]),
        (b"\x00\xff", ["bytes", "AP8="]),
        (datetime(2024, 1, 2, 5, tzinfo=timezone(timedelta(hours=2))), ["timestamp", "2024-01-02T03:00:00"]),
        (datetime(2024, 1, 2, 3, 4, 5, 6), ["timestamp_ntz", "2024-01-02T03:04:05.000006"]),
        (date(2024, 1, 2), ["date", "2024-01-02"]),
        (time(3, 4), ["time", "03:04:00"]),
        (UUID(int=5), ["uuid", "00000000-0000-0000-0000-000000000005"]),
    ],
)
def test_a_key_value_is_written_so(value: int, text: list[str]) -> None:
    assert to_plain(value) == text


@pytest.mark.parametrize(
    "text", ["", "5", "[]", "{}", '{"whole":false}', '{"positions":["a",1]}', '{"keys":[1],"low":null}', '{"token":5}']
)
def test_a_text_that_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


@pytest.mark.parametrize("plain", [["decimal", "x"], ["bool", "yes"], ["int", 5], ["complex", "1"], None])
def test_a_value_that_is_no_key_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_plain(plain)


@given(st.lists(st.integers(-50, 50)), st.integers(-60, 60))
def test_cuts_hold_every_integer_once(points: list[int], number: int) -> None:
    ranges = cut(("id",), [(point,) for point in sorted(points)], with_nulls=True)
    holding = [
        one
        for one in ranges
        if (one.low is None or one.low <= (number,)) and (one.high is None or (number,) < one.high)
    ]
    assert len(holding) == 1
    assert [one.with_nulls for one in ranges] == [True, *[False] * (len(ranges) - 1)]


@given(st.lists(st.integers(0, 100)))
def test_neighbours_join_to_the_whole(points: list[int]) -> None:
    for ranges in (cut(("id",), [(point,) for point in sorted(points)], with_nulls=True), cut_positions(points)):
        joined = ranges[0]
        for one in ranges[1:]:
            joined = join(joined, one)  # type: ignore[assignment]
        assert joined in (KeyRange(("id",), with_nulls=True), PositionRange())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (KeyRange(("a",), high=(1,)), KeyRange(("b",), low=(1,))),
        (KeyRange(("a",), high=(1,)), KeyRange(("a",), low=(2,))),
        (KeyRange(("a",)), KeyRange(("a",))),
        (WholeTable(), WholeTable()),
        (OneFile("a", "1"), OneFile("b", "1")),
        (Partition((("r", 1),)), Partition((("r", 2),))),
    ],
)
def test_strangers_do_not_join(first: KeyRange, second: KeyRange) -> None:
    assert join(first, second) is None
