"""Whole runs over sources that are walked by tokens: a real catalog, tables on a path, Spark only where it is given.

`python -m run.walking ROOT KIND MODE` runs once below the folder, so that a test can have it killed on the way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.connector.stands import rows
from conformance.connector.walks import LogConnector, PagesConnector, write_rows
from hakiri.model.chunk import TableKey
from hakiri.model.source import CursorKind
from hakiri.plan.make import make_plan
from hakiri.plan.reading import Reading, from_json
from hakiri.run import extract_chunks
from hakiri.run.facts import gather_facts
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.pipeline import RunOptions, RunResult, Stage
from hakiri.run.services import Services
from hakiri.run.stages import PASS, STAGES, run_pipeline
from hakiri.run.stages.repeat import Repeat
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec
from run.rounds import Rounds

THINGS = TableKey("shop", "things")
ONE_PASS = (STAGES[0], Repeat(PASS, at_most=1), STAGES[-1])
"""A run that does not look at the source again: a second round of a log removes rows that are there, by Spark."""
RECOVERY = (STAGES[0], PASS[0])
"""What a run does before it looks at its source."""


@dataclass
class Walking(Rounds):
    """One table whose source knows the next token, or its position in a log."""

    kind: CursorKind = CursorKind.OPAQUE_TOKEN
    mode: str = "append"
    parallelism: int = 4
    session: Any = None
    """Spark, for landings that remove rows that are there already."""

    @property
    def spec(self) -> PipelineSpec:
        source = {"connector": "files", "config": {"path": str(self.root / "files")}}
        columns = [{"name": name} for name in ("id", "seen", "note")]
        plain = {
            "id": "shop",
            "source": source,
            "tables": [{"name": "things", "primary_key": ["id"], "columns": columns}],
            "load": {"mode": self.mode},
            "backfill": {"parallelism": self.parallelism},
            "retry": {"max_attempts": 1},
        }
        return PipelineSpec.model_validate(plain)

    @property
    def connector(self) -> PagesConnector | LogConnector:
        file = self.root / "rows.jsonl"
        is_pages = self.kind is CursorKind.OPAQUE_TOKEN
        return PagesConnector(file, page_rows=40, pages_a_read=2) if is_pages else LogConnector(file)

    @property
    def table(self) -> Path:
        return self.root / "tables" / "things"

    def publish(self, count: int) -> None:
        """Let the source have this many rows."""
        write_rows(self.root / "rows.jsonl", things(count))

    def run_once(self, *, stages: Sequence[Stage] = STAGES, **options: Any) -> RunResult:
        with self.at_work() as parts, Heartbeat(parts.catalog, lease_seconds=60) as beat:
            return run_pipeline(
                parts, self.spec, options=RunOptions(**options), heartbeat=beat, stop=Stop(), stages=stages
            )

    @contextmanager
    def at_work(self) -> Iterator[Services]:
        with self.services() as parts:
            yield replace(parts, connector=lambda _spec: self.connector, spark=lambda: self.session)

    def next_reads(self) -> list[Reading]:
        """What the next plan would read."""
        with self.at_work() as parts:
            plan = make_plan([gather_facts(self.spec, self.connector, parts.catalog).facts])
            return [from_json(chunk.predicate) for chunk in plan.new_chunks]

    def cursor(self) -> str | None:
        with self.services() as parts:
            found = parts.catalog.cursor(THINGS)
            return found.value if found else None


def things(count: int) -> list[dict[str, Any]]:
    """Rows of the suite in two streams."""
    return [{**row, "note": "odd" if row["id"] % 2 else None} for row in rows()[:count]]


def call_here(_session: object, task: Callable[[], Any]) -> Any:
    """Do in this process what a task on an executor would do."""
    return task()


def main() -> None:
    root, kind, mode = sys.argv[1:]
    extract_chunks.call_on_executor = call_here  # type: ignore[assignment]
    Walking(Path(root), kind=CursorKind(kind), mode=mode).run_once()


if __name__ == "__main__":
    main()
