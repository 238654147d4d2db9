"""Cautions of a plan: what works, but may surprise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hakiri.errors import retry_advice
from hakiri.model.chunk import ChunkStatus
from hakiri.model.columns.renames import present_name
from hakiri.model.cursor import CursorType, StoredCursor, is_beyond, shown
from hakiri.model.source import CursorKind
from hakiri.model.span import OneFile
from hakiri.plan.batch import is_of_files, needs_order
from hakiri.plan.chunking import Portion
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.overlap import landed_before
from hakiri.plan.read_from import cursor_column, cursor_of, type_of_cursor
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History, round_in_name
from hakiri.plan.schema_changes import ChangeKind, SchemaChange
from hakiri.plan.sizing import Target

_SKEW = 4


class CautionKind(StrEnum):
    """The kind of a caution, for programs."""

    PARALLELISM = "parallelism"
    NO_CURSOR = "no-cursor"
    NUMERIC_CURSOR = "numeric-cursor"
    FUTURE_CURSOR = "future-cursor"
    CURSOR_BEYOND_SOURCE = "cursor-beyond-source"
    UNINDEXED_CURSOR = "unindexed-cursor"
    NO_KEY = "no-key"
    NO_ORDER = "no-order"
    OTHER_KEY = "other-key"
    SNAPSHOT_NEEDED = "snapshot-needed"
    SKEW = "skew"
    FAILED_CHUNKS = "failed-chunks"
    REFRESH_WAITS = "refresh-waits"
    SCHEMA = "schema"
    PER_CHUNK = "per-chunk"
    PARTITIONING = "partitioning"
    NEW_COLUMN = "new-column"
    MIXED_SHAPES = "mixed-shapes"
    CHANGED_FILE = "changed-file"
    RENAMED_FILE = "renamed-file"
    JOINED_TABLE = "joined-table"
    LOST_MANIFESTS = "lost-manifests"


TOLD_BY_RUNS = frozenset(
    {
        CautionKind.FUTURE_CURSOR,
        CautionKind.CURSOR_BEYOND_SOURCE,
        CautionKind.OTHER_KEY,
        CautionKind.NO_ORDER,
        CautionKind.LOST_MANIFESTS,
    }
)
"""Cautions that every run repeats and journals: the table may miss rows, or have rows that its source has not."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning about a table's plan."""

    kind: CautionKind
    text: str


def cautions(
    pipeline: PipelineFacts,
    table: TableFacts,
    *,
    history: History,
    portions: Iterable[Portion],
    target: Target,
    changes: Iterable[SchemaChange],
) -> tuple[Caution, ...]:
    """Return all cautions of a table: first those from its declaration, then those from the facts."""
    return tuple(
        Caution(kind, text)
        for part in (
            _parallelism(pipeline),
            _cursor(pipeline, table),
            _key(pipeline, table),
            _shape(table, portions, target),
            _state(pipeline, table, history),
            _schema(changes),
            _partitioning(table),
            _transform(table),
            _joined(pipeline, table, history),
            _new_columns(pipeline, table, history, changes),
            _files(pipeline, table, history, portions),
            _lost(pipeline, table, history),
        )
        for kind, text in part
    )


Cautions = Iterator[tuple[CautionKind, str]]


def _parallelism(pipeline: PipelineFacts) -> Cautions:
    asked, safe = pipeline.spec.backfill.parallelism or 1, pipeline.hint.safe_parallelism
    if pipeline.cursor_kind is CursorKind.OPAQUE_TOKEN and asked > 1:
        yield CautionKind.PARALLELISM, f"page tokens are walked one after the other: parallelism {asked} is not used"
    elif asked > max(1, safe):
        yield CautionKind.PARALLELISM, f"parallelism {asked} is more than the source is said to bear ({safe})"


def _cursor(pipeline: PipelineFacts, table: TableFacts) -> Cautions:
    if pipeline.cursor_kind in {CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID}:
        return
    line = type_of_cursor(pipeline, table)
    if line is None:
        unused = [
            f"`backfill.{knob}`"
            for knob in ("window", "start_from")
            if getattr(pipeline.spec.backfill, knob) is not None
        ]
        means = f", and {' and '.join(unused)} mean nothing" if unused else ""
        # A file is read once, and a table that is replaced is meant to be read whole.
        is_expected = pipeline.is_replacing(table) or is_of_files(table)
        if unused or not is_expected:
            yield CautionKind.NO_CURSOR, f"no cursor is declared: every run reads the whole table{means}"
        return
    if line.is_number:
        yield (
            CautionKind.NUMERIC_CURSOR,
            "a number has no lag: a row committed after a higher number was read is missed",
        )
    yield from _position(pipeline, table)
    if line is CursorType.TEXT and pipeline.load(table).watermark is not None:
        yield CautionKind.NO_CURSOR, "a text has another order at each source: every run reads the whole table"
    if table.is_unindexed:
        column = cursor_column(pipeline, table)
        text = f"the source has no index on the cursor `{column}`: every run reads the whole table to find what is new"
        yield CautionKind.UNINDEXED_CURSOR, text
    key = table.primary_key or pipeline.load(table).own_key
    if not key and not pipeline.is_replacing(table):
        yield CautionKind.NO_KEY, "no primary key: what two reads have in common is told by content alone"


