"""What the Python API returns: frozen values that show as text in a terminal and as tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from hakiri.errors import HakiriError, mask, render
from hakiri.model.query_result import Value

if TYPE_CHECKING:
    import polars as pl

SHOWN_ROWS = 100
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows under heads, with a title; `total` counts the rows that are not shown, too."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int = 0

    def text(self) -> str:
        """Align the columns for a terminal."""
        lines = [self.heads, *self.rows]
        widths = [max(len(line[index]) for line in lines) for index in range(len(self.heads))]
        aligned = ["   ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        rule = "─" * sum(widths, 3 * (len(widths) - 1))
        title = [self.title] if self.title else []
        return "\n".join([*title, aligned[0], rule, *aligned[1:], *self._left_out()])

    def html(self) -> str:
        """Draw a table, every text in it escaped."""
        heads = "".join(f"<th>{escape(head)}</th>" for head in self.heads)
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        title = f"<h4>{escape(self.title)}</h4>" if self.title else ""
        after = "".join(f"<p>{escape(line)}</p>" for line in self._left_out())
        return f"{title}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{after}"

    def _left_out(self) -> list[str]:
        left = self.total - len(self.rows)
        return [f"{left:,} more rows are not shown"] if left > 0 else []


def grid(heads: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", null: str = "-") -> Grid:
    """Make a grid of the first rows, with secrets masked and long texts cut."""
    shown = tuple(tuple(null if value is None else _cell(value) for value in row) for row in rows[:SHOWN_ROWS])
    return Grid(mask(title), tuple(_cell(head) for head in heads), shown, len(rows))


class Shown:
    """Shows its parts, texts and grids, in a terminal and in a notebook."""

    __slots__ = ()

    def _parts(self) -> Iterator[Grid | str]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(part.text() if isinstance(part, Grid) else mask(part) for part in self._parts())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = (
            part.html() if isinstance(part, Grid) else f"<pre>{escape(mask(part))}</pre>" for part in self._parts()
        )
        return "".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class PipelineSummary(Shown):
    """One pipeline of the project, and where it is declared."""

    id: str
    connector: str
    tables: tuple[str, ...]
    schedule: str | None
    mode: str
    place: str

    def _parts(self) -> Iterator[Grid | str]:
        yield _pipelines([self])


@dataclass(frozen=True, slots=True, repr=False)
class Pipelines(Shown):
    """The project's pipelines."""

    pipelines: tuple[PipelineSummary, ...]

    def __iter__(self) -> Iterator[PipelineSummary]:
        return iter(self.pipelines)

    def __len__(self) -> int:
        return len(self.pipelines)

    def _parts(self) -> Iterator[Grid | str]:
        yield _pipelines(self.pipelines) if self.pipelines else "no pipelines: `hakiri pipeline create` adds one"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the source describes it, with its type in Spark SQL."""

    pipeline: str
    table: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ChunkToRead:
    """A chunk that the next run reads; `rows` is an estimate, None where the source gives none."""

    pipeline: str
    table: str
    id: str
    reads: str
    rows: int | None


@dataclass(frozen=True, slots=True, repr=False)
class PlanResult(Shown):
    """What there is to do. It shows the same text as `hakiri plan`."""

    lines: tuple[str, ...]
    chunks: tuple[ChunkToRead, ...]
    columns: tuple[SourceColumn, ...]
    has_work: bool
    document: Mapping[str, Any]
    """The plan for programs (docs/plan.md)."""
    errors: Mapping[str, HakiriError]
    """Why pipelines cannot be planned, by pipeline."""

    def _parts(self) -> Iterator[Grid | str]:
        yield "\n".join(self.lines)
        for pipeline, error in self.errors.items():
            yield f"{pipeline}: cannot be planned\n{render(error)}"


@dataclass(frozen=True, slots=True)
class LandingResult:
    """One landing of a run: how many rows, and the Delta version it became."""

    table: str
    number: int
    version: int
    outcome: str
    rows: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """How the run of one pipeline ended."""

    pipeline: str
    run: str
    status: str
    rows: int
    rows_read: int
    landings: tuple[LandingResult, ...]
    notes: tuple[str, ...]
    errors: tuple[HakiriError, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ApplyResult(Shown):
    """What an apply did, pipeline by pipeline, and which views it changed."""

    runs: tuple[PipelineResult, ...]
    views: Mapping[str, str]
    """What became of each view that changed."""
    errors: tuple[HakiriError, ...]
    """All errors, of the pipelines and of the views."""

    @property
    def is_ok(self) -> bool:
        """Whether nothing was left undone."""
        return not self.errors and all(run.status == "succeeded" for run in self.runs)

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs)

    @property
    def rows_read(self) -> int:
        return sum(run.rows_read for run in self.runs)

    def _parts(self) -> Iterator[Grid | str]:
        heads = ("pipeline", "status", "rows read", "rows landed", "run")
        yield grid(heads, [(one.pipeline, one.status, one.rows_read, one.rows, one.run) for one in self.runs])
        landings = [landing for one in self.runs for landing in one.landings]
        if landings:
            rows = [(one.table, one.number, one.outcome, one.version, one.rows, one.quarantined) for one in landings]
            yield grid(("table", "landing", "outcome", "version", "rows", "quarantined"), rows)
        if self.views:
            yield grid(("view", "change"), list(self.views.items()))
        yield from (f"note: {note}" for one in self.runs for note in one.notes)
        yield from map(render, self.errors)


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """How far one pipeline is; None is not known."""

    pipeline: str
    phase: str
    done: int
    running: int
    pending: int
    failed: int
    rows: int
    rows_per_second: float | None
    eta_seconds: float | None
    latest_run: str | None
    latest_status: str | None
    error: HakiriError | None
    """What keeps the next run from going on."""


@dataclass(frozen=True, slots=True, repr=False)
class StatusResult(Shown):
    """How far each pipeline is."""

    pipelines: tuple[PipelineStatus, ...]

    def __iter__(self) -> Iterator[PipelineStatus]:
        return iter(self.pipelines)

    def __getitem__(self, pipeline: str) -> PipelineStatus:
        """Return the status of a pipeline. Raises KeyError."""
        return {one.pipeline: one for one in self.pipelines}[pipeline]

    def _parts(self) -> Iterator[Grid | str]:
        heads = ("pipeline", "phase", "done", "running", "pending", "failed", "rows", "latest run", "status")
        names = ("pipeline", "phase", "done", "running", "pending", "failed", "rows", "latest_run", "latest_status")
        yield grid(heads, [[getattr(one, name) for name in names] for one in self.pipelines])
        yield from (render(one.error) for one in self.pipelines if one.error)


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run of a pipeline; `seconds` is how long it took, or has taken so far."""

    run: str
    pipeline: str
    status: str
    started_at: datetime
    seconds: float
    rows: int
    bytes: int
    error: str


