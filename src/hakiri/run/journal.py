"""What happened in a run, and when, is on the disk before anything that follows from it (one JSON object a line)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from hakiri.errors import masked
from hakiri.model.clock import Clock
from hakiri.model.durable import sync, sync_above
from hakiri.model.errors import NotWritable
from hakiri.model.timestamps import from_text, to_text

Fact = str | int | float | bool | None
"""What an event tells; never a value of a row, never a secret."""


class EventKind(StrEnum):
    """Everything that can happen in a run, with the facts each brings."""

    RUN_STARTED = "run_started"  # node
    STAGE_ENDED = "stage_ended"  # stage, seconds, code (of the error that ended it, or None)
    PLANNED = "planned"  # table, new, open, rows (about how many are lacking; None: not known)
    PHASE_MOVED = "phase_moved"  # before, after
    CHUNK_CLAIMED = "chunk_claimed"  # table, chunk, attempt
    CHUNK_STAGED = "chunk_staged"  # table, chunk, attempt, read, rows, the rest of Tally, bytes, seconds
    CHUNK_NOTED = "chunk_noted"  # table, chunk, attempt, message: something about how it was read
    CHUNK_FAILED = "chunk_failed"  # table, chunk, attempt, status (waiting or failed), code, message, retry_in_seconds
    CHUNK_RELEASED = "chunk_released"  # table, chunk, attempt, reason: given back unharmed
    CHUNK_LOST = "chunk_lost"  # table, chunk, attempt: another worker has it
    LANDING_RESERVED = "landing_reserved"  # table, number, chunks
    LANDED = "landed"  # table, number, version, outcome, chunks, rows, the rest of Tally, seconds
    CURSOR_MOVED = "cursor_moved"  # table, landing
    HOOK_CALLED = "hook_called"  # table, hook, number, type, seconds
    HOOK_FAILED = "hook_failed"  # table, hook, number, code, message
    TABLE_FAILED = "table_failed"  # table, code, message: what was staged waits for a later run
    VIEW_CHANGED = "view_changed"  # view, change (create, replace or drop)
    VIEW_FAILED = "view_failed"  # view, code, message: it stays as it was
    RETRYING = "retrying"  # what, code, message, retry_in_seconds
    STOPPING = "stopping"  # reason
    RUN_ENDED = "run_ended"  # status, rows, bytes, error


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    at: datetime
    run: str
    pipeline: str
    kind: EventKind
    facts: Mapping[str, Fact] = field(default_factory=dict)


Listener = Callable[[Event], None]


class Journal:
    """The journal of one run of one pipeline, open for as long as the run lasts."""

    def __init__(
        self, folder: Path, *, run: str, pipeline: str, clock: Clock, listener: Listener | None = None
    ) -> None:
        """Begin the journal. NotWritable where its folder does not take it."""
        self.path = journal_path(folder, run)
        self._run = run
        self._pipeline = pipeline
        self._clock = clock
        self._listener = listener
        self._lock = Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
            sync(folder)
            sync_above(folder)
        except OSError as cause:
            raise NotWritable(folder=str(folder), reason=cause.strerror or str(cause)) from cause

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def record(self, kind: EventKind, **facts: Fact) -> None:
        """Write the event down durably, then tell the listener. Any thread may call."""
        event = Event(self._clock.now(), self._run, self._pipeline, kind, facts)
        with self._lock:
            try:
                self._file.write(f"{to_line(event)}\n".encode())
                os.fsync(self._file.fileno())
            except OSError as cause:
                raise NotWritable(folder=str(self.path.parent), reason=cause.strerror or "") from cause
        if self._listener:
            self._listener(event)


def journal_path(folder: Path, run: str) -> Path:
    """Where the journal of a run lies."""
    return folder / f"{run}.jsonl"


def read_journal(path: Path) -> tuple[Event, ...]:
    """Every event of a run, in order. FileNotFoundError where there is no journal.

    A last line that a crash cut off is left out; lines of a newer release are, too.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(event for line in lines if (event := from_line(line)))


def to_line(event: Event) -> str:
    """The event as JSON, without the newline."""
    told = {"at": to_text(event.at), "run": event.run, "pipeline": event.pipeline, "event": event.kind.value}
    return json.dumps(masked({**told, **event.facts}), ensure_ascii=False)


def from_line(line: str) -> Event | None:
    """The event that `to_line` wrote; None for any other text."""
    try:
        plain: Any = json.loads(line)
        names = ("at", "run", "pipeline", "event")
        at, run, pipeline, kind = (plain.pop(name) for name in names)
        return Event(from_text(at), run, pipeline, EventKind(kind), plain)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
