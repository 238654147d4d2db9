"""Find past runs by their pipeline, by id, or by the beginning of an id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hakiri.catalog.port import Catalog
from hakiri.model.ledger import Run
from hakiri.model.timestamps import to_brief
from hakiri.run.errors import RunAmbiguous, RunNotFound
from hakiri.run.journal import journal_path
from hakiri.spec.validation_errors import guess

_ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run of a pipeline, and how long it took, or has taken so far."""

    run: Run
    seconds: float

    def as_json(self) -> dict[str, object]:
        run = self.run
        return {
            "run_id": run.run,
            "pipeline_id": run.pipeline,
            "status": run.status.value,
            "started_at": to_brief(run.started_at),
            "finished_at": to_brief(run.finished_at) if run.finished_at else None,
            "seconds": round(self.seconds, 3),
            "rows": run.rows,
            "bytes": run.bytes,
            "error": run.error or None,
        }


def latest_runs(catalog: Catalog | None, pipeline: str, *, limit: int, now: datetime) -> list[PastRun]:
    """Return the pipeline's latest runs, newest first. `catalog` is None if there is none yet."""
    if catalog is None:
        return []
    return [_past(run, now) for run in catalog.runs(pipeline, limit=limit)]


def find_journal(folder: Path, run: str) -> Path:
    """Return the journal of the run with this id, or with the only id that begins like this.

    Raises RunNotFound or RunAmbiguous.
    """
    known = known_runs(folder)
    if run in known:
        return journal_path(folder, run)
    meant = tuple(name for name in known if run and name.startswith(run))
    if len(meant) > 1:
        raise RunAmbiguous(run=run, candidates=meant)
    if not meant:
        raise RunNotFound(run=run, known=known, guess=guess(run, known))
    return journal_path(folder, meant[0])


def known_runs(folder: Path) -> tuple[str, ...]:
    """Return the runs that have a journal in this folder, by id."""
    names = (path.name.removesuffix(_ENDING) for path in folder.glob(f"*{_ENDING}"))
    return tuple(sorted(names))


def raw_lines(path: Path) -> list[str]:
    """Return the journal's lines as they were written, without a last one that a crash cut off."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return text[: text.rfind("\n") + 1].split("\n")[:-1]


def _past(run: Run, now: datetime) -> PastRun:
    return PastRun(run, ((run.finished_at or now) - run.started_at).total_seconds())
