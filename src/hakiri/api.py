"""The Python API: what notebooks, agents and tests use. `import hakiri as hk; project = hk.open()`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri import wiring
from hakiri.errors import HakiriError, render
from hakiri.model.chunk import TableKey
from hakiri.model.timestamps import from_text
from hakiri.model.types.text import shown_type
from hakiri.results import (
    ApplyResult,
    ChunkResult,
    ChunkToRead,
    Grid,
    Journal,
    JournalEvent,
    LandingResult,
    PastRun,
    PipelineResult,
    Pipelines,
    PipelineStatus,
    PipelineSummary,
    PlanResult,
    Rewound,
    Rows,
    Runs,
    SchemaChange,
    Shown,
    SourceColumn,
    StatusResult,
    TableChunk,
    TableLanding,
    grid,
)
from hakiri.run.manifest import choose_pipelines, find_pipeline, spell_out, summarize
from hakiri.settings import Settings, from_environment
from hakiri.spec.read import Project as ReadProject

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import SparkSession

    from hakiri.notebook import Trials
    from hakiri.run.debug_chunk import PlannedRead
    from hakiri.run.pipeline import RunResult
    from hakiri.run.status import Status

MOST_ROWS = 10_000
"""How many rows of an answer are fetched where no `limit` is given."""
_VIEW_CHANGES = {"create": "created", "replace": "replaced", "drop": "dropped"}


@contextmanager
def _reported() -> Iterator[None]:
    """Add the whole report to an error, so that a notebook's traceback ends with places and help."""
    try:
        yield
    except HakiriError as error:
        if not getattr(error, "__notes__", ()):
            error.add_note(render(error))
        raise


@_reported()
def open_project(
    folder: Path | str | None = None, *, context: str = "", tables: str = "", state: str = "", secret_scope: str = ""
) -> Project:
    """Open the project in this folder; without one, look for it from the current folder upward.

    `context`, `tables` and `state` are what a job was deployed with (docs/databricks.md), to see what the job sees;
    what is empty is as the manifest has it. Raises ProjectNotFound, and InvalidProject with everything that is wrong.
    """
    settings = from_environment(project=Path(folder) if folder is not None else None, secret_scope=secret_scope)
    project = Project(settings, {"context": context, "tables": tables, "state": state})
    project.pipelines()
    return project


