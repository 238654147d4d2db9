"""On a path, delta-rs reads and commits the catalog without a JVM, each commit a compare-and-swap on the version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from hakiri.catalog import ddl
from hakiri.catalog.delta.counting import count_chunks
from hakiri.catalog.delta.durable import sync_commit
from hakiri.catalog.delta.executor import merge_condition, merge_values
from hakiri.catalog.delta.group import DeltaStore
from hakiri.catalog.delta.neighbours import FileLockNeighbours
from hakiri.catalog.delta.properties import PROPERTIES, require_append_only
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.delta.upkeep import Upkeep
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.store import Row
from hakiri.catalog.tables import ARCHIVE, CHUNKS, Table, Value
from hakiri.errors import CatalogTooNew, CatalogUnavailable
from hakiri.model.clock import Clock, SystemClock

_BUCKET = re.compile(r"/bucket=(-?\d+)/")
_LOOK_BACK = 1_000


class DeltaCatalog(Ledger):
    """The catalog in Delta tables below one folder."""

    def __init__(self, root: Path, *, clock: Clock | None = None, sidecars: Sidecars | None = None) -> None:
        clock = clock or SystemClock()
        store = DeltaStore(RustExecutor(root), FileLockNeighbours(root, clock), clock)
        super().__init__(store, clock=clock, sidecars=sidecars)


@dataclass(slots=True)
class _Open:
    """A table at the version the replica holds."""

    handle: DeltaTable
    loaded: dict[int, frozenset[str]] = field(default_factory=dict)
    """The files each loaded bucket was read from, or known to consist of after a commit of our own."""


class RustExecutor:
    """Runs the statements by delta-rs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tables: dict[Table, _Open] = {}
        self._upkeep = Upkeep()

    def refresh(self, table: Table, replica: Replica, buckets: frozenset[int] | None) -> None:
        with self._translated():
            opened = self._newest(table)
            files = _files_by_bucket(opened.handle)
            wanted = files.keys() | opened.loaded.keys() if buckets is None else buckets
            stale = {
                bucket: files.get(bucket, frozenset())
                for bucket in wanted
                if files.get(bucket, frozenset()) != opened.loaded.get(bucket)
            }
            if stale:
                replica.load(table, _rows(table, stale), buckets=stale)
                opened.loaded.update(stale)

    def commit(self, changes: Changes) -> bool:
        table = changes.table
        opened = self._tables[table]
        base = opened.handle.version()
        before = set(opened.handle.file_uris())
        name = uuid4().hex
        if table.append_only:
            self._require_append_only(table, opened.handle)
        try:
            _merge(opened.handle, changes, base + 1, name)
        except DeltaError as error:
            opened.handle = self._load(table)
            if not _is_committed(opened.handle, name, base):
                return self._lost_race(error)
            # It is there after all, and others may have come since: what we hold of these buckets may be old.
            for bucket in changes.buckets():
                opened.loaded.pop(bucket, None)
            return True
        with self._translated():
            sync_commit(self._root / table.name, base + 1, set(opened.handle.file_uris()) - before)
            # Last: until here a failure leaves the buckets marked as read from the old files, so they are read again.
            files = _files_by_bucket(opened.handle)
            opened.loaded.update({bucket: files.get(bucket, frozenset()) for bucket in changes.buckets()})
            self._upkeep.after_commit(table, opened.handle)
        return True

    def progress(self, pipeline: str | None) -> list[Row] | None:
        with self._translated():
            hot, cold = self._newest(CHUNKS).handle, self._newest(ARCHIVE).handle
            return count_chunks([*hot.file_uris(), *cold.file_uris()], pipeline)

    def close(self) -> None:
        self._tables.clear()

    def _newest(self, table: Table) -> _Open:
        if table not in self._tables:
            self._tables[table] = _Open(self._load(table))
        else:
            self._tables[table].handle.update_incremental()
        return self._tables[table]

    def _load(self, table: Table) -> DeltaTable:
        path = self._root / table.name
        try:
            handle = DeltaTable(path)
        except TableNotFoundError:
            handle = _create(path, table)
        found = int(handle.metadata().configuration["hakiri.schema"])
        if found > ddl.SCHEMA_VERSION:
            raise CatalogTooNew(found=found, known=ddl.SCHEMA_VERSION)
        return handle

    def _require_append_only(self, table: Table, handle: DeltaTable) -> None:
        property_ = handle.metadata().configuration.get("delta.appendOnly")
        commits = [(commit["version"], commit["operation"]) for commit in handle.history(_LOOK_BACK)]
        require_append_only(str(self._root / table.name), property_, commits)

    def _lost_race(self, error: DeltaError) -> bool:
        if isinstance(error, CommitFailedError):
            return False
        raise CatalogUnavailable(store=str(self._root), reason=str(error)) from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise CatalogUnavailable(store=str(self._root), reason=str(error)) from error


