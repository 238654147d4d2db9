"""Whether and when something that failed is tried again is decided here, and read from `recovery` alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import random
from typing import Self, TypeVar

from hakiri.errors import HakiriError, Recovery, mask
from hakiri.extract.errors import RateLimited
from hakiri.land.errors import HookUnanswered
from hakiri.model.chunk import Failure, FailureKind
from hakiri.model.clock import Clock
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import RetrySpec

_Answer = TypeVar("_Answer")
OnRetry = Callable[[HakiriError, float], None]
"""Called with a failure and the seconds until the next try."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a pipeline waits before it tries again: twice as long each time, up to a limit."""

    max_attempts: int
    initial_seconds: float
    max_seconds: float
    jitter: bool = True

    @classmethod
    def of(cls, retry: RetrySpec) -> Self:
        """What the manifest says."""
        return cls(
            max_attempts=retry.max_attempts,
            initial_seconds=retry.initial_delay.total_seconds(),
            max_seconds=retry.max_delay.total_seconds(),
            jitter=retry.jitter,
        )

    def seconds(self, failures: int, error: HakiriError) -> float:
        """How long to wait after so many failures; never less than a source asks for."""
        wait = min(self.max_seconds, self.initial_seconds * 2.0 ** min(failures - 1, 60))
        if self.jitter:
            wait *= 0.5 + random() / 2  # noqa: S311 workers that failed together shall not come back together
        asked = error.retry_after_seconds if isinstance(error, RateLimited | HookUnanswered) else None
        return max(wait, asked or 0.0)


def call_with_retries(
    call: Callable[[], _Answer], *, backoff: Backoff, clock: Clock, stop: Stop, on_retry: OnRetry
) -> _Answer:
    """What the call returns, tried again while it fails with RETRY and attempts are left.

    Any other error, the last one, and the one that a stop finds are raised as they are.
    """
    for failures in range(1, backoff.max_attempts + 1):
        try:
            return call()
        except HakiriError as error:
            if error.recovery is not Recovery.RETRY or failures == backoff.max_attempts:
                raise
            wait = backoff.seconds(failures, error)
            on_retry(error, wait)
            if stop.wait(wait, clock):
                raise
    raise AssertionError("a manifest allows one attempt at least")


def failure_of(error: HakiriError, backoff: Backoff, failures: int) -> Failure:
    """What a failed attempt at a chunk means for the chunk, which has failed so many times in this run."""
    if error.recovery in (Recovery.FIX, Recovery.REPORT):
        return Failure(FailureKind.PERMANENT, error.code, mask(error.message()))
    return Failure(FailureKind.RETRYABLE, error.code, mask(error.message()), backoff.seconds(failures, error))
