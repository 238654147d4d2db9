"""A clock that is set while a run is under way dispatches nothing twice and loses no lease of a worker that lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from flow.flaky import Flaky
from flow.stand import Rows, Stand
from hakiri.catalog.port import LEASE_SECONDS
from hakiri.model.chunk import TableKey
from hakiri.model.clock import SystemClock
from hakiri.run.events import ChunkStaged
from hakiri.run.journal import Event, read_journal
from hakiri.wiring import parts

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "flaky"
source = { connector = "sqlite", config = { path = "unused" } }
tables = [{ name = "numbers", primary_key = ["id"], incremental = "seen" }]
"""


class SetClock(SystemClock):
    """The machine's clock, wrong by as much as somebody has set it."""

    def __init__(self) -> None:
        self.wrong = timedelta()

    def now(self) -> datetime:
        return super().now() + self.wrong


class Meddler(list[Event]):
    """Sets the clock forward past every lease when the first chunk was read, and back by an hour at the second."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__()
        self._clock = clock
        self._settings = [timedelta(seconds=3 * LEASE_SECONDS), timedelta(hours=-1)]

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event.body, ChunkStaged) and self._settings:
            self._clock.wrong = self._settings.pop(0)


def test_a_run_goes_on_while_the_clock_is_set_forward_and_back(
    make_stand: MakeStand, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SetClock()
    monkeypatch.setattr(parts, "clock", lambda: clock)
    stand = make_stand({"pipelines/flaky.toml": PIPELINE})
    stand.events = Meddler(clock)
    source = replace(Flaky(tmp_path_factory.mktemp("reads")), pause=0.1)
    first = stand.apply(sources={"flaky": source})["flaky"]
    assert first.errors == ()
    assert stand.landed("numbers") == Rows({(number, number): 1 for number in range(100)})
    states = stand.ask(lambda catalog: catalog.chunks(TableKey("flaky", "numbers")))
    assert {(state.attempt, state.failures) for state in states} == {(1, 0)}
    told = read_journal(stand.root / f".hakiri/context/journal/{first.run}.jsonl")
    assert [type(event.body) for event in told] == [type(event.body) for event in stand.events]

    clock.wrong = timedelta()
    second = stand.apply(sources={"flaky": source})["flaky"]
    assert second.errors == ()
    assert {run.run for run in stand.ask(lambda catalog: catalog.runs("flaky"))} == {first.run, second.run}
