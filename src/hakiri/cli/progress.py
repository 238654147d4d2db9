"""While a run works, a person sees how far it is: a display that moves on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING

from hakiri.cli.output import console, plain, table_of
from hakiri.cli.wording import amount, at, describe_event, span
from hakiri.errors import mask
from hakiri.model.clock import Clock
from hakiri.run.events import (
    ChunkClaimed,
    ChunkFailed,
    ChunkLost,
    ChunkNoted,
    ChunkReleased,
    ChunkStaged,
    CursorMoved,
    HookFailed,
    LandingReserved,
    Retrying,
    RunEnded,
    StageEnded,
    Stopping,
    TableFailed,
)
from hakiri.run.journal import Event, Listener
from hakiri.run.progress import Activity, RunProgress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EVERY = timedelta(seconds=1)
"""A pipeline's staged chunks are told of at most this often in plain lines."""

_HEADS = ("pipeline", "now", "chunks", "rows", "rows/s", "left")
_QUIET = (StageEnded, ChunkClaimed, ChunkReleased, LandingReserved, CursorMoved)
_TROUBLE = (ChunkFailed, TableFailed, HookFailed, Retrying, Stopping, ChunkLost, ChunkNoted)


@contextmanager
def show(clock: Clock, *, enabled: bool = True) -> Iterator[Listener]:
    """Tell of every event that the listener is given, from whatever thread, until the block ends."""
    if not enabled:
        yield lambda _: None
        return
    if not sys.stdout.isatty():
        yield Lines(console()).hear
        return
    from rich.live import Live

    board = Board(clock, console())
    with Live(get_renderable=board.table, console=board.console, refresh_per_second=4):
        yield board.hear


class Lines:
    """One line for each event that means something to a person; of many staged chunks, one line a second."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._lock = Lock()
        self._progress: dict[str, RunProgress] = {}
        self._told_at: dict[str, datetime] = {}
        self._untold: dict[str, Event] = {}

    def hear(self, event: Event) -> None:
        with self._lock:
            progress = self._progress[event.pipeline] = self._progress.get(event.pipeline, RunProgress()).after(event)
            if isinstance(event.body, ChunkStaged):
                self._hear_staged(event, progress)
            elif not isinstance(event.body, _QUIET):
                self._tell_held(event.pipeline, progress)
                self._print(event, describe_event(event))

    def _hear_staged(self, event: Event, progress: RunProgress) -> None:
        before = self._told_at.get(event.pipeline)
        self._untold[event.pipeline] = event
        if progress.left == 0 or before is None or event.at - before >= EVERY:
            self._told_at[event.pipeline] = event.at
            self._tell_held(event.pipeline, progress)

    def _tell_held(self, pipeline: str, progress: RunProgress) -> None:
        """The last staged chunk is told of before whatever comes after it."""
        if event := self._untold.pop(pipeline, None):
            speed, eta = progress.rows_per_second(event.at), progress.eta_seconds(event.at)
            left = f", {span(eta)} left" if eta else ""
            self._print(
                event, f"{describe_event(event)}; {progress.done}/{progress.total} chunks, {amount(speed)} rows/s{left}"
            )

    def _print(self, event: Event, said: str) -> None:
        line = f"{at(event.at)} {event.pipeline}: {said}"
        self._out.print(mask(line), markup=False, highlight=False, soft_wrap=True)


class Board:
    """One moving line for each pipeline, and above them what went wrong."""

    def __init__(self, clock: Clock, out: Console) -> None:
        self.console = out
        self._clock = clock
        self._lock = Lock()
        self._progress: dict[str, RunProgress] = {}
        self._ended: dict[str, datetime] = {}

    def hear(self, event: Event) -> None:
        with self._lock:
            self._progress[event.pipeline] = self._progress.get(event.pipeline, RunProgress()).after(event)
            if isinstance(event.body, RunEnded):
                self._ended[event.pipeline] = event.at
        if isinstance(event.body, _TROUBLE):
            said = plain(f"{event.pipeline}: {describe_event(event)}")
            self.console.print(f"[yellow]{said}[/yellow]", highlight=False, soft_wrap=True)

    def table(self) -> Table:
        """The display as it is now."""
        with self._lock:
            all_progress = dict(self._progress)
        return table_of(
            _HEADS, [(plain(name), *self._cells(name, progress)) for name, progress in all_progress.items()]
        )

    def _cells(self, name: str, progress: RunProgress) -> tuple[str, ...]:
        now = self._ended.get(name) or self._clock.now()
        left = "-" if progress.doing is Activity.ENDED else span(progress.eta_seconds(now) if progress.total else None)
        return (
            _state(progress),
            f"{_bar(progress)} {progress.done:,}/{progress.total:,}",
            amount(progress.rows),
            amount(progress.rows_per_second(now)),
            left,
        )


def _state(progress: RunProgress) -> str:
    if progress.outcome is None:
        return progress.doing.value
    colour = {"succeeded": "green", "failed": "red"}.get(progress.outcome, "yellow")
    return f"[{colour}]{plain(progress.outcome)}[/{colour}]"


def _bar(progress: RunProgress, *, width: int = 20) -> str:
    filled = width * progress.done // progress.total if progress.total else 0
    return f"[green]{'━' * filled}[/green][dim]{'━' * (width - filled)}[/dim]"
