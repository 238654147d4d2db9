"""How far each pipeline is, as the catalog tells it, without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Progress
from hakiri.model.ledger import Phase, Pipeline, Run


@dataclass(frozen=True)
class Status:
    """One pipeline: its phase, its chunks, and its latest run."""

    pipeline: str
    phase: Phase
    progress: Progress
    latest: Run | None

    def as_json(self) -> dict[str, object]:
        counts = self.progress
        return {
            "pipeline_id": self.pipeline,
            "phase": self.phase.value,
            "chunks": {
                "done": counts.done,
                "running": counts.running,
                "pending": counts.pending,
                "waiting": counts.waiting,
                "failed": counts.failed,
                "total": counts.total,
            },
            "rows": counts.rows,
            "bytes": counts.bytes,
            "started_at": _text(self.latest.started_at if self.latest else None),
            "latest_run": self.latest.run if self.latest else None,
            "latest_status": self.latest.status.value if self.latest else None,
        }


def status(catalog: Catalog | None, pipelines: Sequence[str]) -> list[Status]:
    """The status of these pipelines, in this order. One that the catalog has never seen is still being planned.

    `catalog` is None where there is none yet.
    """
    if catalog is None:
        return [_unseen(name) for name in pipelines]
    known = {one.pipeline: one for one in catalog.pipelines()}
    wanted = pipelines[0] if len(pipelines) == 1 else None
    counts = {one.pipeline: one for one in catalog.progress(wanted)}
    return [_status(catalog, name, known.get(name), counts) for name in pipelines]


def _status(catalog: Catalog, name: str, known: Pipeline | None, counts: dict[str, Progress]) -> Status:
    if known is None:
        return _unseen(name)
    runs = catalog.runs(name, limit=1)
    return Status(name, known.phase, counts.get(name, Progress(name)), runs[0] if runs else None)


def _unseen(name: str) -> Status:
    return Status(name, Phase.PLANNING, Progress(name), None)


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
