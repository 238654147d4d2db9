"""Stop a run between two steps, on the driver and on every executor."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, current_thread, main_thread
from types import FrameType

from hakiri.model.clock import Clock
from hakiri.model.errors import NotWritable
from hakiri.stage.layout import RUNS, encode
from hakiri.stage.port import Files

_LOOK_SECONDS = 0.1


class Stop:
    """A request to stop, which any thread can make and none can take back."""

    def __init__(self) -> None:
        self._asked = Event()

    def ask(self) -> None:
        """Ask every thread of the process to stop. A repeat changes nothing."""
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    def wait(self, seconds: float, clock: Clock) -> bool:
        """Wait this long, or until a stop is asked for. Returns whether it is."""
        while seconds > 0 and not self.is_asked:
            step = min(seconds, _LOOK_SECONDS)
            clock.sleep(step)
            seconds -= step
        return self.is_asked


@contextmanager
def interruptible(stop: Stop) -> Iterator[None]:
    """Turn the first Ctrl-C into a request to stop; the second ends the process at once, as safely as any crash.

    Changes nothing off the main thread, where signals cannot be handled.
    """
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if stop.is_asked:
            os._exit(128 + number)
        stop.ask()
        sys.stderr.write("stopping: chunks under way are given back; once more to stop at once\n")

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class StopSign:
    """A file in a run's folder while the run is being stopped, which tasks on other machines can see."""

    files: Files
    run: str

    @property
    def path(self) -> str:
        return f"{self._folder}/_stop"

    @property
    def _folder(self) -> str:
        return f"{RUNS}/{encode(self.run)}"

    def put_up(self) -> None:
        """Create the file. Tasks that start later see it, too."""
        with suppress(NotWritable, OSError):
            self.files.make_folder(self._folder)
        with suppress(NotWritable, OSError):
            self.files.create(self.path).close()

    def is_up(self) -> bool:
        try:
            self.files.open(self.path).close()
        except OSError:
            return False
        return True

    def take_down(self) -> None:
        """Remove the file, and the folder if it is empty. A repeat changes nothing."""
        with suppress(NotWritable):
            self.files.remove(self.path)
            self.files.remove(self._folder)  # stays where an attempt lies in it