def _position(pipeline: PipelineFacts, table: TableFacts) -> Cautions:
    """Warn if the cursor is, or will be, so far ahead that new rows may come before it."""
    high = table.survey.high if table.survey else None
    again = f"read the table again from its beginning: `hakiri apply {pipeline.spec.id} --full-refresh`"
    if table.is_ahead and high is not None:
        top = f"the greatest value of the cursor, {shown(high)}, lies in the future"
        text = f"{top}: rows that come before it is reached are not read; correct it at the source, then {again}"
        yield CautionKind.FUTURE_CURSOR, text
        return
    if (last := cursor_of(pipeline, table)) is None:
        return
    if table.is_cursor_ahead:
        text = f"the table was read up to {shown(last)}, which lies in the future"
        yield CautionKind.FUTURE_CURSOR, f"{text}: rows that come before it are not read; {again}"
    elif high is not None and is_beyond(StoredCursor(last), StoredCursor(high)):
        text = f"the table was read up to {shown(last)}, and the greatest value of its source is {shown(high)} now"
        yield (
            CautionKind.CURSOR_BEYOND_SOURCE,
            f"{text}: rows in between are not read; if the source was corrected or filled anew, {again}",
        )


def _key(pipeline: PipelineFacts, table: TableFacts) -> Cautions:
    named = _named_key(pipeline, table)
    if table.source_key and named and set(table.source_key) != set(named):
        own, other = ", ".join(table.source_key), ", ".join(named)
        yield CautionKind.OTHER_KEY, f"the primary key of the source is {own}, and the manifest names {other}"
    if not needs_order(pipeline, table):
        return
    if is_of_files(table):
        text = (
            "no cursor lands: of rows with one key, that of the last file, by name, and line counts; "
            "a file that changes later, or is rewound, counts from then on"
        )
        yield CautionKind.NO_ORDER, text
    else:
        yield CautionKind.NO_ORDER, "no cursor lands: of rows with one key, the one that is read last counts"


def _named_key(pipeline: PipelineFacts, table: TableFacts) -> tuple[str, ...]:
    """Return the manifest's key in columns of the source; none if a transform produces it."""
    key = pipeline.load(table).own_key
    known = {column.name for column in table.columns}
    return (key if set(key) <= known else ()) if key else table.spec.primary_key


def _shape(table: TableFacts, portions: Iterable[Portion], target: Target) -> Cautions:
    if table.survey and table.survey.needs_one_snapshot and len(table.survey.pieces) > 1:
        text = "the source has no key to cut by and would need one snapshot for all parts: it is read as one chunk"
        yield CautionKind.SNAPSHOT_NEEDED, text
        return
    largest = max((portion.rows or 0 for portion in portions), default=0)
    if largest > _SKEW * target.rows:
        yield CautionKind.SKEW, f"one chunk holds about {largest} rows that share a value or a window"


def _state(pipeline: PipelineFacts, table: TableFacts, history: History) -> Cautions:
    if failed := len(history.having(ChunkStatus.FAILED)):
        noun = "chunk has" if failed == 1 else "chunks have"
        text = f"{failed} {noun} failed for good, and nothing new is read: {retry_advice(pipeline.spec.id)}"
        yield CautionKind.FAILED_CHUNKS, text
    if table.is_full_refresh and history.open:
        yield CautionKind.REFRESH_WAITS, "a full refresh begins once the chunks already planned have landed"


def _schema(changes: Iterable[SchemaChange]) -> Cautions:
    refused = [change.column for change in changes if not change.is_applied]
    if refused:
        yield CautionKind.SCHEMA, f"the landing would be refused: {', '.join(refused[:5])}"


def _partitioning(table: TableFacts) -> Cautions:
    declared = [present_name(name, table.spec.renamed).casefold() for name in table.spec.partition_by]
    landed = [present_name(name, table.spec.renamed).casefold() for name in table.landed_partition]
    if table.landed_columns is not None and declared and declared != landed:
        found = ", ".join(table.landed_partition) or "nothing"
        yield (
            CautionKind.PARTITIONING,
            f"the landing would be refused: the table is partitioned by {found}, and that cannot change",
        )


