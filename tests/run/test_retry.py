"""The retry loop reads `recovery` and nothing else, and waits no longer than it has to."""

from __future__ import annotations

import pytest

from clocks import ManualClock
from hakiri import errors
from hakiri.errors import HakiriError, conceal
from hakiri.extract.errors import RateLimited, SourceRefused, SourceUnreachable
from hakiri.model.chunk import FailureKind
from hakiri.run.retry import Backoff, call_with_retries, failure_of
from hakiri.run.stop import Stop

BACKOFF = Backoff(max_attempts=4, initial_seconds=1.0, max_seconds=3.0, jitter=False)
UNREACHABLE = SourceUnreachable(connector="c", table="t", reason="gone")
REFUSED = SourceRefused(connector="c", table="t", reason="no")


class Failing:
    """Fails so many times, then answers."""

    def __init__(self, error: HakiriError, times: int) -> None:
        self.error, self.left, self.calls = error, times, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "answer"


def waits(call: Failing, clock: ManualClock, stop: Stop | None = None) -> list[float]:
    told: list[float] = []
    call_with_retries(
        call, backoff=BACKOFF, clock=clock, stop=stop or Stop(), on_retry=lambda _, wait: told.append(wait)
    )
    return told


def test_a_call_that_may_pass_is_made_again_after_twice_the_time_up_to_a_limit(clock: ManualClock) -> None:
    started = clock.now()
    assert waits(Failing(UNREACHABLE, 3), clock) == [1.0, 2.0, 3.0]
    assert (clock.now() - started).total_seconds() == pytest.approx(6.0)


def test_the_last_attempt_raises_what_it_met(clock: ManualClock) -> None:
    call = Failing(UNREACHABLE, 9)
    with pytest.raises(SourceUnreachable):
        waits(call, clock)
    assert call.calls == 4


def test_what_a_person_has_to_mend_is_raised_at_once(clock: ManualClock) -> None:
    call = Failing(REFUSED, 1)
    with pytest.raises(SourceRefused):
        waits(call, clock)
    assert call.calls == 1


def test_a_source_that_names_a_time_is_given_it(clock: ManualClock) -> None:
    assert waits(Failing(RateLimited(connector="c", table="t", retry_after_seconds=30.0), 1), clock) == [30.0]


def test_a_stop_ends_the_waiting(clock: ManualClock) -> None:
    stop = Stop()
    stop.ask()
    call = Failing(UNREACHABLE, 1)
    with pytest.raises(SourceUnreachable):
        waits(call, clock, stop)
    assert call.calls == 1


def test_jitter_shortens_a_wait_by_half_at_most() -> None:
    jittered = Backoff(max_attempts=4, initial_seconds=8.0, max_seconds=60.0)
    found = {jittered.seconds(2, UNREACHABLE) for _ in range(200)}
    assert all(8.0 <= wait <= 16.0 for wait in found)
    assert max(found) - min(found) > 4.0


def test_a_failed_attempt_means_another_or_none() -> None:
    assert failure_of(UNREACHABLE, BACKOFF, 2).kind is FailureKind.RETRYABLE
    assert failure_of(UNREACHABLE, BACKOFF, 2).retry_after_seconds == 2.0
    assert failure_of(REFUSED, BACKOFF, 1).kind is FailureKind.PERMANENT


@pytest.mark.parametrize("kind", [SourceUnreachable, SourceRefused])
def test_what_the_catalog_keeps_of_a_failed_attempt_has_no_secret(
    monkeypatch: pytest.MonkeyPatch, kind: type[SourceUnreachable | SourceRefused]
) -> None:
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())
    conceal("hunter2-hunter2")
    error = kind(connector="x", reason="no user hunter2-hunter2")
    assert failure_of(error, BACKOFF, 1).message.endswith("no user ***")
