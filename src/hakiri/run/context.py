"""What every part of a run needs: its pipeline, its services, its journal, and retries."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from hakiri.errors import HakiriError, mask
from hakiri.model.clock import Clock
from hakiri.model.errors import Bug
from hakiri.run.events import Retrying, SparkAwaited, SparkReady
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Journal
from hakiri.run.retry import Backoff, call_with_retries
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Answer = TypeVar("_Answer")


def new_run_id(clock: Clock) -> str:
    """Make a unique name for a run. Names sort by the time the runs began."""
    return f"{clock.now():%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """A run of one pipeline while it lasts."""

    services: Services
    spec: PipelineSpec
    run: str
    journal: Journal
    stop: Stop
    heartbeat: Heartbeat

    @property
    def backoff(self) -> Backoff:
        return Backoff.of(self.spec.retry)

    def spark(self) -> SparkSession:
        """Return the Spark session. If it has to be started first, record that the run waits for it, and how long."""
        if self.services.has_spark():
            return self.services.spark()
        self.journal.record(SparkAwaited())
        started = monotonic()
        session = self.services.spark()
        self.journal.record(SparkReady(seconds=round(monotonic() - started, 3)))
        return session

    def as_bug(self, unforeseen: Exception) -> Bug:
        """Turn an unexpected exception into an error, with its traceback in a file beside the journal."""
        log = self.journal.path.with_suffix(".bug.log")
        try:
            with log.open("a", encoding="utf-8") as file:
                file.write(mask("".join(traceback.format_exception(unforeseen))))
        except OSError:
            return Bug(kind=type(unforeseen).__name__, detail=str(unforeseen))
        return Bug(kind=type(unforeseen).__name__, detail=str(unforeseen), log=str(log))

    def count_open(self) -> int:
        """Count the chunks that are left to read, for whichever worker. Raises CatalogError."""
        return self.services.catalog.count_unfinished(self.spec.id).left

    def with_retries(self, what: str, call: Callable[[], _Answer]) -> _Answer:
        """Call until it succeeds, as often as the manifest allows, and record each retry. Raises the last error."""

        def on_retry(error: HakiriError, wait: float) -> None:
            self.journal.record(
                Retrying(what=what, code=error.code, message=error.message(), retry_in_seconds=round(wait, 3))
            )

        return call_with_retries(
            call, backoff=self.backoff, clock=self.services.clock, stop=self.stop, on_retry=on_retry
        )
