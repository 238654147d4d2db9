"""Report how far each pipeline is and how fast, from the catalog and the journal, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError, as_json
from hakiri.land.errors import TableMovedBack
from hakiri.model.chunk import Progress
from hakiri.model.ledger import Phase, Pipeline, Run, RunStatus
from hakiri.model.timestamps import to_brief
from hakiri.run.check_tables import require_tables_intact
from hakiri.run.journal import Event, journal_path, read_journal
from hakiri.run.progress import claimed_since, progress_of
from hakiri.run.services import TablePlace
from hakiri.spec.fields.duration import Rate
from hakiri.spec.pipeline import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The progress of a run under way; None is not known here."""

    rows_per_sec: float | None = None
    bytes_per_sec: float | None = None
    eta_seconds: float | None = None
    budget_consumed: float | None = None
    """How much of the rate budget its window has taken so far, as a share of 1."""


@dataclass(frozen=True, slots=True)
class Status:
    """One pipeline: its phase, its chunks, its latest run and how fast that is."""

    pipeline: str
    phase: Phase
    progress: Progress
    latest: Run | None
    rate_budget: Rate | None = None
    speed: Speed = Speed()
    error: HakiriError | None = None
    """What stops its next run, as far as that is known without asking the source."""

    def as_json(self) -> dict[str, object]:
        counts, speed = self.progress, self.speed
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
            "throughput": {"rows_per_sec": _round(speed.rows_per_sec), "bytes_per_sec": _round(speed.bytes_per_sec)},
            "eta_seconds": _round(speed.eta_seconds),
            "started_at": _text(self.latest.started_at if self.latest else None),
            "rate_budget": str(self.rate_budget) if self.rate_budget else None,
            "rate_budget_consumed_pct": _round(speed.budget_consumed, of=100),
            "rows": counts.rows,
            "bytes": counts.bytes,
            "latest_run": self.latest.run if self.latest else None,
            "latest_status": self.latest.status.value if self.latest else None,
            "error": as_json(self.error) if self.error else None,
        }


def status(
    catalog: Catalog | None,
    pipelines: Sequence[PipelineSpec],
    *,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    journals: Path,
    now: datetime,
) -> list[Status]:
    """Return the status of these pipelines, in this order. One that the catalog has never seen is still being planned.

    `catalog` is None where there is none yet. `journals` is the folder they are kept in; how fast a run is can be told
    only where its journal can be read.
    """
    if catalog is None:
        return [_unseen(spec) for spec in pipelines]
    known = {one.pipeline: one for one in catalog.pipelines()}
    wanted = pipelines[0].id if len(pipelines) == 1 else None
    counts = {one.pipeline: one for one in catalog.progress(wanted)}
    states = [_status(catalog, spec, known.get(spec.id), counts, journals, now) for spec in pipelines]
    return [replace(state, error=_loss(catalog, spec, place)) for spec, state in zip(pipelines, states, strict=True)]


def _loss(
    catalog: Catalog, spec: PipelineSpec, place: Callable[[PipelineSpec, TableSpec], TablePlace]
) -> HakiriError | None:
    try:
        require_tables_intact(catalog, spec, place)
    except TableMovedBack as lost:
        return lost
    return None


def _status(
    catalog: Catalog,
    spec: PipelineSpec,
    known: Pipeline | None,
    counts: dict[str, Progress],
    journals: Path,
    now: datetime,
) -> Status:
    if known is None:
        return _unseen(spec)
    latest = next(iter(catalog.runs(spec.id, limit=1)), None)
    progress, budget = counts.get(spec.id, Progress(spec.id)), spec.backfill.rate_budget
    speed = _speed(_events(journals, latest), progress, budget, now)
    return Status(spec.id, known.phase, progress, latest, budget, speed)


def _unseen(spec: PipelineSpec) -> Status:
    return Status(spec.id, Phase.PLANNING, Progress(spec.id), None, spec.backfill.rate_budget)


def _events(journals: Path, latest: Run | None) -> tuple[Event, ...]:
    """Return the events of a run that is under way, as far as its journal is here."""
    if latest is None or latest.status is not RunStatus.RUNNING:
        return ()
    try:
        return read_journal(journal_path(journals, latest.run))
    except OSError:
        return ()


def _speed(events: tuple[Event, ...], progress: Progress, budget: Rate | None, now: datetime) -> Speed:
    left = progress.pending + progress.running + progress.waiting
    is_caught_up = progress.total > 0 and left == 0
    if not events:
        return Speed(eta_seconds=0.0 if is_caught_up else None)
    pace = progress_of(events)
    return Speed(
        rows_per_sec=pace.rows_per_second(now),
        bytes_per_sec=pace.bytes_per_second(now),
        eta_seconds=pace.eta_seconds(now, left=left) if progress.total else None,
        budget_consumed=_consumed(events, budget, now),
    )


def _consumed(events: tuple[Event, ...], budget: Rate | None, now: datetime) -> float | None:
    if budget is None:
        return None
    return claimed_since(events, now - timedelta(seconds=budget.seconds)) / budget.requests


def _round(number: float | None, *, of: int = 1) -> int | None:
    return None if number is None else round(number * of)


def _text(moment: datetime | None) -> str | None:
    return to_brief(moment) if moment else None
