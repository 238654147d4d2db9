"""Ordinary sources live through random events, and after every apply each table must be what its load mode promises.

uv run python benchmarks/life.py [--seed 1] [--rounds 100] [--minutes 60] [--length 8] [--kind "sqlite"] [--shorten]
uv run python benchmarks/life.py --seed 1 --kind "csv, upsert, key" --lap 3 [--length 8] [--shorten]
uv run python benchmarks/life.py --kind "csv, upsert, key" --steps "insert(3) apply(9)" [--shorten]

A history is a source (SQLite, PostgreSQL, a folder of JSON lines, CSV or Parquet files), a load mode, and so many
rounds (`--length`) of events: what an application does to its rows, columns, keys and files, and what an operator does
to the manifest (`tests/flow/life.py` has the list). Each round ends with an apply, two, or one that is cut off. Load
modes take turns, and in each of them all kinds of sources, in an order that the seed decides, until `--rounds` applies
were made, or for `--minutes`; an eighth of the histories are change feeds. A history that fails is printed with the
command that replays it, with `--shorten` also as the few steps that it fails by; the command then ends with 1. `--lap`
replays that turn of each kind alone, and `--steps` the steps that were printed. Applies that are made to shorten a
history do not count towards `--rounds`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic
from traceback import format_exc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # its sources, its oracle and its server

from flow.life import Difference, Life
from flow.life_history import Step, history, shortened, steps_of
from flow.life_sources import Kind, kinds, seeded
from flow.stand import Stand
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.model.session import SessionKind
from hakiri.wiring import WORKER_MODULES
from postgres_servers import postgres_server
from small_queries import FOR_SMALL_QUERIES

PROJECT = '[project]\nname = "life"\n[catalog]\nbackend = "sqlite"\n'


@dataclass
class Lives:
    """Histories, one after the other, each in a folder of its own."""

    folder: Path
    url: str
    histories: Counter[str] = field(default_factory=Counter)
    applies: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    def live(self, kind: Kind, steps: Sequence[Step], *, counts: bool = True) -> str:
        """Live a history, and return what was wrong with it. One that `counts` is a part of the totals."""
        root = Path(tempfile.mkdtemp(dir=self.folder))
        (root / "hakiri.toml").write_text(PROJECT, encoding="utf-8")
        life = Life(kind, Stand(root), self.url)
        try:
            life.live(steps)
        except Difference as difference:
            return str(difference)
        except Exception:  # noqa: BLE001 told with the history that led to it
            return f"{format_exc()}after {' '.join(life.told)}"
        finally:
            if counts:
                name = f"{kind.source} {kind.mode}"
                self.histories[name] += 1
                self.applies[name] += life.applies
            shutil.rmtree(root)
        return ""

    def shorten(self, kind: Kind, steps: Sequence[Step]) -> str:
        """Cut a history that fails down to the steps it fails by, and return the command and what is wrong."""
        fewer = shortened(steps, lambda some: bool(self.live(kind, some, counts=False)))
        return f"{replay_of(kind, fewer)}: {self.live(kind, fewer, counts=False)}"


def replay_of(kind: Kind, steps: Sequence[Step]) -> str:
    """The options that live these steps again."""
    return f"--kind '{kind}' --steps '{' '.join(map(str, steps))}'"


SHARES = {"append": 2, "upsert": 2}
"""How many turns a load mode has for each one of the others: these have the most kinds."""


def turns(wanted: Sequence[Kind], seed: int, lap: int | None) -> Iterator[tuple[int, Kind]]:
    """Histories to live, each with its lap: the modes take turns, and so do the kinds of a mode; or one lap alone."""
    if lap is not None:
        yield from ((lap, kind) for kind in wanted)
        return
    modes = dict.fromkeys(kind.mode for kind in wanted)
    waiting = {mode: laps([kind for kind in wanted if kind.mode == mode], f"{seed} {mode}") for mode in modes}
    order = [mode for mode in modes for _ in range(SHARES.get(mode, 1))]
    for number in count():
        for mode in seeded(f"{seed} {number}").sample(order, len(order)):
            yield next(waiting[mode])


def laps(kinds: Sequence[Kind], seed: str) -> Iterator[tuple[int, Kind]]:
    """All kinds, again and again, each lap in another order."""
    for lap in count():
        for kind in seeded(f"{seed} {lap}").sample(kinds, len(kinds)):
            yield lap, kind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--kind", default="")
    parser.add_argument("--lap", type=int)
    parser.add_argument("--steps", type=steps_of)
    parser.add_argument("--shorten", action="store_true")
    asked = parser.parse_args()
    same = [kind for kind in kinds() if str(kind) == asked.kind]
    wanted = same or [kind for kind in kinds() if str(kind).startswith(asked.kind)]
    started = monotonic()
    with opened() as lives:
        for lap, kind in turns(wanted, asked.seed, 0 if asked.steps else asked.lap):
            if lives.applies.total() >= asked.rounds or monotonic() - started > asked.minutes * 60:
                break
            before = lives.applies.total(), monotonic()
            steps = asked.steps or history(kind, seeded(f"{kind} {asked.seed} {lap}"), asked.length)
            wrong = lives.live(kind, steps)
            print(f"{kind}: {lives.applies.total() - before[0]} applies, {monotonic() - before[1]:.0f} s", flush=True)
            if wrong:
                lives.failed += 1
                again = f"--seed {asked.seed} --kind '{kind}' --lap {lap} --length {asked.length}"
                replay = replay_of(kind, steps) if asked.steps else again
                print(f"{replay}: {wrong}", flush=True)
                if asked.shorten:
                    print(f"  shortened: {lives.shorten(kind, steps)}", flush=True)
        for name, applies in sorted(lives.applies.items()):
            print(f"{name}: {lives.histories[name]} histories, {applies} applies")
        for mode in dict.fromkeys(kind.mode for kind in wanted):
            applies = sum(number for name, number in lives.applies.items() if name.endswith(f" {mode}"))
            print(f"{mode}: {applies / max(1, lives.applies.total()):.0%} of the applies")
        total = f"{lives.histories.total()} histories, {lives.applies.total()} applies"
        print(f"{total}, {lives.failed} histories failed, {monotonic() - started:.0f} s")
    return 1 if lives.failed else 0


@contextmanager
def opened() -> Iterator[Lives]:
    """A folder, a PostgreSQL and the one embedded Spark that all histories share."""
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        open_session(
            EngineSettings(
                kind=SessionKind.LOCAL,
                memory="1g",
                archive=False,
                preload=WORKER_MODULES,
                log_dir=Path(folder) / "logs",
                conf=FOR_SMALL_QUERIES,
            )
        )
        yield Lives(Path(folder), server.get_uri())
        close_session()


if __name__ == "__main__":
    sys.exit(main())
