"""Ordinary sources live through random events, and after every apply each table must be what its load mode promises.

uv run python benchmarks/life.py [--seed 1] [--rounds 100] [--length 12] [--kind "sqlite, append"] [--shorten]

A history is a source (SQLite, PostgreSQL, a folder of files), a load mode, and so many rounds (`--length`) of inserts,
updates, deletes, ties, late rows, rows without a cursor value, columns that come, go and widen, tables that are emptied
and refilled, files that grow; each round ends with one apply, two, or one that is cut off and the next one. Histories
of every kind follow each other until `--rounds` applies were compared. A history that fails is printed, with
`--shorten` as the few steps that it fails by; the command then ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # its sources, its oracle and its server

from flow.life import Difference, Kind, Life, Step, history, kinds, seeded, shortened
from flow.stand import Stand
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings, SessionKind
from hakiri.wiring import WORKER_MODULES
from postgres_servers import postgres_server
from small_queries import FOR_SMALL_QUERIES

PROJECT = '[project]\nname = "life"\n'


@dataclass
class Lives:
    """Histories, one after the other, each in a folder of its own."""

    folder: Path
    url: str
    applies: Counter[str] = field(default_factory=Counter)
    begun: int = 0

    def live(self, kind: Kind, steps: Sequence[Step]) -> str:
        """Live a history, and return what was wrong with it."""
        self.begun += 1
        root = self.folder / f"history-{self.begun}"
        root.mkdir()
        (root / "hakiri.toml").write_text(PROJECT, encoding="utf-8")
        life = Life(kind, Stand(root), self.url)
        try:
            life.live(steps)
        except Difference as difference:
            return str(difference)
        finally:
            self.applies[f"{kind.source} {kind.mode}"] += life.applies
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--length", type=int, default=12)
    parser.add_argument("--kind", default="")
    parser.add_argument("--shorten", action="store_true")
    asked = parser.parse_args()
    wanted = [kind for kind in kinds() if str(kind).startswith(asked.kind)]
    failed = 0
    with opened() as lives:
        for seed, kind in ((seed, kind) for seed in count(asked.seed) for kind in wanted):
            if lives.applies.total() >= asked.rounds:
                break
            steps = history(seeded(f"{kind} {seed}"), asked.length)
            if wrong := lives.live(kind, steps):
                failed += 1
                print(f"{kind}, seed {seed}: {wrong}", flush=True)
                if asked.shorten:
                    fewer = shortened(steps, lambda some, kind=kind: bool(lives.live(kind, some)))
                    print(f"  shortened: {lives.live(kind, fewer)}", flush=True)
        print(f"{lives.applies.total()} applies compared, {failed} histories failed: {dict(lives.applies)}")
    return 1 if failed else 0


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