class Project:
    """A project and its verbs. Manifests are read anew by each verb, so an edit counts from the next call on."""

    def __init__(self, settings: Settings, places: dict[str, str]) -> None:
        self._settings = settings
        self._places = places

    @property
    @_reported()
    def name(self) -> str:
        return self._read().spec.project.name

    @property
    @_reported()
    def folder(self) -> Path:
        """Return the folder of its `hakiri.toml`."""
        return self._read().root

    @_reported()
    def pipelines(self) -> Pipelines:
        """List the pipelines, with the line each is declared on. Raises InvalidProject."""
        return Pipelines(
            tuple(
                PipelineSummary(one.id, one.connector, one.tables, one.schedule, one.mode, _line(one.file, one.line))
                for one in summarize(self._read())
            )
        )

    @_reported()
    def settings_of(self, pipeline: str) -> dict[str, Any]:
        """Return a pipeline's settings with every default filled in. Raises PipelineNotFound."""
        return spell_out(find_pipeline(self._read(), pipeline))

    @_reported()
    def plan(self, *pipelines: str, full_refresh: bool = False) -> PlanResult:
        """Plan these pipelines, or all. Changes nothing and starts no JVM, as `hakiri plan`. Raises ManifestError."""
        from hakiri.run.plan import show_document, show_lines, show_reading

        planned = wiring.plan_project(self._settings, self._read(), pipelines, is_full_refresh=full_refresh)
        return PlanResult(
            lines=tuple(show_lines(planned)),
            chunks=tuple(
                ChunkToRead(plan.pipeline, table.table.table, one.chunk.key.chunk, show_reading(one.chunk), one.rows)
                for plan in planned.plan.pipelines
                for table in plan.tables
                for one in table.chunks
            ),
            columns=tuple(
                SourceColumn(facts.spec.id, table.spec.name, column.name, shown_type(column.type))
                for facts in planned.facts
                for table in facts.tables
                for column in table.columns
            ),
            has_work=planned.plan.has_work,
            document=show_document(planned),
            errors=dict(planned.errors),
        )

    @_reported()
    def apply(
        self, *pipelines: str, full_refresh: bool = False, retry_failed: bool = False, raises: bool = True
    ) -> ApplyResult:
        """Do what there is to do for these pipelines, or for all; a repeat does what has come since.

        Raises the first error where something was left undone, with the whole result as its note, and KeyboardInterrupt
        where it was interrupted. With `raises=False` the result has the errors.
        """
        from hakiri.run.apply import apply
        from hakiri.run.pipeline import RunOptions
        from hakiri.run.stop import Stop, interruptible
        from hakiri.run.views import ShelvedViews

        project, stop = self._read(), Stop()
        options = RunOptions(is_full_refresh=full_refresh, retries_failed=retry_failed)
        with wiring.services(self._settings, project) as services, interruptible(stop):
            views = ShelvedViews(project, wiring.view_shelf(self._settings, project))
            found = apply(services, choose_pipelines(project, pipelines), options=options, stop=stop, views=views)
        done = ApplyResult(
            runs=tuple(map(_result, found.runs)),
            views={one.view: _VIEW_CHANGES[one.verb.value] for one in found.views.done},
            errors=(*(error for one in found.runs for error in one.errors), *found.views.errors),
        )
        if raises and stop.is_asked:
            raise KeyboardInterrupt(str(done))
        if raises and done.errors:
            done.errors[0].add_note(str(done))
            raise done.errors[0]
        return done

    @_reported()
    def status(self) -> StatusResult:
        """Tell how far each pipeline is. Reads the catalog and the journals, as `hakiri status`."""
        states = wiring.project_status(self._settings, self._read(), now=wiring.clock().now())
        return StatusResult(tuple(map(_status, states)))

    @_reported()
    def runs(self, pipeline: str | None = None, *, limit: int = 20) -> Runs:
        """List the latest runs of a pipeline, or of each. Raises PipelineNotFound."""
        from hakiri.run.runs import latest_runs

        project, now = self._read(), wiring.clock().now()
        specs = choose_pipelines(project, (pipeline,) if pipeline else ())
        with wiring.existing_catalog(self._settings, project) as catalog:
            past = [one for spec in specs for one in latest_runs(catalog, spec.id, limit=limit, now=now)]
        return Runs(
            tuple(
                PastRun(
                    one.run.run,
                    one.run.pipeline,
                    one.run.status.value,
                    one.run.started_at,
                    one.seconds,
                    one.run.rows,
                    one.run.bytes,
                    one.run.error,
                )
                for one in past
            )
        )

    @_reported()
    def journal(self, run: str) -> Journal:
        """Read what happened in a run, by its id or the beginning of it. Raises RunNotFound or RunAmbiguous."""
        from hakiri.run.runs import find_journal, raw_lines

        path = find_journal(wiring.journals(self._read()), run)
        return Journal(path.stem, tuple(_event(json.loads(line)) for line in raw_lines(path)))

    @_reported()
    def sql(self, query: str, *, limit: int = MOST_ROWS) -> Rows:
        """Answer one SELECT over landed tables and views, as `hakiri sql`. Raises QueryError or ViewUnanswerable."""
        found = wiring.query_project(self._settings, self._read(), query, most_rows=limit + 1)
        rows = tuple(islice(found.rows, limit + 1))
        return Rows(found.columns, rows[:limit], has_more=len(rows) > limit)

    @_reported()
    def table(self, name: str) -> Table:
        """Look at a table by its landed name, or as `pipeline.table`. Raises UnknownTable."""
        from hakiri.run.schema import schema_log

        project = self._read()
        spec, table = wiring.find_table(project, name)
        key = TableKey(spec.id, table.name)
        with wiring.existing_catalog(self._settings, project) as catalog:
            cursor = catalog.cursor(key) if catalog else None
            landings = catalog.landings(key) if catalog else ()
            chunks = catalog.chunks(key) if catalog else ()
            logged = [one for one in schema_log(catalog, spec) if one.table == key]
        return Table(
            name=spec.landed_name(table),
            pipeline=spec.id,
            sql_name=wiring.table_sql_name(project, spec, table),
            cursor=cursor.value if cursor else None,
            landings=tuple(
                TableLanding(one.number, one.status.value, one.version, len(one.chunks)) for one in landings
            ),
            chunks=tuple(
                TableChunk(one.chunk.key.chunk, one.chunk.key.generation, one.status.value, one.reason, one.error)
                for one in chunks
            ),
            schema_log=tuple(
                SchemaChange(one.version, one.at, one.changes, one.decision.run, one.decision.by, one.decision.reason)
                for one in logged
            ),
            _project=self,
        )

    @_reported()
    def quarantine(self) -> dict[str, dict[str, int]]:
        """Count the rows that each rule has set aside, by quarantine table; tables without any are left out."""
        return wiring.broken_rules(self._settings, self._read())

    @_reported()
    def rewind(self, pipeline: str, low: str = "", high: str = "", *, reason: str, table: str | None = None) -> Rewound:
        """Let the next run read a window of the cursor again, as `hakiri backfill rewind`. Raises RewindUnfit."""
        from getpass import getuser

        from hakiri.run.rewind import parse_window, rewind

        project = self._read()
        spec, window = find_pipeline(project, pipeline).spec, parse_window(low, high)
        with wiring.existing_catalog(self._settings, project) as catalog:
            done = rewind(catalog, spec, window, table=table, reason=reason, by=getuser())
        return Rewound({one.table.table: tuple(key.chunk for key in one.chunks) for one in done})

    @_reported()
    def chunk(self, pipeline: str, table: str, chunk: str | int = 0) -> Chunk:
        """Choose a chunk by its id or its position, of a table planned as if nothing had landed yet.

        Asks the source and writes nothing. Raises PipelineNotFound, UnknownTable, ChunkNotFound, and what planning
        raises.
        """
        from hakiri.run.debug_chunk import plan_chunk
        from hakiri.run.plan import show_reading

        project = self._read()
        spec = find_pipeline(project, pipeline).spec
        connector = wiring.connector(self._settings, project, spec)
        reshapes = wiring.transforms(self._settings, project, spec)
        read = plan_chunk(spec, connector, reshapes, table, chunk)
        return Chunk(read.chunk.key.chunk, show_reading(read.chunk), read.chunks, read)

    @_reported()
    def try_transforms(self, pipeline: str, *, table: str | None = None, rows: int = 20) -> Trials:
        """Show rows of a pipeline's source before and after its transforms. Writes nothing. Raises HakiriError."""
        from hakiri.notebook import Trials

        found = wiring.try_pipeline(self._settings, pipeline, table=table, rows=rows, project=self._read())
        return Trials(found)

    @_reported()
    def spark(self) -> SparkSession:
        """Return the Spark session that the project's runs use; it is started on first use. Raises EngineError."""
        return wiring.spark(self._settings, self._read())

    def __repr__(self) -> str:
        return f"project {self.name} in {self.folder}\n{self.pipelines()}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<h4>{escape(f'project {self.name} in {self.folder}')}</h4>{self.pipelines()._repr_html_()}"

    def _read(self) -> ReadProject:
        return wiring.read_project(self._settings, **self._places)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Table(Shown):
    """A table as the catalog knew it when it was looked at."""

    name: str
    pipeline: str
    sql_name: str
    """The table in Spark SQL, for `project.spark().sql(...)`."""
    cursor: str | None
    """How far the source has been read; None before the first landing, and for a table without a cursor."""
    landings: tuple[TableLanding, ...]
    chunks: tuple[TableChunk, ...]
    schema_log: tuple[SchemaChange, ...]
    _project: Project = field(compare=False)

    def rows(self, limit: int = 20) -> Rows:
        """Fetch rows of the table, in no order. Raises TableNotLanded before the first landing."""
        quoted = self.name.replace('"', '""')
        return self._project.sql(f'SELECT * FROM "{quoted}"', limit=limit)  # noqa: S608 a name, quoted

    def _parts(self) -> Iterator[Grid | str]:
        yield f"{self.name} of pipeline {self.pipeline}, {self.sql_name}\ncursor: {self.cursor or 'none yet'}"
        landings = [(one.number, one.status, one.version, one.chunks) for one in self.landings]
        yield grid(("landing", "status", "version", "chunks"), landings, title="landings")
        changes = [(one.version, one.at, "; ".join(one.changes), one.by, one.reason) for one in self.schema_log]
        if changes:
            yield grid(("version", "at", "changes", "by", "reason"), changes, title="schema")