def _transform(table: TableFacts) -> Cautions:
    if table.transform and table.transform.sees_all:
        yield CautionKind.PER_CHUNK, "the transform sorts, groups or numbers the rows of one chunk, not of the table"


def _joined(pipeline: PipelineFacts, table: TableFacts, history: History) -> Cautions:
    """Warn where a row that is read again may come out of a join in another form (docs/guarantees.md)."""
    joins = table.transform.joins if table.transform else ()
    if not joins or not pipeline.load(table).is_known_by_content or table.is_full_refresh:
        return
    if is_of_files(table) and not landed_before(history, table.survey.pieces if table.survey else ()):
        return
    named = ", ".join(f"`{name}`" for name in joins)
    what = f"a row that is read again after {named} has changed lands again, in its new form, beside the old one"
    text = f"{what}; `hakiri apply {pipeline.spec.id} --full-refresh` lands every row once"
    yield CautionKind.JOINED_TABLE, text


def _new_columns(
    pipeline: PipelineFacts, table: TableFacts, history: History, changes: Iterable[SchemaChange]
) -> Cautions:
    """Warn where rows that are read again are compared without a column (docs/guarantees.md)."""
    added = [one.column for one in changes if one.kind is ChangeKind.ADDED and one.is_applied]
    if not added or not pipeline.load(table).is_known_by_content or table.is_full_refresh:
        return
    named = ", ".join(f"`{name}`" for name in added[:5])
    if not is_of_files(table):
        text = f"{named} is new: a row that was read before, and has changed there alone, is taken for the landed one"
        yield CautionKind.NEW_COLUMN, text
    staged = history.having(ChunkStatus.DONE)
    unread = history.having(ChunkStatus.PENDING, ChunkStatus.RUNNING, ChunkStatus.WAITING, ChunkStatus.FAILED)
    if staged and unread and not table.primary_key:
        text = f"chunks that were read before {named} came land with chunks that have it, and are compared without it"
        yield CautionKind.MIXED_SHAPES, text


def _files(pipeline: PipelineFacts, table: TableFacts, history: History, portions: Iterable[Portion]) -> Cautions:
    """Warn where rows of a file may land again, or be taken for those of another file (docs/guarantees.md)."""
    if not pipeline.load(table).adds_what_is_read or not is_of_files(table) or table.is_full_refresh:
        return
    spans = [from_json(state.chunk.predicate).span for state in history.chunks if state.chunk.key in history.landed]
    landed = {span.path: span for span in spans if isinstance(span, OneFile)}
    alike = {mark: path for path, span in landed.items() for mark in _marks(span)}
    unread = [portion.reading.span for portion in portions if isinstance(portion.reading.span, OneFile)]
    if (changed := [span.path for span in unread if span.path in landed]) and not table.primary_key:
        text = f"{_first_of(changed)} has changed: those of its rows that equal a row of another file do not land"
        yield CautionKind.CHANGED_FILE, text
    new = ((span, alike[mark]) for span in unread if span.path not in landed for mark in _marks(span) if mark in alike)
    if renamed := dict(new):
        paths, was = [span.path for span in renamed], next(iter(renamed.values()))
        text = f"{_first_of(paths)} looks like {was}, which has landed: its rows land again"
        yield CautionKind.RENAMED_FILE, text


def _marks(span: OneFile) -> Iterator[str]:
    """Return what identifies a renamed or copied file: size and age, and size and last bytes."""
    yield span.version
    if span.tail:
        yield f"{span.version.partition('-')[0]} {span.tail}"


def _lost(pipeline: PipelineFacts, table: TableFacts, history: History) -> Cautions:
    """Warn where a rebuilt catalog does not know how landed rows were read (docs/guarantees.md)."""
    if not pipeline.load(table).is_known_by_content or table.is_full_refresh:
        return
    lost = [name for name in history.lost if round_in_name(name) >= history.refreshed]
    if lost:
        text = f"since the catalog was rebuilt, {lost_manifests(lost)}; {land_again(pipeline.spec.id)}"
        yield CautionKind.LOST_MANIFESTS, text


def lost_manifests(chunks: Sequence[str]) -> str:
    """Describe what is missing of these landed chunks."""
    noun = "chunk" if len(chunks) == 1 else "chunks"
    shown = ", ".join(chunks[:3]) + (", ..." if len(chunks) > 3 else "")
    return f"the staged manifests of {len(chunks)} landed {noun} are lost ({shown})"


def land_again(pipeline: str) -> str:
    """Describe what happens to rows whose columns at the time of reading are unknown, and what to do."""
    what = "a row that was read before a column came, and has a value in it at the source, lands again when it is read"
    return f"{what}: `hakiri apply {pipeline} --full-refresh` lands every row once"


def _first_of(paths: list[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} (and {len(paths) - 1} more)"
