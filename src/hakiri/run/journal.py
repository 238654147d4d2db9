"""Write what happens in a run to its journal, one JSON object a line, before the run goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from hakiri.errors import masked
from hakiri.model.clock import Clock
from hakiri.model.durable import sync, sync_above
from hakiri.model.errors import NotWritable
from hakiri.model.timestamps import from_text, to_text
from hakiri.run.events import Body, body_of, facts_of

VERSION = 2
"""The version of a line. Lines of version 1 have none; lines of a newer version are left out."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a run, and when."""

    at: datetime
    run: str
    pipeline: str
    body: Body


Listener = Callable[[Event], None]
"""Called with every event once it is on the disk, by any thread."""


class Journal:
    """The journal of one run, open for as long as the run lasts."""

    def __init__(
        self, folder: Path, *, run: str, pipeline: str, clock: Clock, listener: Listener | None = None
    ) -> None:
        """Create the journal. Raises NotWritable where the folder cannot be written to."""
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

    def record(self, body: Body) -> None:
        """Write the event to the disk, then pass it to the listener. Any thread may call. Raises NotWritable."""
        event = Event(self._clock.now(), self._run, self._pipeline, body)
        with self._lock:
            try:
                self._file.write(f"{to_line(event)}\n".encode())
                os.fsync(self._file.fileno())
            except OSError as cause:
                raise NotWritable(folder=str(self.path.parent), reason=cause.strerror or "") from cause
        if self._listener:
            self._listener(event)


def journal_path(folder: Path, run: str) -> Path:
    """Return the path of a run's journal."""
    return folder / f"{run}.jsonl"


def read_journal(path: Path) -> tuple[Event, ...]:
    """Read the events of a run, in order. Raises FileNotFoundError where there is no journal.

    Leaves out a last line that a crash cut off, and lines of a newer release.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(event for line in lines if (event := from_line(line)))


def to_line(event: Event) -> str:
    """Write the event as JSON, without the newline."""
    head = {"v": VERSION, "at": to_text(event.at), "run": event.run, "pipeline": event.pipeline}
    return json.dumps(masked({**head, "event": event.body.kind, **facts_of(event.body)}), ensure_ascii=False)


def from_line(line: str) -> Event | None:
    """Read an event that `to_line` wrote, in this release or an older one; None for any other text."""
    try:
        plain: Any = json.loads(line)
        if plain.get("v", 1) > VERSION:
            return None
        return Event(from_text(plain["at"]), plain["run"], plain["pipeline"], body_of(plain["event"], plain))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