@dataclass(frozen=True, slots=True, repr=False)
class Chunk(Shown):
    """A chunk that can be read by itself."""

    id: str
    reads: str
    chunks: tuple[str, ...]
    """The ids of all chunks of its table."""
    _read: PlannedRead = field(compare=False)

    @_reported()
    def debug(self, *, rows: int = 20, folder: Path | str | None = None) -> ChunkResult:
        """Read, transform, check and stage the chunk as a task does, and show what became of its rows.

        The catalog is not touched and no Spark is started. The files are removed again unless `folder` names a place
        for them. Raises SourceError, ExtractError, StageError and NotWritable; AttemptTaken for a folder that holds the
        chunk already.
        """
        from hakiri.run.debug_chunk import debug_chunk

        with ExitStack() as stack:
            kept = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="hakiri-chunk-"))
            done = debug_chunk(self._read, Path(kept), now=wiring.clock().now())
            files, aside = (
                [Path(kept) / one.path for one in some] for some in (done.staged.files, done.staged.quarantine)
            )
            return ChunkResult(
                id=self.id,
                reads=self.reads,
                tally=asdict(done.tally),
                broken=dict(done.broken),
                notes=done.notes,
                staged=_first_rows(files, rows),
                quarantined=_first_rows(aside, rows),
                files=tuple(one.path for one in (*done.staged.files, *done.staged.quarantine)),
            )

    def _parts(self) -> Iterator[Grid | str]:
        yield f"chunk {self.id}, one of {len(self.chunks)}: {self.reads}"


