"""Catalog records other than chunks: pipelines, landings, cursors, schemas, snapshots, lineage, runs, epochs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hakiri.model.chunk import ChunkKey, TableKey


class Phase(StrEnum):
    """What a pipeline is doing with its source."""

    PLANNING = "planning"
    BACKFILLING = "backfilling"
    STREAMING = "streaming"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A registered pipeline and its limits."""

    pipeline: str
    parallelism: int = 1
    max_attempts: int = 3
    phase: Phase = Phase.PLANNING


class LandingStatus(StrEnum):
    """The status of a landing."""

    RESERVED = "reserved"
    LANDED = "landed"
    ABANDONED = "abandoned"  # given up before anything was written; its number is not used again


@dataclass(frozen=True, slots=True)
class Landing:
    """One commit of one table, numbered before it is written so that a replay is recognized (G4)."""

    table: TableKey
    number: int
    chunks: tuple[ChunkKey, ...]
    status: LandingStatus
    holder: str = ""
    fence: int = 0
    leased_until: datetime | None = None
    version: int | None = None  # the Delta version it became; None where it brought nothing and there was no table
    cursor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position up to which a table has been read, and the landing that set it (G5)."""

    table: TableKey
    value: str
    landing: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class HookMark:
    """How far one hook of a table has come, or, for a whole phase such as `post_hook`, what its hooks are owed for."""

    hook: str
    """The place in the manifest: `post_hook[0]`, or `post_hook` for the phase."""
    landing: int
    """The last landing that it was called for; of a phase, the last one that calls are owed for."""
    owed_from: int = 0
    """Of a phase: the first landing that calls are owed for."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a table's schema history, numbered 1, 2, 3 without gaps."""

    table: TableKey
    version: int
    schema_json: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file that a snapshot refers to, with its size and digest."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of a table that readers may use; all files it refers to are durable."""

    table: TableKey
    landing: int
    version: int
    runs: tuple[str, ...]
    sidecars: tuple[Sidecar, ...]
    committed_at: datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class LineageEdge:
    """The origin of a record. Never changed or removed."""

    run: str
    record: str
    source_run: str
    kind: str
    reason: str = ""


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Run:
    """One invocation for one pipeline."""

    run: str
    pipeline: str
    status: RunStatus
    started_at: datetime
    finished_at: datetime | None = None
    rows: int = 0
    bytes: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, order=True)
class EpochScope:
    """The scope of tokens that an epoch revokes."""

    project: str
    tenant: str = ""
    principal_class: str = ""
