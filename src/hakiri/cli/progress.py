"""Show the progress of runs: a live display on a terminal, plain lines in a pipe."""

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
    Cautioned,
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
"""Plain lines show a pipeline's staged chunks at most this often."""

_HEADS = ("pipeline", "now", "chunks", "rows", "rows/s", "left")
_QUIET = (StageEnded, Cautioned, ChunkClaimed, ChunkReleased, LandingReserved, CursorMoved)
_TROUBLE = (ChunkFailed, TableFailed, HookFailed, Retrying, Stopping, ChunkLost, ChunkNoted)


@contextmanager
def show(clock: Clock, *, enabled: bool = True) -> Iterator[Listener]:
    """Show every event that the listener is called with, by any thread, until the block ends."""
    if not enabled:
        yield lambda _: None
        return
    if not sys.stdout.isatty():
        yield Lines(console()).show
        return
    from rich.live import Live

    board = Board(clock, console())
    with Live(get_renderable=board.table, console=board.console, refresh_per_second=4):
        yield board.show


class Lines:
    """Prints one line for each event that matters to a person; for staged chunks, at most one a second."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._lock = Lock()
        self._progress: dict[str, RunProgress] = {}
        self._printed_at: dict[str, datetime] = {}
        self._held: dict[str, Event] = {}

    def show(self, event: Event) -> None:
        with self._lock:
            progress = self._progress[event.pipeline] = self._progress.get(event.pipeline, RunProgress()).after(event)
            if isinstance(event.body, ChunkStaged):
                self._show_staged(event, progress)
            elif not isinstance(event.body, _QUIET):
                self._print_held(event.pipeline, progress)
                self._print(event, describe_event(event))

    def _show_staged(self, event: Event, progress: RunProgress) -> None:
        before = self._printed_at.get(event.pipeline)
        self._held[event.pipeline] = event
        if progress.left == 0 or before is None or event.at - before >= EVERY:
            self._printed_at[event.pipeline] = event.at
            self._print_held(event.pipeline, progress)

    def _print_held(self, pipeline: str, progress: RunProgress) -> None:
        """Print the last staged chunk that was held back, before what comes after it."""
        if event := self._held.pop(pipeline, None):
            speed, eta = progress.rows_per_second(event.at), progress.eta_seconds(event.at)
            left = f", {span(eta)} left" if eta else ""
            self._print(
                event, f"{describe_event(event)}; {progress.done}/{progress.total} chunks, {amount(speed)} rows/s{left}"
            )

    def _print(self, event: Event, text: str) -> None:
        line = f"{at(event.at)} {event.pipeline}: {text}"
        self._out.print(mask(line), markup=False, highlight=False, soft_wrap=True)


class Board:
    """A live table with one line for each pipeline, and above it what went wrong."""

    def __init__(self, clock: Clock, out: Console) -> None:
        self.console = out
        self._clock = clock
        self._lock = Lock()
        self._progress: dict[str, RunProgress] = {}
        self._ended: dict[str, datetime] = {}

    def show(self, event: Event) -> None:
        with self._lock:
            self._progress[event.pipeline] = self._progress.get(event.pipeline, RunProgress()).after(event)
            if isinstance(event.body, RunEnded):
                self._ended[event.pipeline] = event.at
        if isinstance(event.body, _TROUBLE):
            line = plain(f"{event.pipeline}: {describe_event(event)}")
            self.console.print(f"[yellow]{line}[/yellow]", highlight=False, soft_wrap=True)

    def table(self) -> Table:
        """Return the display as it is now."""
        with self._lock:
            all_progress = dict(self._progress)
        return table_of(
            _HEADS, [(plain(name), *self._cells(name, progress)) for name, progress in all_progress.items()]
        )

    def _cells(self, name: str, progress: RunProgress) -> tuple[str, ...]:
        now = self._ended.get(name) or self._clock.now()
        left = "-" if progress.doing is Activity.ENDED else span(progress.eta_seconds(now) if progress.total else None)
        return (
            _state(progress, now),
            f"{_bar(progress)} {progress.done:,}/{progress.total:,}",
            amount(progress.rows),
            amount(progress.rows_per_second(now)),
            left,
        )


def _state(progress: RunProgress, now: datetime) -> str:
    if progress.outcome is None:
        return f"{progress.doing.value} {span((now - progress.since).total_seconds() if progress.since else 0.0)}"
    colour = {"succeeded": "green", "failed": "red"}.get(progress.outcome, "yellow")
    return f"[{colour}]{plain(progress.outcome)}[/{colour}]"


def _bar(progress: RunProgress, *, width: int = 20) -> str:
    filled = width * progress.done // progress.total if progress.total else 0
    return f"[green]{'━' * filled}[/green][dim]{'━' * (width - filled)}[/dim]"
