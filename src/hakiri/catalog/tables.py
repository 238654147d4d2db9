"""Definitions of the catalog's tables, used by every backend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

from hakiri.model.transitions import CHUNK_MOVES, LANDING_MOVES, RUN_MOVES, Move

Value = str | int


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of one table. No column is nullable: '' and 0 mean no value, so that keys always compare."""

    name: str
    key: tuple[str, ...]
    texts: tuple[str, ...]
    ints: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    append_only: bool = False
    packed: tuple[str, ...] = ()  # stored in one column in Delta, because every column makes a MERGE slower

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.texts, *self.ints)


def table(
    name: str,
    *,
    key: str,
    texts: str,
    ints: str = "",
    shown: str = "",
    moves: tuple[Move, ...] = (),
    append_only: bool = False,
) -> Table:
    """Define a table from space-separated column names. Every table also has `bucket`, its partition in Delta.

    If `shown` is given, Delta stores those columns and the key separately, and packs the rest into one column.
    """
    made = Table(name, tuple(key.split()), tuple(texts.split()), (*ints.split(), "bucket"), moves, append_only)
    apart = {*made.key, *shown.split(), "bucket"}
    return replace(made, packed=tuple(each for each in made.columns if each not in apart)) if shown else made


_CHUNK_TEXTS = (
    "pipeline_id table_name chunk_id lower_bound upper_bound predicate status holder leased_until not_before error "
    "reason path fingerprint cursor_committed updated_at gone"
)
_CHUNK_INTS = "generation ordinal attempt fence failures lease_ms row_count byte_count round is_refresh planned_after"
_CHUNK_KEY = "pipeline_id table_name chunk_id generation"
_CHUNK_SHOWN = "status row_count byte_count"

PIPELINES = table("pipelines", key="pipeline_id", texts="pipeline_id phase updated_at", ints="parallelism max_attempts")
CHUNKS = table("chunks", key=_CHUNK_KEY, texts=_CHUNK_TEXTS, ints=_CHUNK_INTS, shown=_CHUNK_SHOWN, moves=CHUNK_MOVES)
ARCHIVE = table("archive", key=_CHUNK_KEY, texts=_CHUNK_TEXTS, ints=_CHUNK_INTS, shown=_CHUNK_SHOWN)
LANDINGS = table(
    "landings",
    key="pipeline_id table_name number",
    texts="pipeline_id table_name status chunks holder leased_until cursor_value reason updated_at",
    ints="number fence lease_ms version",
    shown="status version",
    moves=LANDING_MOVES,
)
CURSORS = table(
    "cursors",
    key="pipeline_id table_name",
    texts="pipeline_id table_name cursor_json updated_at",
    ints="landing",
)
HOOKS = table(
    "hooks",
    key="pipeline_id table_name hook",
    texts="pipeline_id table_name hook updated_at",
    ints="landing owed_from",
)
OWNERS = table(
    "owners",
    key="pipeline_id table_name",
    texts="pipeline_id table_name owner updated_at",
)
VIEWS = table(
    "views",
    key="view_name",
    texts="view_name query_text table_names address run_id updated_at",
    ints="is_whole",
)
SNAPSHOTS = table(
    "snapshots",
    key="pipeline_id table_name landing",
    texts="pipeline_id table_name runs sidecars committed_at",
    ints="landing version",
)
SCHEMAS = table(
    "schemas",
    key="pipeline_id table_name version",
    texts="pipeline_id table_name schema_json applied_at",
    ints="version",
)
LINEAGE = table(
    "lineage",
    key="run_id record_id source_run_id kind",
    texts="run_id record_id source_run_id kind reason recorded_at",
    append_only=True,
)
RUNS = table(
    "runs",
    key="run_id",
    texts="run_id pipeline_id status started_at finished_at error",
    ints="row_count byte_count",
    moves=RUN_MOVES,
)
EPOCHS = table("epochs", key="project tenant principal_class", texts="project tenant principal_class", ints="epoch")

TABLES = (
    PIPELINES,
    CHUNKS,
    ARCHIVE,
    LANDINGS,
    CURSORS,
    HOOKS,
    OWNERS,
    VIEWS,
    SNAPSHOTS,
    SCHEMAS,
    LINEAGE,
    RUNS,
    EPOCHS,
)
"""The tables of a catalog; those that version 1 had come before those that were made from them."""

BUCKET_ROWS = 1_000
"""The most rows of one table that a Delta MERGE rewrites, whatever the table's size."""

_SPREAD = 64


def numbered_bucket(name: str, number: int) -> int:
    """Return the bucket of a numbered row: one bucket per thousand numbers, separate for each name's hash."""
    return number // BUCKET_ROWS * _SPREAD + named_bucket(name)


def named_bucket(name: str) -> int:
    """Return the bucket of a row that is looked up by name."""
    return crc32(name.encode()) % _SPREAD


def insert(into: Table) -> str:
    """Return the statement that inserts a row, or does nothing if its key exists."""
    values = ", ".join(f":{column}" for column in into.columns)
    return f"INSERT INTO {into.name} ({', '.join(into.columns)}) VALUES ({values}) ON CONFLICT DO NOTHING RETURNING *"  # noqa: S608 - names of ours