@dataclass(frozen=True, slots=True, repr=False)
class Runs(Shown):
    """Past runs, the newest of each pipeline first."""

    runs: tuple[PastRun, ...]

    def __iter__(self) -> Iterator[PastRun]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def _parts(self) -> Iterator[Grid | str]:
        if not self.runs:
            yield "nothing has run yet: `hakiri apply`"
            return
        heads = ("run", "pipeline", "status", "started", "seconds", "rows", "bytes", "error")
        yield grid(
            heads,
            [
                (
                    one.run,
                    one.pipeline,
                    one.status,
                    one.started_at,
                    round(one.seconds, 1),
                    one.rows,
                    one.bytes,
                    one.error,
                )
                for one in self.runs
            ],
        )


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """One event of a run: when, which, and its facts as the journal has them."""

    at: datetime
    event: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, repr=False)
class Journal(Shown):
    """What happened in a run, in order."""

    run: str
    events: tuple[JournalEvent, ...]

    def __iter__(self) -> Iterator[JournalEvent]:
        return iter(self.events)

    def _parts(self) -> Iterator[Grid | str]:
        rows = [(one.at, one.event, ", ".join(f"{name} {fact}" for name, fact in one.facts.items())) for one in self]
        yield grid(("at", "event", "facts"), rows, title=f"run {self.run}")


@dataclass(frozen=True, slots=True, repr=False)
class Rows(Shown):
    """The answer to a query. Decimals, dates, times and bytes are text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    has_more: bool = False
    """Whether rows were left out because of `limit`."""

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), schema=list(self.columns), orient="row", infer_schema_length=None)

    def _parts(self) -> Iterator[Grid | str]:
        yield grid(self.columns, self.rows, null="NULL")
        count = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        yield f"{count}, cut here: `limit` brings more" if self.has_more else count


@dataclass(frozen=True, slots=True)
class TableLanding:
    """One landing of a table, as the catalog has it."""

    number: int
    status: str
    version: int | None
    chunks: int


@dataclass(frozen=True, slots=True)
class TableChunk:
    """One chunk of a table, as the catalog has it; a rewind gives it a new generation."""

    id: str
    generation: int
    status: str
    reason: str
    error: str


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One version of a table's schema: what changed, when, in which run, by whom and why."""

    version: int
    at: datetime
    changes: tuple[str, ...]
    run: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Rewound(Shown):
    """The chunks that the next run reads again, by table."""

    chunks: Mapping[str, tuple[str, ...]]

    def _parts(self) -> Iterator[Grid | str]:
        yield grid(("table", "chunks to read again"), [(table, len(ids)) for table, ids in self.chunks.items()])


@dataclass(frozen=True, slots=True, repr=False)
class ChunkResult(Shown):
    """What became of the rows of one chunk: read = staged + quarantined + filtered + deduplicated + merged - added."""

    id: str
    reads: str
    tally: Mapping[str, int]
    broken: Mapping[str, int]
    """How many rows broke each rule."""
    notes: tuple[str, ...]
    staged: pl.DataFrame
    """The first rows to land."""
    quarantined: pl.DataFrame
    """The first rows that were set aside, each with its reason."""
    files: tuple[str, ...]
    """The files that were written, relative to the folder."""

    def _parts(self) -> Iterator[Grid | str]:
        yield grid(("rows", "count"), list(self.tally.items()), title=f"chunk {self.id}: {self.reads}")
        if self.broken:
            yield grid(("rule", "rows"), list(self.broken.items()), title="rules that rows broke")
        yield _frame(self.staged, "rows to land")
        if len(self.quarantined):
            yield _frame(self.quarantined, "rows set aside")
        yield from (f"note: {note}" for note in self.notes)


def _pipelines(every: Sequence[PipelineSummary]) -> Grid:
    rows = [(one.id, one.connector, ", ".join(one.tables), one.schedule, one.mode, one.place) for one in every]
    return grid(("id", "source", "tables", "schedule", "load", "where"), rows)


def _frame(frame: pl.DataFrame, title: str) -> Grid:
    return grid(frame.columns, frame.rows(), title=title, null="NULL")


def _cell(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            return moment.strftime("%Y-%m-%d %H:%M:%S")
        case _:
            text = mask(str(value)).replace("\n", " ")
            return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
