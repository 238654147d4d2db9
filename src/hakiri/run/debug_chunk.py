"""Read one chunk by itself, into a folder of its own, without the catalog and without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hakiri.extract.changes.feed import feed_of
from hakiri.extract.chunk import ChunkRead
from hakiri.extract.connectors.port import Connector
from hakiri.extract.transform.reshape import Reshape
from hakiri.land.errors import UnknownTable
from hakiri.model.chunk import Chunk
from hakiri.model.span import PageToken
from hakiri.model.staged import StagedChunk, Tally
from hakiri.model.table import TableSchema
from hakiri.plan.make import make_plan
from hakiri.plan.modes import key_rules, replaces_table
from hakiri.plan.reading import from_json
from hakiri.run.errors import ChunkNotFound
from hakiri.run.extraction import Extraction
from hakiri.run.facts import gather_facts
from hakiri.run.stop import StopSign
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.validation_errors import guess
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.manifest import read_manifest

_RUN, _NODE = "debug", "notebook"


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """One chunk of a table as the first run would plan it, with all that reading it takes."""

    spec: PipelineSpec
    table: TableSpec
    connector: Connector
    reshape: Reshape | None
    schema: TableSchema
    key: tuple[str, ...]
    chunk: Chunk
    chunks: tuple[str, ...]
    """Return the ids of all chunks of the table."""


@dataclass(frozen=True, slots=True)
class DebuggedChunk:
    """Counts of a chunk's rows, and the files they are in."""

    tally: Tally
    broken: Mapping[str, int]
    notes: tuple[str, ...]
    staged: StagedChunk


def plan_chunk(
    spec: PipelineSpec, connector: Connector, reshapes: Mapping[str, Reshape], table: str, chunk: str | int = 0
) -> PlannedRead:
    """Plan a table as if nothing had landed yet, and choose one chunk by its id or its position.

    Writes nothing. Raises UnknownTable, ChunkNotFound, and what planning raises.
    """
    named = {one.name: one for one in spec.tables} | {spec.landed_name(one): one for one in spec.tables}
    if table not in named:
        raise UnknownTable(table=table, known=tuple(sorted(named)), guess=guess(table, named))
    meant = named[table]
    gathered = gather_facts(spec, connector, None, reshapes=reshapes, watermark=lambda *_: None)
    facts = next(one for one in gathered.facts.tables if one.spec.name == meant.name)
    (plan,) = make_plan([gathered.facts]).pipelines
    planned = next(one for one in plan.tables if one.table.table == meant.name)
    chunks = {one.chunk.key.chunk: one.chunk for one in planned.chunks}
    wanted = chunk if isinstance(chunk, str) else next(iter([*chunks][chunk : chunk + 1]), str(chunk))
    if wanted not in chunks:
        raise ChunkNotFound(table=meant.name, chunk=wanted, known=tuple(chunks))
    return PlannedRead(
        spec,
        meant,
        connector,
        reshapes.get(meant.name),
        gathered.schemas[meant.name],
        facts.primary_key,
        chunks[wanted],
        tuple(chunks),
    )


def debug_chunk(read: PlannedRead, folder: Path, *, now: datetime) -> DebuggedChunk:
    """Read, transform, check and stage the chunk as a task on an executor does, into this folder.

    The catalog and the table are not touched. Raises SourceError, ExtractError, StageError and NotWritable;
    AttemptTaken for a folder that holds the chunk already.
    """
    files, chunk, reading = LocalFiles(folder), read.chunk, from_json(read.chunk.predicate)
    is_exchange = chunk.is_refresh or replaces_table(read.spec, read.table)
    done = Extraction(
        connector=read.connector,
        read=ChunkRead(
            read.schema,
            reading.span,
            since=reading.since,
            walks=is_exchange and isinstance(reading.span, PageToken),
        ),
        files=files,
        attempt=Attempt(_RUN, _NODE, chunk.key, 1),
        predicate=chunk.predicate,
        ingested_at=now,
        rules=(*read.spec.quality.row_level, *key_rules(read.spec, read.table, read.key)),
        reshape=read.reshape,
        feed=feed_of(read.spec, read.table),
        tells_content=is_exchange,
        sign=StopSign(files, _RUN),
    )()
    return DebuggedChunk(done.tally, done.broken, done.notes, read_manifest(files, done.seal.path))
