"""Rebuild a lost catalog from the tables' logs, so that no row is lost or repeated.

What is restored, in which order, and what the next run makes of it is docs/adr/0040.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.extract.connectors.declared import source_table
from hakiri.extract.connectors.port import Connector
from hakiri.land.decide.same_rows import Shape, assumed, remembered
from hakiri.land.delta.contents import TableContents, read_contents
from hakiri.land.delta.handover import all_landings
from hakiri.land.delta.history import LandedCommit, landings_of, read_commits
from hakiri.land.lander import look_at
from hakiri.land.stamp import app_id
from hakiri.land.target import PathTarget, Target, quarantine_of, tombstones_of
from hakiri.land.tombstones import NUMBERED_AS
from hakiri.model.chunk import Chunk, ChunkKey, TableKey
from hakiri.model.ledger import Landing, LandingStatus, Phase, Pipeline, Snapshot
from hakiri.model.span import OneFile
from hakiri.model.staged import StagedChunk
from hakiri.model.types import Struct
from hakiri.plan.caution import land_again, lost_manifests
from hakiri.plan.reading import from_json, window_of
from hakiri.plan.rounds import round_in_name
from hakiri.run.errors import CatalogDisagrees
from hakiri.run.facts import describe_tables
from hakiri.run.land_options import shapes_read
from hakiri.run.schema_history import SchemaDecision
from hakiri.run.services import Services, TablePlace
from hakiri.run.staged_manifests import manifests_of
from hakiri.spec.feed import feed_load
from hakiri.spec.pipeline import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a table's own log tells of it, and what its staged files add."""

    table: TableKey
    landings: tuple[Landing, ...] = ()
    """Those whose rows the table holds, by number, and one without chunks for numbers that are spent above them."""
    runs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Which runs staged what each landing brought."""
    taken_back: frozenset[int] = frozenset()
    """The numbers of landings that a RESTORE has undone."""
    chunks: tuple[Chunk, ...] = ()
    """What the landed chunks read, as far as their manifests are there."""
    unknown: tuple[str, ...] = ()
    """The landed chunks whose manifests are lost, so that it is not known with which columns their rows were read."""
    is_whole: bool = True
    """Whether the log reaches back to the table's beginning."""
    schema_json: str = ""
    """The table's columns and its source's key; empty where that cannot be told."""

    @property
    def cursor(self) -> Landing | None:
        """The landing that tells where the table has been read to."""
        return next((one for one in reversed(self.landings) if one.cursor), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was restored for one table, or would be."""

    table: TableKey
    landings: tuple[int, ...] = ()
    """The numbers that were missing from the catalog."""
    known: int = 0
    """How many it had already."""
    cursor_of: int | None = None
    """The landing that the cursor came from."""
    unknown: tuple[str, ...] = ()
    """The landed chunks whose manifests are lost, where rows that are read again are compared by their content."""
    is_whole: bool = True
    """Whether the table's log reaches back to its beginning, where that matters in the same way."""
    error: HakiriError | None = None
    """Why nothing was written."""

    @property
    def caution(self) -> str | None:
        """What may happen to rows that are read again, and what to do; None if everything is known."""
        if self.is_whole and not self.unknown:
            return None
        lost = "the table's log does not reach back to its beginning"
        if self.unknown:
            lost = lost_manifests(self.unknown)
        return f"{lost}; {land_again(self.table.pipeline)}"


def rebuild(services: Services, pipelines: Iterable[PipelineSpec], *, is_rehearsal: bool = False) -> list[Restored]:
    """Record what the tables' logs have and the catalog does not. A repeat changes nothing.

    A table of which the two tell different stories is left as it is, and its error says why; so is one whose past
    reads cannot be told. A rehearsal writes nothing. Raises CatalogError.
    """
    return [done for spec in pipelines for done in _rebuild_pipeline(services, spec, is_rehearsal)]


def _rebuild_pipeline(services: Services, spec: PipelineSpec, is_rehearsal: bool) -> list[Restored]:
    told = [_compare(services, spec, table) for table in spec.tables]
    if not is_rehearsal:
        stories = [story for story, _ in told if story.landings]
        if stories and spec.id not in {one.pipeline for one in services.catalog.pipelines()}:
            services.catalog.register(registration(spec))
        for story in stories:
            write_story(services.catalog, story)
        set_phase(services.catalog, spec, [story for story, _ in told])
    return [restored for _, restored in told]


def _compare(services: Services, spec: PipelineSpec, table: TableSpec) -> tuple[Story, Restored]:
    """Return the story to write, empty if nothing may be written, and what to report of it."""
    key = TableKey(spec.id, table.name)
    known = {one.number: one for one in services.catalog.landings(key)}
    try:
        story = read_story(services, spec, table)
        _require_agreement(story, known)
        missing = tuple(one.number for one in story.landings if one.number not in known)
        if missing:
            _require_readings(services, spec, table, story)
    except HakiriError as error:
        return Story(table=key), Restored(table=key, known=len(known), error=error)
    source = story.cursor
    landed_by = SchemaDecision.from_text(story.schema_json).key if story.schema_json else table.primary_key
    is_compared = missing and spec.load_of(table).for_key(landed_by).is_known_by_content
    return story, Restored(
        table=key,
        landings=missing,
        known=len(known),
        cursor_of=source.number if source and missing else None,
        unknown=story.unknown if is_compared else (),
        is_whole=story.is_whole or not is_compared,
    )


def write_story(catalog: Catalog, story: Story) -> None:
    """Write snapshots and landings, chunks, schema, the cursor last (G5). The next rebuild finishes what is cut off."""
    known = {one.number for one in catalog.landings(story.table)}
    for landing in story.landings:
        if landing.number not in known:
            # The snapshot comes first: a run takes a landing without one for cut off, and looks for its staged files.
            catalog.commit_snapshot(_snapshot(story, landing))
            catalog.restore_landing(landing)
    there = {state.chunk.key.chunk for state in catalog.chunks(story.table)}
    catalog.add_chunks([chunk for chunk in story.chunks if chunk.key.chunk not in there])
    if story.schema_json and not catalog.schemas(story.table):
        catalog.append_schema(story.table, story.schema_json, after=0)
    source, current = story.cursor, catalog.cursor(story.table)
    if source and (current is None or current.landing < source.number):
        catalog.advance_cursor(story.table, source.cursor, landing=source.number)


def _snapshot(story: Story, landing: Landing) -> Snapshot:
    """Make a snapshot without sidecars: only the lost catalog knew which attempt of a chunk won."""
    runs = story.runs.get(landing.number, ())
    return Snapshot(story.table, landing.number, landing.version or 0, runs, sidecars=())


def set_phase(catalog: Catalog, spec: PipelineSpec, stories: Sequence[Story]) -> None:
    """Move a pipeline that is still in its first phase to the phase of its tables."""
    phase = next((one.phase for one in catalog.pipelines() if one.pipeline == spec.id), None)
    if phase is not Phase.PLANNING or not any(story.landings for story in stories):
        return
    catalog.set_phase(spec.id, Phase.BACKFILLING)
    tables = zip(spec.tables, stories, strict=True)
    if all(story.cursor or (story.landings and not _incremental(spec, table)) for table, story in tables):
        catalog.set_phase(spec.id, Phase.STREAMING)


# --- what a table tells ---


def read_story(services: Services, spec: PipelineSpec, table: TableSpec) -> Story:
    """Return what the table's log tells. Raises CatalogDisagrees if that is not enough, and what reading it raises."""
    key, where = TableKey(spec.id, table.name), services.place(spec, table)
    commits = read_commits(where.target, services.spark)
    name = app_id(services.project, key)
    found = all_landings(commits, name)
    held = tuple(one for one in found if not one.is_undone)
    last = max((one.mark.stamp.number for one in found), default=0)
    held_now = _held(services, key, where.target, last)
    if not found:
        return Story(table=key)
    back_at = max((one.version for one in commits if one.restored_to is not None), default=0)
    landings = tuple(as_of(key, one.landing()) for one in held)
    landed = {chunk for one in landings for chunk in one.chunks}
    staged = manifests_of(where, spec.id, landed)
    is_whole = min(one.version for one in commits) == 0
    is_known = is_whole and landed <= {one.chunk for one in staged if one.ingested_at is not None}
    return Story(
        table=key,
        landings=_with_spent(
            key, landings, found, spent=max(last, _spent_beside(services, key, where)), back_at=back_at
        ),
        runs={one.mark.stamp.number: one.mark.stamp.runs for one in held},
        taken_back=frozenset(one.mark.stamp.number for one in found if one.is_undone),
        chunks=_chunks(spec, table, staged),
        unknown=tuple(sorted(chunk.chunk for chunk in landed - {one.chunk for one in staged})),
        is_whole=is_whole,
        schema_json=_schema(services, spec, table, held_now, _Read(staged, is_known=is_known)),
    )


def as_of(key: TableKey, landing: Landing) -> Landing:
    """Return the landing under this pipeline's id, also if the table was taken over from another one."""
    chunks = tuple(replace(chunk, pipeline=key.pipeline) for chunk in landing.chunks)
    return replace(landing, table=key, chunks=chunks)


@dataclass(frozen=True, slots=True)
class _Read:
    """How a table's rows were read, from the manifests of its landed chunks."""

    staged: tuple[StagedChunk, ...]
    is_known: bool
    """Whether every landed chunk has one."""

    def shapes(self, columns: Struct) -> tuple[Shape, ...]:
        """The columns that rows were read with; those of the table for rows that are older than any manifest."""
        table = self.staged[0].chunk.table if self.staged else ""
        return remembered(() if self.is_known else (assumed(columns),), shapes_read(table, self.staged))

    @property
    def transforms(self) -> tuple[str, ...]:
        """The digests of the transforms that the rows went through, the last one first; none where it is not known."""
        refreshed = max((round_in_name(one.chunk.chunk) for one in self.staged if _replaces(one)), default=0)
        read = sorted(
            (one.ingested_at, one.transform)
            for one in self.staged
            if one.files and one.ingested_at and one.transform and round_in_name(one.chunk.chunk) >= refreshed
        )
        return tuple(dict.fromkeys(transform for _, transform in reversed(read)))


def _replaces(staged: StagedChunk) -> bool:
    try:
        return from_json(staged.predicate).replaces
    except ValueError:
        return False  # an earlier release did not say


def _schema(services: Services, spec: PipelineSpec, table: TableSpec, held: TableContents | None, read: _Read) -> str:
    """The table's columns, how its rows were read, and the key that it lands by."""
    if held is None:
        return ""
    is_mirror = feed_load(spec, table) is not None
    restored = SchemaDecision(
        columns=held.schema,
        key=_key(services, spec, table),
        partition_by=held.partition_by,
        shapes=() if is_mirror else read.shapes(held.schema),
        transform=next(iter(read.transforms), ""),
        older_transforms=read.transforms[1:],
        reason="restored from the table's log",
    )
    return restored.to_text()


def _key(services: Services, spec: PipelineSpec, table: TableSpec) -> tuple[str, ...]:
    """The key that the table lands by; none where its source does not answer, and the next landing decides it."""
    alone = spec.model_copy(update={"tables": (table,)})  # another that is gone at its source is no matter here
    try:
        described = describe_tables(alone, services.connector(spec), None, reshapes=services.transforms(spec))
    except HakiriError:
        return ()
    (facts,) = described.facts.tables
    return facts.upsert_key or facts.primary_key


def _held(services: Services, key: TableKey, target: Target, last: int) -> TableContents | None:
    """What the table holds; its last landing has to be one that its log still tells of."""
    held = _contents(services, key, target)
    if held and held.number > last:
        reason = f"it carries landing {held.number}, and its log no longer tells what that brought"
        raise CatalogDisagrees(pipeline=key.pipeline, table=key.table, reason=reason)
    return held


def _contents(services: Services, key: TableKey, target: Target) -> TableContents | None:
    if isinstance(target, PathTarget):
        return read_contents(key.table, target.path, app_id(services.project, key))
    state = look_at(services.project, key, target, services.spark)
    if state is None:
        return None
    return TableContents(state.number or 0, frozenset(), state.schema, state.layout.partition_by)


def _with_spent(
    key: TableKey, landings: tuple[Landing, ...], found: tuple[LandedCommit, ...], *, spent: int, back_at: int
) -> tuple[Landing, ...]:
    """The landings, and one that brought nothing for numbers above them that must not be used again.

    A RESTORE takes rows back and leaves the number; so does a landing that left only quarantined rows.
    """
    last = max((one.number for one in landings), default=0)
    if spent <= last:
        return landings
    is_undone = any(one.is_undone for one in found)
    before = max((one.version or 0 for one in landings), default=0)
    reason = "a RESTORE took it back" if is_undone else "it left no rows here"
    version = max(back_at, before) if is_undone else before
    empty = Landing(key, spent, (), LandingStatus.LANDED, version=version, reason=reason)
    return (*landings, empty)


def _spent_beside(services: Services, key: TableKey, where: TablePlace) -> int:
    """The last landing that left rows in the quarantine table, or in that of tombstones."""
    beside = {
        "/quarantine": quarantine_of(where.target, where.quarantine),
        NUMBERED_AS: tombstones_of(where.target),
    }
    numbers = (
        one.mark.stamp.number
        for ending, target in beside.items()
        for one in landings_of(
            read_commits(target, services.spark),
            app_id(services.project, replace(key, table=f"{key.table}{ending}")),
        )
    )
    return max(numbers, default=0)


def _chunks(spec: PipelineSpec, table: TableSpec, staged: Iterable[StagedChunk]) -> tuple[Chunk, ...]:
    """What the landed chunks read, where their manifests tell it."""
    incremental = _incremental(spec, table)
    found: dict[ChunkKey, Chunk] = {}
    for one in staged:
        try:
            reading = from_json(one.predicate)
        except ValueError:
            continue  # an earlier release did not say
        found[one.chunk] = Chunk(
            one.chunk,
            ordinal=0,
            window=window_of(reading, incremental),
            predicate=one.predicate,
            round=round_in_name(one.chunk.chunk),
            is_refresh=reading.replaces,
        )
    return tuple(found[key] for key in sorted(found))


def _require_readings(services: Services, spec: PipelineSpec, table: TableSpec, story: Story) -> None:
    """Where files are appended one by one, each that was read has to be known: it would be read and landed again."""
    if not spec.load_of(table).for_key(table.primary_key).adds_what_is_read:
        return
    landed = {key for one in story.landings for key in one.chunks}
    known = {state.chunk.key for state in services.catalog.chunks(story.table)}
    if story.is_whole and landed <= known | {chunk.key for chunk in story.chunks}:
        return
    if _reads_files(services.connector(spec), spec, table):
        reason = "which files have landed can no longer be told, and the next run would land them again"
        advice = "move the table's folder away, and `hakiri apply` lands everything anew"
        raise CatalogDisagrees(pipeline=spec.id, table=table.name, reason=reason, advice=advice)


def _reads_files(connector: Connector, spec: PipelineSpec, table: TableSpec) -> bool:
    survey = connector.survey(connector.describe(source_table(spec, table)))
    return any(isinstance(piece.span, OneFile) for piece in survey.pieces)


# --- what the catalog has already ---


def _require_agreement(story: Story, known: dict[int, Landing]) -> None:
    """Whatever the catalog knows is what the log tells. Raises CatalogDisagrees."""
    told = {one.number: one for one in story.landings}
    missing = told.keys() - known.keys()
    versions = {one.version for one in story.landings}
    for number, landing in known.items():
        wrong = _wrong(landing, told.get(number), versions, is_complete=not missing, taken_back=story.taken_back)
        if wrong:
            raise CatalogDisagrees(pipeline=story.table.pipeline, table=story.table.table, reason=wrong)


def _wrong(
    known: Landing, told: Landing | None, versions: set[int | None], *, is_complete: bool, taken_back: frozenset[int]
) -> str | None:
    match known.status:
        case LandingStatus.RESERVED if not is_complete:
            return f"landing {known.number} is open, and a run has to end it first"
        case LandingStatus.LANDED if told is not None:
            # Of a landing that left nothing but quarantined rows, no log tells the chunks.
            is_same = known.version == told.version and (not told.chunks or set(known.chunks) == set(told.chunks))
            return None if is_same else f"the catalog has another landing {known.number} than the table's log"
        case LandingStatus.LANDED if known.number in taken_back:
            return f"landing {known.number} was taken back by a RESTORE, and the catalog holds it for landed"
        case LandingStatus.LANDED if known.version is not None and known.version not in versions:
            return f"the catalog knows of landing {known.number}, and the table's log does not"
        case LandingStatus.ABANDONED if told is not None:
            return f"the catalog gave up landing {known.number}, and the table's log has it"
        case _:
            return None


def registration(spec: PipelineSpec) -> Pipeline:
    """The pipeline as a catalog first knows it."""
    return Pipeline(spec.id, parallelism=spec.backfill.parallelism or 1, max_attempts=spec.retry.max_attempts)


def _incremental(spec: PipelineSpec, table: TableSpec) -> str | None:
    found = spec.incremental_of(table)
    return found.column if found else None
