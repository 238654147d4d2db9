"""A budget is kept to in every stretch of time, not only on average."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from clocks import ManualClock
from hakiri.model.source import RateBudget
from hakiri.run.budget import Allowance, Quota


@given(st.integers(1, 5), st.lists(st.tuples(st.floats(0, 3), st.integers(1, 4)), max_size=30))
def test_no_window_holds_more_than_the_budget(requests: int, steps: list[tuple[float, int]]) -> None:
    clock = ManualClock()
    allowance = Allowance(RateBudget(requests, 5.0), clock)
    made: list[datetime] = []
    for wait, wanted in steps:
        clock.advance(wait)
        granted = allowance.left(wanted)
        assert 0 <= granted <= wanted
        allowance.spend(granted)
        made += [clock.now()] * granted
    for start in made:
        assert sum(start <= one < start + timedelta(seconds=5) for one in made) <= requests


def test_what_was_spent_comes_back_after_its_time(clock: ManualClock) -> None:
    allowance = Allowance(RateBudget(2, 60.0), clock)
    allowance.spend(2)
    assert allowance.left(1) == 0
    clock.advance(60)
    assert allowance.left(5) == 2


def test_without_a_budget_everything_is_allowed(clock: ManualClock) -> None:
    allowance = Allowance(None, clock)
    allowance.spend(1_000)
    assert allowance.left(7) == 7


def test_a_tick_is_one_over_all_rounds(clock: ManualClock) -> None:
    quota = Quota(None, 3, clock)
    quota.spend(quota.left(2))
    assert not quota.is_used_up
    quota.spend(quota.left(9))
    assert (quota.left(1), quota.is_used_up) == (0, True)
    assert not Quota(None, None, clock).is_used_up
