"""Landings with hooks, without a JVM: real files, a real catalog, and functions that write down when they are called.

`python -m run.hooking ROOT LOAD` lands what is staged below the folder, so that a test can have it killed on the way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hakiri.errors import HakiriError
from hakiri.run.context import RunContext
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.hooks import TableHooks
from hakiri.run.journal import Event, Journal
from hakiri.run.land_table import TableLander
from hakiri.run.stop import Stop
from run.rounds import Rounds


@dataclass
class Hooked(Rounds):
    """A project of one table with hooks."""

    events: list[Event] = field(default_factory=list)

    def stage(self, name: str, *lines: str) -> None:
        """A file is read, and waits to be landed."""
        self.put(name, *lines)
        self.carry_out(lands=0)

    def run_once(self) -> list[HakiriError]:
        """What a run does beside reading: settle, call what is owed, land, call what is owed since; the errors."""
        errors: list[HakiriError] = []
        with self._lander() as lander:
            lander.settle()
            lander.hooks.after()
            try:
                lander.land(is_last=True)
            except HakiriError as error:
                errors.append(error)
            lander.hooks.after()
            return errors + lander.hooks.errors

    @contextmanager
    def _lander(self) -> Iterator[TableLander]:
        with (
            self.services() as parts,
            Journal(
                parts.journals, run="run", pipeline="shop", clock=parts.clock, listener=self.events.append
            ) as journal,
        ):
            beat = Heartbeat(parts.catalog, lease_seconds=600)
            context = RunContext(
                services=parts, spec=self.spec, run="run", journal=journal, stop=Stop(), heartbeat=beat
            )
            table = self.spec.tables[0]
            yield TableLander(context, table, hooks=TableHooks(context, table))


if __name__ == "__main__":
    Hooked(Path(sys.argv[1]), load=json.loads(sys.argv[2])).run_once()
