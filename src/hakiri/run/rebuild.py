"""A catalog that was lost is written again from the tables' own logs, so that no row is lost or repeated by it.

What is restored, in which order, and what the next run makes of it is docs/adr/0040.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.extract.connectors.declared import source_table
from hakiri.extract.connectors.port import Connector
from hakiri.land.delta.contents import TableContents, read_contents
from hakiri.land.delta.handover import all_landings
from hakiri.land.delta.history import LandedCommit, landings_of, read_commits
from hakiri.land.stamp import app_id
from hakiri.land.target import PathTarget, Target, quarantine_of, tombstones_of
from hakiri.land.tombstones import NUMBERED_AS
from hakiri.model.chunk import Chunk, ChunkKey, TableKey
from hakiri.model.ledger import Landing, LandingStatus, Phase, Pipeline, Snapshot
from hakiri.model.span import OneFile
from hakiri.plan.reading import from_json, window_of
from hakiri.run.errors import CatalogDisagrees
from hakiri.run.facts import describe_tables
from hakiri.run.schema_history import SchemaDecision
from hakiri.run.services import Services, TablePlace
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.layout import MANIFEST, RUNS
from hakiri.stage.manifest import read_manifest


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
    """What was written for one table, or would be."""

    table: TableKey
    landings: tuple[int, ...] = ()
    """The numbers that were missing from the catalog."""
    known: int = 0
    """How many it had already."""
    cursor_of: int | None = None
    """The landing that the cursor came from."""
    error: HakiriError | None = None
    """Why nothing was written."""


def rebuild(services: Services, pipelines: Iterable[PipelineSpec], *, is_rehearsal: bool = False) -> list[Restored]:
    """Write down what the tables' logs tell and the catalog does not know. A repeat changes nothing.

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
    """The story to write, empty where nothing may be written, and what is to be said of it."""
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
    return story, Restored(
        table=key, landings=missing, known=len(known), cursor_of=source.number if source and missing else None
    )


def write_story(catalog: Catalog, story: Story) -> None:
    """Snapshots and landings, chunks, schema, and the cursor last (G5). What is cut short, the next rebuild ends."""
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
    """It names no sidecar: which attempt of a chunk won is told by the catalog alone."""
    runs = story.runs.get(landing.number, ())
    return Snapshot(story.table, landing.number, landing.version or 0, runs, sidecars=())


def set_phase(catalog: Catalog, spec: PipelineSpec, stories: Sequence[Story]) -> None:
    """A pipeline that nobody has moved yet stands where its tables do."""
    phase = next((one.phase for one in catalog.pipelines() if one.pipeline == spec.id), None)
    if phase is not Phase.PLANNING or not any(story.landings for story in stories):
        return
    catalog.set_phase(spec.id, Phase.BACKFILLING)
    tables = zip(spec.tables, stories, strict=True)
    if all(story.cursor or (story.landings and not _incremental(spec, table)) for table, story in tables):
        catalog.set_phase(spec.id, Phase.STREAMING)


# --- what a table tells ---


def read_story(services: Services, spec: PipelineSpec, table: TableSpec) -> Story:
    """What the table's log tells. Raises CatalogDisagrees where it does not tell enough; what reading it raises."""
    key, where = TableKey(spec.id, table.name), services.place(spec, table)
    commits = read_commits(where.target, services.spark)
    name = app_id(services.project, key)
    found = all_landings(commits, name)
    held = tuple(one for one in found if not one.is_undone)
    last = max((one.mark.stamp.number for one in found), default=0)
    held_now = _held(key, where.target, name, last)
    if not found:
        return Story(table=key)
    back_at = max((one.version for one in commits if one.restored_to is not None), default=0)
    landings = tuple(as_of(key, one.landing()) for one in held)
    chunks = _chunks(spec, table, where, landings)
    return Story(
        table=key,
        landings=_with_spent(
            key, landings, found, spent=max(last, _spent_beside(services, key, where)), back_at=back_at
        ),
        runs={one.mark.stamp.number: one.mark.stamp.runs for one in held},
        taken_back=frozenset(one.mark.stamp.number for one in found if one.is_undone),
        chunks=chunks,
        is_whole=min(one.version for one in commits) == 0,
        schema_json=_schema(services, spec, table, held_now),
    )


def as_of(key: TableKey, landing: Landing) -> Landing:
    """The landing as one of this pipeline, also where the table was taken over from another since."""
    chunks = tuple(replace(chunk, pipeline=key.pipeline) for chunk in landing.chunks)
    return replace(landing, table=key, chunks=chunks)


def _schema(services: Services, spec: PipelineSpec, table: TableSpec, held: TableContents | None) -> str:
    """The table's columns with the key that it lands by; without the source nobody knows what that was."""
    if held is None:
        return ""
    try:
        alone = spec.model_copy(update={"tables": (table,)})  # another that is gone at its source is no matter here
        (facts,) = describe_tables(
            alone, services.connector(spec), None, reshapes=services.transforms(spec)
        ).facts.tables
    except HakiriError:
        return ""
    reason = "restored from the table's log"
    key = facts.upsert_key or facts.primary_key
    restored = SchemaDecision(columns=held.schema, key=key, partition_by=held.partition_by, reason=reason)
    return restored.to_text()


def _held(key: TableKey, target: Target, name: str, last: int) -> TableContents | None:
    """What the table holds; its last landing has to be one that its log still tells of."""
    held = read_contents(key.table, target.path, name) if isinstance(target, PathTarget) else None
    if held and held.number > last:
        reason = f"it carries landing {held.number}, and its log no longer tells what that brought"
        raise CatalogDisagrees(pipeline=key.pipeline, table=key.table, reason=reason)
    return held


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


def _chunks(
    spec: PipelineSpec, table: TableSpec, where: TablePlace, landings: tuple[Landing, ...]
) -> tuple[Chunk, ...]:
    """What the landed chunks read, from the manifests that their attempts left."""
    landed = {key for one in landings for key in one.chunks}
    incremental = _incremental(spec, table)
    found: dict[ChunkKey, Chunk] = {}
    for entry in where.files.walk(RUNS):
        folder, _, name = entry.path.rpartition("/")
        predicate = _predicate(where, folder, landed, spec.id) if name == MANIFEST else None
        if predicate is None:
            continue
        key, text = predicate
        window = window_of(from_json(text), incremental)
        found[key] = Chunk(key, ordinal=0, window=window, predicate=text)
    return tuple(found[key] for key in sorted(found))


def _predicate(where: TablePlace, folder: str, landed: set[ChunkKey], pipeline: str) -> tuple[ChunkKey, str] | None:
    try:
        staged = read_manifest(where.files, folder)
        from_json(staged.predicate)
    except (StagedUnfit, ValueError):
        return None  # an attempt that was never sealed tells nothing
    key = replace(staged.chunk, pipeline=pipeline)  # it may have been read under another id
    return (key, staged.predicate) if key in landed else None


def _require_readings(services: Services, spec: PipelineSpec, table: TableSpec, story: Story) -> None:
    """Where files are appended one by one, each that was read has to be known: it would be read and landed again."""
    if spec.load_of(table).mode_for(table.primary_key) is not LoadMode.APPEND:
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
            is_same = (known.version, set(known.chunks)) == (told.version, set(told.chunks))
            return None if is_same else f"the catalog has another landing {known.number} than the table's log"
        case LandingStatus.LANDED if known.number in taken_back:
            return f"landing {known.number} was taken back by a RESTORE, and the catalog holds it for landed"
        case LandingStatus.LANDED if known.version not in versions:
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