def _first_rows(files: list[Path], rows: int) -> pl.DataFrame:
    import polars as pl

    frames = [pl.read_parquet(file, n_rows=rows) for file in files]
    return pl.concat(frames, how="diagonal_relaxed").head(rows) if frames else pl.DataFrame()


def _result(result: RunResult) -> PipelineResult:
    landings = tuple(
        LandingResult(
            one.name,
            one.number,
            one.landed.version,
            one.landed.outcome.value,
            one.landed.tally.staged,
            one.landed.tally.quarantined,
        )
        for one in result.landings
    )
    return PipelineResult(
        result.pipeline,
        result.run,
        result.status.value,
        result.rows,
        result.rows_read,
        landings,
        result.notes,
        result.errors,
    )


def _status(state: Status) -> PipelineStatus:
    counts, latest = state.progress, state.latest
    return PipelineStatus(
        pipeline=state.pipeline,
        phase=state.phase.value,
        done=counts.done,
        running=counts.running,
        pending=counts.pending + counts.waiting,
        failed=counts.failed,
        rows=counts.rows,
        rows_per_second=state.speed.rows_per_sec,
        eta_seconds=state.speed.eta_seconds,
        latest_run=latest.run if latest else None,
        latest_status=latest.status.value if latest else None,
        error=state.error,
    )


def _event(line: dict[str, Any]) -> JournalEvent:
    facts = {name: fact for name, fact in line.items() if name not in ("at", "run", "pipeline", "event", "v")}
    return JournalEvent(from_text(line["at"]), line["event"], facts)


def _line(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"
