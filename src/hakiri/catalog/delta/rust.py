"""The Delta catalog on a path, by delta-rs without a JVM. Each commit is a compare-and-swap on the version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from deltalake import CommitProperties, DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from hakiri.catalog.delta.damage import require_undamaged, require_whole
from hakiri.catalog.delta.executor import Wanted, merge_condition, merge_values
from hakiri.catalog.delta.layout import ints, texts, unpack
from hakiri.catalog.delta.locks import FileLocks, Locks
from hakiri.catalog.delta.migrate import MIGRATED, VERSION, require_known, version_of
from hakiri.catalog.delta.properties import PROPERTIES, require_append_only
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.delta.store import DeltaStore
from hakiri.catalog.delta.upkeep import Upkeep
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.migrations import SCHEMA_VERSION
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.store import Row, unavailable
from hakiri.catalog.tables import ARCHIVE, CHUNKS, TABLES, Table, Value
from hakiri.model.clock import Clock, SystemClock
from hakiri.model.durable import is_full, sync_above, sync_log

_BUCKET = re.compile(r"/bucket=(-?\d+)/")
_LOOK_BACK = 1_000
_PROPERTY_TRIES = 20

WHOLE_BUCKET = "SELECT {columns} FROM t WHERE bucket = {bucket}"

COUNTS = """
WITH every AS (
    SELECT pipeline_id, table_name, chunk_id, generation, status, row_count, byte_count FROM chunks
    UNION ALL
    SELECT pipeline_id, table_name, chunk_id, generation, status, row_count, byte_count FROM archive
), latest AS (
    SELECT pipeline_id, table_name, chunk_id, max(generation) AS generation
    FROM every
    GROUP BY pipeline_id, table_name, chunk_id
), once AS (
    SELECT e.pipeline_id, e.table_name, e.chunk_id, min(e.status) AS status, max(e.row_count) AS row_count,
        max(e.byte_count) AS byte_count
    FROM every e
    JOIN latest l ON l.pipeline_id = e.pipeline_id AND l.table_name = e.table_name AND l.chunk_id = e.chunk_id
        AND l.generation = e.generation
    GROUP BY e.pipeline_id, e.table_name, e.chunk_id
)
SELECT pipeline_id, status, count(*) AS chunks, sum(row_count) AS row_count, sum(byte_count) AS byte_count
FROM once
WHERE status <> 'superseded'
GROUP BY pipeline_id, status
"""
"""Counts each chunk once, by its latest generation, whether active, archived, or in both while it is moved."""


class DeltaCatalog(Ledger):
    """The catalog in Delta tables below one folder."""

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock | None = None,
        sidecars: Sidecars | None = None,
        executor: RustExecutor | None = None,
        locks: Locks | None = None,
    ) -> None:
        clock = clock or SystemClock()
        store = DeltaStore(executor or RustExecutor(root), locks or FileLocks(root, clock), clock)
        super().__init__(store, clock=clock, sidecars=sidecars)


class Merge(Protocol):
    """Commits on top of the handle's version, or fails."""

    def __call__(self, handle: DeltaTable, changes: Changes, revision: int, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The files a bucket consists of, and the revision up to which its rows are in the replica."""

    files: frozenset[str]
    revision: int


@dataclass(slots=True)
class _Open:
    """A table at the last version that was read."""

    handle: DeltaTable
    durable: int = -1
    """The last version that this process made durable."""
    loaded: dict[int, _Bucket] = field(default_factory=dict)


class RustExecutor:
    """Reads and commits with delta-rs."""

    def __init__(
        self,
        root: Path,
        *,
        merge: Merge | None = None,
        upkeep: Upkeep | None = None,
        properties: Mapping[str, str] = PROPERTIES,
    ) -> None:
        self._root = root
        self._merge = merge or merge_changes
        self._upkeep = upkeep or Upkeep()
        self._properties = properties
        self._tables: dict[Table, _Open] = {}
        self._named: set[Path] = set()
        """Folders whose directory entries are synced to disk."""

    def refresh(
        self,
        wanted: Wanted,
        replica: Replica,
        *,
        since: int | None = None,  # noqa: ARG002 - reading the log is cheap
        along: tuple[Table, ...] = (),  # noqa: ARG002 - each table is read separately
    ) -> None:
        with self._translated():
            for table, buckets in wanted.items():
                self._refresh(table, replica, buckets)

    def _refresh(self, table: Table, replica: Replica, buckets: frozenset[int] | None) -> None:
        opened = self._newest(table)
        files = _files_by_bucket(opened.handle)
        for bucket in files.keys() | opened.loaded.keys() if buckets is None else buckets:
            found = _Bucket(files.get(bucket, frozenset()), opened.handle.version())
            seen = opened.loaded.get(bucket)
            if seen is None or seen.files != found.files:
                _bring_up(replica, table, opened.handle, bucket, seen, found)
            opened.loaded[bucket] = found

    def moment(self) -> int:
        return 0

    def can_try(self, table: Table) -> bool:  # noqa: ARG002 - for no table
        return False

    def commit(self, changes: Changes) -> bool:
        table = changes.table
        opened = self._tables[table]
        base = opened.handle.version()
        name = uuid4().hex
        if table.append_only:
            self._require_append_only(table, opened.handle)
        try:
            self._merge(opened.handle, changes, base + 1, name)
        except (DeltaError, OSError) as error:
            with self._translated():
                opened.handle = self._load(table)
            if not _is_committed(opened.handle, name, base):
                return self._lost_race(error)
            # The commit succeeded after all, and others may have followed: these buckets may be outdated.
            for bucket in changes.buckets():
                opened.loaded.pop(bucket, None)
            self._make_durable(table, base, opened.handle.version())
            return True
        self._make_durable(table, base, base + 1)
        with self._translated():
            # Do this last: after a failure above, the buckets still refer to the old files and are read again.
            files = _files_by_bucket(opened.handle)
            for bucket in changes.buckets():
                opened.loaded[bucket] = _Bucket(files.get(bucket, frozenset()), base + 1)
            self._upkeep.after_commit(table, opened.handle)
        return True

    def progress(self, pipeline: str | None) -> list[Row] | None:
        with self._translated():
            return _count_chunks(self._newest(CHUNKS).handle, self._newest(ARCHIVE).handle, pipeline)

    def tend(self, table: Table) -> None:
        path = self._root / table.name
        with self._translated():
            if not DeltaTable.is_deltatable(str(path)):
                return
            handle = DeltaTable(path)
            before = handle.version()
            self._upkeep.tend(handle, path)
            # Removed files are gone at once, so the files that replace them must be on disk as well.
            sync_log(path, range(before + 1, handle.version() + 1), named=self._named)

    def found_version(self) -> int:
        marker = next(iter(self._existing()), None)
        if marker is None:
            return SCHEMA_VERSION
        with self._translated():
            return version_of(self._newest(marker).handle.metadata().configuration)

    def set_versions(self, version: int, *, migrated: int) -> None:
        marker, *others = self._existing()
        self._set(marker, {VERSION: str(version), MIGRATED: str(migrated)})
        for table in others:
            if not table.append_only:  # there, a change of properties is taken for tampering
                self._set(table, {VERSION: str(version)})

    def close(self) -> None:
        self._tables.clear()

    def _existing(self) -> list[Table]:
        return [table for table in TABLES if any((self._root / table.name / "_delta_log").glob("*.json"))]

    def _set(self, table: Table, properties: dict[str, str]) -> None:
        path = self._root / table.name
        for left in reversed(range(_PROPERTY_TRIES)):
            handle = self._load(table)
            if properties.items() <= handle.metadata().configuration.items():
                return
            before = handle.version()
            try:
                handle.alter.set_table_properties(properties, raise_if_not_exists=False)
            except DeltaError as error:  # another process has changed the table at the same time
                if not left:
                    raise unavailable(str(self._root), error) from error
                continue
            sync_log(path, range(before + 1, handle.version() + 1), named=self._named)
            self._tables.pop(table, None)
            return

    def _make_durable(self, table: Table, base: int, version: int) -> None:
        """Sync the commit to disk, and the one before it: its writer may have died before syncing."""
        opened = self._tables[table]
        first = base + 1 if opened.durable == base else base
        with self._translated():
            sync_log(self._root / table.name, range(first, version + 1), named=self._named)
            if self._root not in self._named:
                sync_above(self._root)
        self._named.add(self._root)
        opened.durable = version

    def _newest(self, table: Table) -> _Open:
        opened = self._tables.get(table)
        if opened is None:
            opened = self._tables[table] = _Open(self._load(table))
        elif not _is_newest(self._root / table.name / "_delta_log", opened.handle.version()):
            opened.handle.update_incremental()
            _require_known_handle(opened.handle)  # a newer release may have migrated it meanwhile
        return opened

    def _load(self, table: Table) -> DeltaTable:
        path = self._root / table.name
        require_whole(path / "_delta_log")
        try:
            handle = DeltaTable(path)
        except TableNotFoundError:
            for log in self._root.glob("*/_delta_log"):  # do not create a table beside those of a newer release
                with suppress(TableNotFoundError):  # another process is creating it
                    _require_known_handle(DeltaTable(log.parent))
            handle = _create(path, table, self._properties)
        _require_known_handle(handle)
        return handle

    def _require_append_only(self, table: Table, handle: DeltaTable) -> None:
        property_ = handle.metadata().configuration.get("delta.appendOnly")
        commits = [(commit["version"], commit["operation"]) for commit in handle.history(_LOOK_BACK)]
        require_append_only(str(self._root / table.name), property_, commits)

    def _lost_race(self, error: Exception) -> bool:
        if isinstance(error, CommitFailedError):
            return False
        raise unavailable(str(self._root), error) from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            is_arrows = type(error).__module__.partition(".")[0] == "pyarrow"  # not imported here: it may not be loaded
            is_querys = type(error) is Exception  # delta-rs raises bare exceptions from its query engine
            if not (is_arrows or is_querys or isinstance(error, DeltaError | OSError)):
                raise
            if not is_full(error):
                require_undamaged(self._root)
            raise unavailable(str(self._root), error) from error


def _require_known_handle(handle: DeltaTable) -> None:
    require_known(int(handle.metadata().configuration[VERSION]))


def _create(path: Path, table: Table, properties: Mapping[str, str]) -> DeltaTable:
    """Create the table, or open it if another process has just created it."""
    from hakiri.catalog.delta.arrow import physical

    path.mkdir(parents=True, exist_ok=True)
    properties = {**properties, VERSION: str(SCHEMA_VERSION)}
    if table.append_only:
        properties["delta.appendOnly"] = "true"
    try:
        return DeltaTable.create(
            path,
            schema=physical(table),
            partition_by=["bucket"],
            configuration=properties,
            raise_if_key_not_exists=False,
        )
    except DeltaError:
        return DeltaTable(path)


def merge_changes(handle: DeltaTable, changes: Changes, revision: int, name: str) -> None:
    """Run one MERGE on the handle's version. It commits the next version or fails."""
    from hakiri.catalog.delta.arrow import source

    table = changes.table
    merger = handle.merge(
        source(changes, revision),
        merge_condition(table, changes.buckets()),
        source_alias="s",
        target_alias="t",
        # No retries: a retry would apply a decision made on this version to another one.
        commit_properties=CommitProperties(max_commit_retries=0, custom_metadata={"hakiri_commit": name}),
    )
    if changes.has_removals:
        merger = merger.when_matched_delete("s.is_gone")
    stays = "NOT s.is_gone" if changes.has_removals else None
    if not table.append_only:
        merger = merger.when_matched_update(merge_values(table), predicate=stays)
    merger.when_not_matched_insert(merge_values(table), predicate=stays).execute()


def _is_newest(log: Path, version: int) -> bool:
    """Return whether this version is the newest: its log entry exists and the next one does not.

    Both are checked, because a log that has been cleaned up has neither.
    """
    return (log / f"{version:020}.json").exists() and not (log / f"{version + 1:020}.json").exists()


def _is_committed(handle: DeltaTable, name: str, base: int) -> bool:
    """Return whether the commit of this name succeeded after all."""
    recent = handle.history(min(_LOOK_BACK, max(handle.version() - base, 1)))
    return any(commit.get("hakiri_commit") == name for commit in recent)


def _files_by_bucket(handle: DeltaTable) -> dict[int, frozenset[str]]:
    files: dict[int, set[str]] = {}
    for uri in handle.file_uris():
        found = _BUCKET.search(uri)
        if found:
            files.setdefault(int(found.group(1)), set()).add(uri)
    return {bucket: frozenset(uris) for bucket, uris in files.items()}


def _bring_up(
    replica: Replica, table: Table, handle: DeltaTable, bucket: int, seen: _Bucket | None, found: _Bucket
) -> None:
    """Read what changed in the bucket: newer revisions, or all rows if the count shows that some were removed."""
    if seen is not None:
        from hakiri.catalog.delta.arrow import read_newer

        newer, count = read_newer(table, found.files, seen.revision)
        replica.put(table, _rows(table, bucket, newer))
        if replica.count(table, bucket) == count:
            return
    replica.load(table, _rows(table, bucket, _read_bucket(table, handle, bucket)), buckets=[bucket])


def _read_bucket(table: Table, handle: DeltaTable, bucket: int) -> dict[str, list[Value]]:
    """Return all rows of a bucket at the handle's version, column by column."""
    names = [name for name in (*texts(table), *ints(table), "revision") if name != "bucket"]
    statement = WHOLE_BUCKET.format(columns=", ".join(names), bucket=bucket)
    answer = QueryBuilder().register("t", handle).execute(statement).read_all()
    columns = [list(column.to_pylist()) for column in answer.columns]
    return dict(zip(answer.column_names, columns, strict=True))


def _rows(table: Table, bucket: int, kept: Mapping[str, list[Value]]) -> Iterable[tuple[Value, ...]]:
    return unpack(table, {**kept, "bucket": [bucket] * len(kept["revision"])})


def _count_chunks(hot: DeltaTable, cold: DeltaTable, pipeline: str | None) -> list[Row]:
    """Count chunks per pipeline and status, for one pipeline or for all."""
    counted = QueryBuilder().register(CHUNKS.name, hot).register(ARCHIVE.name, cold).execute(COUNTS).read_all()
    columns = [column.to_pylist() for column in counted.columns]
    rows = [dict(zip(counted.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
    return [row for row in rows if pipeline in (None, row["pipeline_id"])]
