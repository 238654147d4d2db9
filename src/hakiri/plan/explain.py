"""Explain a plan in a few lines: what would be read, what would change, and what to watch out for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from hakiri.errors import mask
from hakiri.model.chunk import Chunk, Window
from hakiri.model.span import OneFile
from hakiri.plan.document import knob_text
from hakiri.plan.knobs import Knobs
from hakiri.plan.plan import Counts, Lacking, PipelinePlan, Plan, PlannedChunk, TablePlan
from hakiri.plan.reading import from_json
from hakiri.plan.schema_changes import MARKS, ChangeKind, SchemaChange
from hakiri.plan.views import ViewChange, ViewVerb
from hakiri.spec.fields.duration import format_duration

MAX_LINES = 500
MAX_CHUNKS = 5
MAX_CHANGES = 10

_VIEW_MARKS = {ViewVerb.CREATE: "+", ViewVerb.REPLACE: "~", ViewVerb.DROP: "-"}


def explain(plan: Plan) -> list[str]:
    """Return the plan as lines of text, the summary last; about `MAX_LINES` at most."""
    every = [*(line for pipeline in plan.pipelines for line in _pipeline(pipeline)), *_views(plan.views)]
    lines = [mask(line) for line in every]
    hidden = len(lines) - MAX_LINES
    shown = [*lines[:MAX_LINES], f"... and {hidden} more lines; --json has them all"] if hidden > 0 else lines
    return [*shown, _verdict(plan)]


def _verdict(plan: Plan) -> str:
    tables = [table for pipeline in plan.pipelines for table in pipeline.tables if table.has_work]
    views = sum(not change.waits_for for change in plan.views)
    if not tables:
        return f"To do: {_number(views, 'view')}." if views else "Nothing to do."
    if all(table.is_overlap_only for table in tables) and not views:
        return f"Nothing new: {_number(len(tables), 'table')} would read the overlap again."
    known = [table.lacking.rows for table in tables]
    rows = sum(rows for rows in known if rows is not None)
    about = "" if all(table.lacking.is_exact for table in tables) else "about "
    amount = "an unknown number of rows" if None in known else f"{about}{_number(rows, 'row')}"
    chunks = sum(table.counts.open for table in tables)
    also = f", {_number(views, 'view')}" if views else ""
    return f"To do: {_number(chunks, 'chunk')} of {_number(len(tables), 'table')}, {amount}{also}."


def _views(changes: tuple[ViewChange, ...]) -> Iterator[str]:
    if changes:
        yield "views:"
    for change in changes:
        waits = f", once {' and '.join(f'`{table}`' for table in change.waits_for)} landed" if change.waits_for else ""
        yield f"  {_VIEW_MARKS[change.verb]} {change.view} ({change.verb}{waits})"


def _pipeline(plan: PipelinePlan) -> Iterator[str]:
    moves = f" -> {plan.move.after} ({plan.move.verb})" if plan.move else ""
    yield f"{plan.pipeline}: {'new, ' if plan.is_new else ''}{plan.phase}{moves}"
    yield f"  {', '.join(_knobs(plan.knobs))}"
    for table in plan.tables:
        yield from _table(table)


def _knobs(knobs: Knobs) -> Iterator[str]:
    for name, setting in knobs.by_name().items():
        if setting.value is not None:
            yield f"{name.replace('_', ' ')} {knob_text(setting.value)} ({setting.origin})"


def _table(table: TablePlan) -> Iterator[str]:
    yield f"  {table.table.table}: {table.phase}, {table.load.mode}{_cursor(table)}"
    yield f"    chunks: {_counts(table.counts)}"
    if table.has_work:
        yield f"    rows: {_lacking(table.lacking, is_overlap_only=table.is_overlap_only)}"
    yield from _chunks(table.chunks)
    yield from _changes(table.changes)
    for caution in table.cautions:
        yield f"    warning: {caution.text}"


def _cursor(table: TablePlan) -> str:
    progression = table.progression
    if progression.column is None:
        return ""
    lag = f", lag {format_duration(progression.lag)}" if progression.lag else ""
    word = "cursor" if table.load.watermark is None else "watermark"
    return f", {word} {progression.column}{lag}"


def _counts(counts: Counts) -> str:
    named = [f"{count:,} {name}" for name, count in asdict(counts).items() if count]
    return ", ".join(named) or "none"


def _lacking(lacking: Lacking, *, is_overlap_only: bool) -> str:
    if lacking.rows is None:
        return "not known before they are read"
    size = f" ({_size(lacking.bytes)})" if lacking.bytes else ""
    if is_overlap_only:
        return f"{lacking.rows:,} of the overlap{size}"
    return f"{lacking.rows:,} lacking{size}" if lacking.is_exact else f"about {lacking.rows:,} lacking, estimated{size}"


def _chunks(chunks: tuple[PlannedChunk, ...]) -> Iterator[str]:
    for planned in chunks[:MAX_CHUNKS]:
        rows = "rows not known" if planned.rows is None else f"about {_number(planned.rows, 'row')}"
        yield f"      {planned.chunk.key.chunk}  {describe_reading(planned.chunk)}, {rows}"
    if len(chunks) > MAX_CHUNKS:
        yield f"      ... and {len(chunks) - MAX_CHUNKS:,} more"


def describe_reading(chunk: Chunk) -> str:
    """Describe which part of the source a chunk reads: a file, or a window of the cursor."""
    span = from_json(chunk.predicate).span
    return span.path if isinstance(span, OneFile) else _stretch(chunk.window)


def _stretch(window: Window) -> str:
    match window:
        case Window(None, None):
            return "no bounds"
        case Window(None, upper):
            return f"below {upper}"
        case Window(lower, None):
            return f"{lower} and above"
        case _:
            return f"{window.lower} to {window.upper}"


def _changes(changes: tuple[SchemaChange, ...]) -> Iterator[str]:
    for change in changes[:MAX_CHANGES]:
        refused = "" if change.is_applied else ", refused"
        yield f"    schema: {MARKS[change.kind]} {change.column} {_types(change)}{refused}"
    if len(changes) > MAX_CHANGES:
        yield f"    schema: ... and {len(changes) - MAX_CHANGES:,} more"


def _types(change: SchemaChange) -> str:
    match change.kind:
        case ChangeKind.ADDED:
            return f"{change.after} (added; older rows get NULL)"
        case ChangeKind.DROPPED:
            return f"{change.before} (dropped at the source; kept here, new rows get NULL)"
        case ChangeKind.RESHAPED:
            return f"{change.before} -> {change.after} (landed rows keep their form; --full-refresh lands them anew)"
        case ChangeKind.RENAMED:
            return f"(renamed from {change.before})"
        case _:
            return f"{change.before} -> {change.after or 'none'} ({change.kind})"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1_000:
            break
        size, unit = size / 1_000, larger
    return f"{size:.3g} {unit}"
