"""Facts become a plan here, and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from hakiri.model import span as spans
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, TableKey
from hakiri.model.ledger import Phase
from hakiri.model.source import CursorKind, Survey
from hakiri.model.span import OneFile
from hakiri.model.transitions import PHASE_MOVES, Move
from hakiri.plan.caution import cautions
from hakiri.plan.chunking import Cut, Portion, portions
from hakiri.plan.errors import KeyNeeded
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.knobs import Knobs, knobs_of, window_for
from hakiri.plan.overlap import spans_read
from hakiri.plan.plan import Counts, Lacking, PipelinePlan, Plan, PlannedChunk, Progression, TablePlan
from hakiri.plan.read_from import cursor_column, cursor_of, described_cursor, floor_of, lag_of
from hakiri.plan.reading import to_json, window_of
from hakiri.plan.rounds import History, chunk_name
from hakiri.plan.schema_changes import schema_changes
from hakiri.plan.sizing import Target, target_for
from hakiri.spec.load import load_by_mode
from hakiri.spec.unavailable import require_carried_out

_TABLE_STRIDE = 1_000_000


def make_plan(pipelines: Iterable[PipelineFacts]) -> Plan:
    """What there is to do: pipelines by name, tables as the manifest orders them. The same facts, the same plan (G1).

    Raises PlanError where a manifest asks for what the source does not have.
    """
    return Plan(tuple(_plan_pipeline(facts) for facts in sorted(pipelines, key=lambda facts: facts.spec.id)))


def _plan_pipeline(facts: PipelineFacts) -> PipelinePlan:
    require_carried_out(facts.spec)
    knobs = knobs_of(facts)
    tables = tuple(_plan_table(facts, table, knobs, place) for place, table in enumerate(facts.tables))
    phase = facts.phase or Phase.PLANNING
    return PipelinePlan(
        pipeline=facts.spec.id,
        is_new=facts.phase is None,
        phase=phase,
        move=_move(phase, tables),
        knobs=knobs,
        tables=tables,
    )


def _move(phase: Phase, tables: Iterable[TablePlan]) -> Move | None:
    """A table that has history to read holds its pipeline in backfilling, or brings it back there."""
    is_behind = any(
        table.phase is Phase.BACKFILLING or (table.phase is Phase.PLANNING and table.has_work) for table in tables
    )
    after = Phase.BACKFILLING if is_behind else Phase.STREAMING
    return next((move for move in PHASE_MOVES if (move.before, move.after) == (phase, after)), None)


def _plan_table(pipeline: PipelineFacts, table: TableFacts, knobs: Knobs, place: int) -> TablePlan:
    key = TableKey(pipeline.spec.id, table.spec.name)
    _require_key(pipeline, table)
    history = table.history
    cut = Cut(
        table=key,
        kind=pipeline.cursor_kind,
        target=target_for(table.survey, knobs.parallelism.value) if table.survey else Target(),
        column=(cursor := described_cursor(pipeline, table)),
        window=window_for(pipeline, table),
    )
    since = floor_of(pipeline, table)
    found = () if history.open else portions(_surveyed(table), cut, since)
    if table.is_full_refresh:
        readings = (replace(one.reading, replaces=True, asked_by=pipeline.asked_by) for one in found)
        found = tuple(replace(one, reading=reading) for one, reading in zip(found, readings, strict=True))
    fresh = _told_apart(_fresh(pipeline, table, history, found))
    changes = schema_changes(table, pipeline.spec.schema_policy)
    return TablePlan(
        table=key,
        phase=_phase(pipeline, table, history),
        load=pipeline.load(table),
        progression=Progression(
            cursor.name if cursor else None, lag_of(pipeline, table), since, fresh[0].reading.reach if fresh else None
        ),
        chunks=tuple(_chunk(portion, cut, history, place, slot) for slot, portion in enumerate(fresh)),
        counts=_counts(history, len(fresh)),
        lacking=_lacking(table, history, fresh),
        is_overlap_only=bool(fresh) and _is_at_top(pipeline, table),
        changes=changes,
        cautions=cautions(pipeline, table, history=history, portions=fresh, target=cut.target, changes=changes),
    )


def _require_key(pipeline: PipelineFacts, table: TableFacts) -> None:
    """Raises KeyNeeded for an upsert without a key to go by."""
    load = pipeline.load(table)
    if load.needs_key and not (load.own_key or table.primary_key):
        raise KeyNeeded(pipeline=pipeline.spec.id, table=table.spec.name)


def _told_apart(fresh: tuple[Portion, ...]) -> tuple[Portion, ...]:
    """A round of files carries a digest of them all: two planners that saw different files cannot plan one round."""
    files = [portion.reading.span for portion in fresh if isinstance(portion.reading.span, OneFile)]
    if not files:
        return fresh
    digest = sha256("\n".join(map(spans.to_json, files)).encode()).hexdigest()[:16]
    return tuple(replace(portion, reading=replace(portion.reading, among=digest)) for portion in fresh)


def _surveyed(table: TableFacts) -> Survey:
    if table.survey is None:
        raise ValueError(f"table {table.spec.name} has no open chunks, so its plan needs a survey")
    return table.survey


def _fresh(
    pipeline: PipelineFacts, table: TableFacts, history: History, found: tuple[Portion, ...]
) -> tuple[Portion, ...]:
    """What of the portions is still to be read. The first round reads even nothing, so that the table comes to be."""
    if not found or not history.is_begun or table.is_full_refresh:
        return found
    if any(isinstance(portion.reading.span, OneFile) for portion in found):
        return _unread(pipeline, table, history, found)
    return () if _is_settled(pipeline, table) else found


def _unread(
    pipeline: PipelineFacts, table: TableFacts, history: History, found: tuple[Portion, ...]
) -> tuple[Portion, ...]:
    """The files no chunk has read in this version; all of them, if any changed, where a landing replaces the table.

    What was there before the last full refresh is not there any more, and what was gone when it was to be read is not
    read.
    """
    since = history.last_round if pipeline.is_replacing(table) else history.refreshed
    read = spans_read(history, since)
    if pipeline.is_replacing(table):
        landed = load_by_mode(table.landed_mode)
        is_exchanged = landed is None or landed.replaces_table  # of a table that was added to, the last round is a part
        is_whole = not any(state.seal and state.seal.is_replaced for state in history.since(since))
        is_read = is_exchanged and is_whole and read == {portion.reading.span for portion in found}
        return () if is_read else found
    return tuple(portion for portion in found if portion.reading.span not in read)


def _is_settled(pipeline: PipelineFacts, table: TableFacts) -> bool:
    """Whether the source can have nothing that has not landed: then not even the overlap is read."""
    survey = _surveyed(table)
    if pipeline.is_replacing(table):
        return False  # an emptied source empties the table
    if survey.is_exact and survey.rows == 0:
        return True
    if not _is_at_top(pipeline, table):
        return False
    if pipeline.cursor_kind is CursorKind.SNAPSHOT_ID:
        return True
    # A cursor that is the whole key ties with nothing: a row that is not late would have a greater one.
    return table.primary_key == (cursor_column(pipeline, table),) and not lag_of(pipeline, table)


def _is_at_top(pipeline: PipelineFacts, table: TableFacts) -> bool:
    """Whether the greatest value at the source is still the one the cursor has."""
    last = cursor_of(pipeline, table)
    return last is not None and table.survey is not None and table.survey.high == last


def _phase(pipeline: PipelineFacts, table: TableFacts, history: History) -> Phase:
    """A table that is exchanged may not exist after its first round: a file was replaced before it was read."""
    is_left_out = pipeline.is_replacing(table) and any(
        state.seal and state.seal.is_replaced for state in history.since(history.last_round)
    )
    if history.is_backfilling or (is_left_out and table.landed_columns is None):
        return Phase.BACKFILLING
    return Phase.STREAMING if history.is_begun or table.cursor else Phase.PLANNING


def _chunk(portion: Portion, cut: Cut, history: History, place: int, slot: int) -> PlannedChunk:
    number = history.last_round + 1
    chunk = Chunk(
        key=ChunkKey(cut.table.pipeline, cut.table.table, chunk_name(number, slot + 1)),
        ordinal=place * _TABLE_STRIDE + slot,
        window=window_of(portion.reading, cut.column.name if cut.column else None),
        predicate=to_json(portion.reading),
        round=number,
        is_refresh=portion.reading.replaces,
    )
    return PlannedChunk(chunk, portion.rows, portion.bytes)


def _counts(history: History, new: int) -> Counts:
    standing = Counter(state.status for state in history.open)
    return Counts(
        new=new,
        pending=standing[ChunkStatus.PENDING],
        running=standing[ChunkStatus.RUNNING],
        waiting=standing[ChunkStatus.WAITING],
        staged=standing[ChunkStatus.DONE],
        landed=(history.totals.chunks if history.totals else 0) + len(history.lost),
        failed=standing[ChunkStatus.FAILED],
    )


def _lacking(table: TableFacts, history: History, fresh: tuple[Portion, ...]) -> Lacking:
    survey = table.survey
    if survey is None:
        return Lacking(None, None, is_exact=False)
    if not history.open:
        rows, sizes = _total(one.rows for one in fresh), _total(one.bytes for one in fresh)
        return Lacking(rows, sizes, is_exact=survey.is_exact and not history.is_begun)
    # What the open round has not landed yet: the survey less what has.
    landed = history.totals.rows if history.totals else 0
    rows = None if survey.rows is None else max(0, survey.rows - landed)
    return Lacking(rows, None, is_exact=False)


def _total(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)