def _create(path: Path, table: Table) -> DeltaTable:
    """Make the table, or open the one another process made just now."""
    path.mkdir(parents=True, exist_ok=True)
    properties = {**PROPERTIES, "hakiri.schema": str(ddl.SCHEMA_VERSION)}
    if table.append_only:
        properties["delta.appendOnly"] = "true"
    try:
        return DeltaTable.create(
            path,
            schema=_physical(table),
            partition_by=["bucket"],
            configuration=properties,
            raise_if_key_not_exists=False,
        )
    except DeltaError:
        return DeltaTable(path)


def _merge(handle: DeltaTable, changes: Changes, revision: int, name: str) -> None:
    """One MERGE from the handle's own version: it commits as the next one or fails."""
    table = changes.table
    merger = handle.merge(
        _source(changes, revision),
        merge_condition(table, changes.buckets()),
        source_alias="s",
        target_alias="t",
        # Without retries: a retry would rebase what was decided on this version onto another.
        commit_properties=CommitProperties(max_commit_retries=0, custom_metadata={"hakiri_commit": name}),
    )
    if changes.has_removals:
        merger = merger.when_matched_delete("s.is_gone")
    if not table.append_only:
        merger = merger.when_matched_update(merge_values(table), predicate="NOT s.is_gone")
    merger.when_not_matched_insert(merge_values(table), predicate="NOT s.is_gone").execute()


def _is_committed(handle: DeltaTable, name: str, base: int) -> bool:
    """Whether the commit of this name is there after all."""
    recent = handle.history(min(_LOOK_BACK, max(handle.version() - base, 1)))
    return any(commit.get("hakiri_commit") == name for commit in recent)


def _source(changes: Changes, revision: int) -> pa.Table:
    schema = _physical(changes.table).append(pa.field("is_gone", pa.bool_()))
    rows = [
        {**{name: change.row[name] for name in changes.table.columns}, "revision": revision, "is_gone": change.is_gone}
        for change in changes.by_key.values()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _physical(table: Table) -> pa.Schema:
    texts = [pa.field(name, pa.string()) for name in table.texts]
    return pa.schema([*texts, *(pa.field(name, pa.int64()) for name in (*table.ints, "revision"))])


def _files_by_bucket(handle: DeltaTable) -> dict[int, frozenset[str]]:
    files: dict[int, set[str]] = {}
    for uri in handle.file_uris():
        found = _BUCKET.search(uri)
        if found:
            files.setdefault(int(found.group(1)), set()).add(uri)
    return {bucket: frozenset(uris) for bucket, uris in files.items()}


def _rows(table: Table, files: dict[int, frozenset[str]]) -> Iterator[tuple[Value, ...]]:
    """The rows of these files. The bucket is in a file's folder, not in the file."""
    columns = [name for name in table.columns if name != "bucket"]
    for bucket, uris in files.items():
        for uri in sorted(uris):
            content = pq.ParquetFile(uri).read(columns=columns).select(columns)
            values: Iterable[tuple[Value, ...]] = zip(*(column.to_pylist() for column in content.columns), strict=True)
            yield from ((*row, bucket) for row in values)
