"""The Delta catalog in named tables, by Spark SQL. A head row per table makes each MERGE a compare-and-swap."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow

from hakiri.catalog.delta.executor import Wanted, merge_condition, merge_values
from hakiri.catalog.delta.layout import columns, ints, pack, texts, unpack
from hakiri.catalog.delta.locks import NoLocks
from hakiri.catalog.delta.migrate import MIGRATED, VERSION, require_known, version_of
from hakiri.catalog.delta.properties import COMPACT_EVERY, PROPERTIES, VACUUM_EVERY, require_append_only
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.delta.sole_writer import local_folder, require_sole_writer
from hakiri.catalog.delta.store import DeltaStore
from hakiri.catalog.errors import CatalogDamaged, CatalogUnavailable, LineageTampered
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.migrations import SCHEMA_VERSION
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.store import Row
from hakiri.catalog.tables import (
    ARCHIVE,
    CHUNKS,
    CURSORS,
    LANDINGS,
    LINEAGE,
    OWNERS,
    SCHEMAS,
    TABLES,
    VIEWS,
    Table,
    Value,
)
from hakiri.model.clock import Clock, SystemClock
from hakiri.model.schema_name import quote_schema
from hakiri.model.session import first_line

CREATE = """
CREATE TABLE IF NOT EXISTS {name} ({columns}, revision BIGINT, head STRING)
USING delta PARTITIONED BY (bucket) TBLPROPERTIES ({properties})
"""

CREATE_WITH_ROWS = """
CREATE TABLE {name} USING delta PARTITIONED BY (bucket) TBLPROPERTIES ({properties})
AS SELECT {columns} FROM {{source}} WHERE NOT is_gone
"""
"""Creates a table with its first rows, in less than half the time of creating it empty and merging."""

CHANGED = "SELECT '{table}' AS name, ARRAY({columns}) AS kept, revision, head FROM {name} WHERE {condition}"
"""Selects the same four columns of every table, so that one statement can read several tables."""

MERGE = """
MERGE INTO {name} AS t USING {{source}} AS s ON {condition}
WHEN MATCHED AND s.expected >= 0 AND t.revision <> s.expected THEN UPDATE SET revision = raise_error('HAKIRI_STALE')
WHEN MATCHED AND s.is_gone THEN DELETE
WHEN MATCHED THEN UPDATE SET {updates}
WHEN NOT MATCHED AND NOT s.is_gone THEN INSERT ({columns}) VALUES ({values})
"""
"""Fails as a whole if the head row is not at the expected revision, so a group of changes is atomic."""

APPEND = """
MERGE INTO {name} AS t USING {{source}} AS s ON {condition}
WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})
"""

PROBE = "SELECT 1 FROM {name} LIMIT 0"

READ_ALL = "SELECT MAX(LENGTH(head)), MAX(LENGTH(CAST(revision AS STRING))) FROM {name}"
"""Opens every file: what statistics tell, a damaged file could tell as well."""

OPTIMIZE = "OPTIMIZE {name}"

VACUUM = "VACUUM {name}"
"""Has no RETAIN, so that the table's property decides how long files are kept."""

MADE_BESIDE = {CHUNKS: (ARCHIVE, OWNERS), LANDINGS: (SCHEMAS, CURSORS, VIEWS)}
"""Tables that may stay empty for long, by the table they are read with. They are created empty when that one exists.

A missing table would have to be searched for at each read.
"""

_FOLLOWING = (ARCHIVE, LANDINGS)
"""Tables that receive rows, or records about rows, from another table."""

_HEAD_BUCKET = -1
_REMEMBERED = 64
_LOST_RACE = (
    "HAKIRI_STALE",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "delta.exceptions.Concurrent",
)
_DAMAGE = (
    "[FAILED_READ_FILE",
    "[CANNOT_READ_FILE_FOOTER",
    "[DELTA_VERSIONS_NOT_CONTIGUOUS",
    "[DELTA_TRUNCATED_TRANSACTION_LOG",
    "[DELTA_STATE_RECOVER_ERROR",
    "[DELTA_MISSING_PART_FILES",
    "[DELTA_LOG_FILE_NOT_FOUND",
)
"""What Spark says of a log or a file that is cut short, overwritten or gone."""

_IS_THERE = ("ALREADY_EXISTS", "NON_EMPTY_LOCATION")
"""Errors of a CREATE for a table that another process has created, or has begun to create."""


_creating = Lock()
"""IF NOT EXISTS is not safe between threads of one session: one may find a half-created table and fail."""


class SparkDeltaCatalog(Ledger):
    """The catalog in the Delta tables of one schema, over a classic or a Connect session."""

    def __init__(
        self, spark: SparkSession, schema: str, *, clock: Clock | None = None, sidecars: Sidecars | None = None
    ) -> None:
        clock = clock or SystemClock()
        store = DeltaStore(SparkExecutor(spark, schema), NoLocks(), clock)
        super().__init__(store, clock=clock, sidecars=sidecars)


@dataclass(frozen=True, slots=True)
class Head:
    """The head row of a table: the number of its commits, and the names of the last ones."""

    revision: int = 0
    commits: tuple[str, ...] = ()
    purged: int = 0  # the last revision that removed rows: readers of older revisions must read everything again
    schema: int = SCHEMA_VERSION

    @classmethod
    def of(cls, revision: int, text: str) -> Head:
        content = json.loads(text)
        # The first release wrote no number.
        return cls(revision, tuple(content["commits"]), content["purged"], content.get("schema", 1))

    def next(self, commit: str, *, purges: bool) -> Head:
        revision = self.revision + 1
        return Head(revision, (*self.commits, commit)[-_REMEMBERED:], revision if purges else self.purged)

    def text(self) -> str:
        return json.dumps({"commits": self.commits, "purged": self.purged, "schema": self.schema})


@dataclass(slots=True)
class _Held:
    """The state of a table in the replica."""

    head: Head = field(default_factory=Head)
    asked: int = 0
    """The number of the last statement that read the table, or committed to it."""
    changed: int = 0
    """The number of the last statement that changed the replica."""
    is_shared: bool = False
    """Whether the last statement found a commit of another process."""


class SparkExecutor:
    """Reads and commits with Spark SQL.

    Statements are numbered in the order they are sent. If the last statement that read table A came after the one that
    last changed the replica's copy of table B, then the copy of A is not older than that of B.
    """

    def __init__(self, spark: SparkSession, schema: str) -> None:
        self._spark = spark
        self._schema = quote_schema(schema)
        self._held: dict[Table, _Held] = {}
        self._there: set[str] = set()
        self._sent = 0
        self._commits: Counter[Table] = Counter()
        self._append_only: str | None = None
        self._version = SCHEMA_VERSION
        # Of an Arrow table, a classic session knows how many rows it has, so a MERGE joins them without a shuffle.
        # Spark 3 takes none. A Connect session sends rows as Arrow anyway.
        self._takes_arrow = hasattr(spark, "_jsparkSession") and int(spark.version.partition(".")[0]) >= 4
        with self._translated():
            described = self._describe_schema()
        # Before any table is created or read: a second writer must not even try.
        location = next((value for name, value in described if name == "Location"), None)
        if location and local_folder(location):  # elsewhere no lock is needed, and serverless has no app id
            require_sole_writer(location, spark.conf.get("spark.app.id") or "")
        with self._translated():
            self._open()

    def refresh(
        self, wanted: Wanted, replica: Replica, *, since: int | None = None, along: tuple[Table, ...] = ()
    ) -> None:
        with self._translated():
            due = {table: buckets for table, buckets in wanted.items() if self._is_due(table, since)}
            if due:
                self._read({**dict.fromkeys(table for table in along if self._is_due(table, since)), **due}, replica)
            self._read_later(wanted, along, replica)

    def moment(self) -> int:
        return self._sent

    def can_try(self, table: Table) -> bool:
        return table in self._held and not table.append_only and not self._held[table].is_shared

    def commit(self, changes: Changes) -> bool:
        table = changes.table
        held = self._held[table]
        name = uuid4().hex
        head = held.head.next(name, purges=changes.has_removals)
        self._sent += 1
        sent, is_new = self._sent, table.name not in self._there
        try:
            if is_new:
                self._make_with(changes, head)
            else:
                self._require_append_only(table)
                self._merge(changes, head)
        except (CatalogUnavailable, CatalogDamaged, LineageTampered):
            raise
        except Exception as error:  # conflicts come as bare Py4J errors from a classic session
            if _is_lost_race(error):
                held.is_shared = True
                return False
            if not self._is_committed(table, name):
                if is_new and self._is_made_by_another(table, error):
                    held.is_shared = True
                    return False
                self._require_undamaged(error)
                raise CatalogUnavailable(store=self._schema, reason=first_line(error)) from error
        self._held[table] = _Held(head, sent, sent, held.is_shared)
        self._tidy(table)
        return True

    def progress(self, pipeline: str | None) -> list[Row] | None:  # noqa: ARG002 - the replica counts
        return None

    def tend(self, table: Table) -> None:
        with self._translated():
            if table.name not in self._there:
                self._find_tables()
            if table.name not in self._there:
                return
            try:
                self._spark.sql(OPTIMIZE.format(name=self._name(table))).collect()
                self._spark.sql(VACUUM.format(name=self._name(table))).collect()
            except Exception as error:
                if not _is_lost_race(error):
                    raise

    def found_version(self) -> int:
        return self._version

    def set_versions(self, version: int, *, migrated: int) -> None:
        if (marker := self._marker()) is None:
            return
        name = self._name(marker)
        with self._translated():
            self._ask(f"ALTER TABLE {name} SET TBLPROPERTIES ('{VERSION}' = '{version}', '{MIGRATED}' = '{migrated}')")

    def close(self) -> None:
        """Do nothing: the session belongs to the caller."""

    def _marker(self) -> Table | None:
        """Return the table that has the catalog's version in its properties: the first one that exists."""
        return next((table for table in TABLES if table.name in self._there), None)

    def _name(self, table: Table) -> str:
        return f"{self._schema}.`{table.name}`"

    def _describe_schema(self) -> list[SparkRow]:
        describe = f"DESCRIBE SCHEMA {self._schema}"
        try:
            return self._ask(describe)
        except Exception as error:
            if "SCHEMA_NOT_FOUND" not in str(error):
                raise
        self._ask(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
        return self._ask(describe)

    def _open(self) -> None:
        """Find the existing tables, and check that this release knows their version."""
        self._find_tables()
        if marker := self._marker():
            self._version = version_of(self._properties(marker))
        else:
            self._require_missing(CHUNKS)
        for table, others in MADE_BESIDE.items():
            for other in others if table.name in self._there else ():
                if other.name not in self._there:
                    # Another process may be creating it, or this user may not. A missing table counts as empty.
                    with suppress(Exception):
                        self._make(other)

    def _require_missing(self, table: Table) -> None:
        """Raise CatalogUnavailable if the table exists but is not listed, because this user may not read it."""
        try:
            self._ask(PROBE.format(name=self._name(table)))
        except Exception as error:
            if "TABLE_OR_VIEW_NOT_FOUND" not in str(error):
                raise

    def _find_tables(self) -> None:
        listed = self._ask(f"SHOW TABLES IN {self._schema}")
        self._there |= {row["tableName"] for row in listed if not row["isTemporary"]}
        for table in TABLES:
            if table.name not in self._there:
                self._held.setdefault(table, _Held()).asked = self._sent

    def _make(self, table: Table) -> None:
        """Create the table empty, if it is missing."""
        kept = [f"{name} STRING" for name in texts(table)] + [f"{name} BIGINT" for name in ints(table)]
        statement = CREATE.format(name=self._name(table), columns=", ".join(kept), properties=_properties(table))
        with _creating:
            self._ask(statement)
        self._there.add(table.name)

    def _make_with(self, changes: Changes, head: Head) -> None:
        """Create the table with these rows in one commit. Fails if the table exists."""
        table = changes.table
        statement = CREATE_WITH_ROWS.format(
            name=self._name(table),
            columns=", ".join((*columns(table), "revision", "head")),
            properties=_properties(table),
        )
        with _creating:
            self._spark.sql(statement, source=self._source(changes, head)).collect()
        self._there.add(table.name)

    def _is_made_by_another(self, table: Table, error: Exception) -> bool:
        """Return whether the table could not be created because it exists; complete it if it was half-created."""
        if not any(mark in str(error) for mark in _IS_THERE):
            return False
        if table.name not in self._there:
            with self._translated():
                self._make(table)
        return True

    def _asked(self, table: Table) -> int:
        return self._held[table].asked if table in self._held else -1

    def _is_due(self, table: Table, since: int | None) -> bool:
        return since is None or table.append_only or self._asked(table) <= since

    def _read_later(self, wanted: Wanted, along: tuple[Table, ...], replica: Replica) -> None:
        """Read tables again unless their copy is known to be no older than that of the first table."""
        first, *others = wanted
        changed = self._held[first].changed
        if changed and any(self._asked(other) <= changed for other in others):
            follow = (table for table in along if table in _FOLLOWING)
            later = (table for table in (*others, *follow) if table is not first and self._asked(table) <= changed)
            self._read(dict.fromkeys(later), replica)

    def _read(self, wanted: Wanted, replica: Replica) -> None:
        """Load what was committed to these tables since they were last read. A missing table counts as empty."""
        if any(table.name not in self._there for table in wanted):
            self._find_tables()
        there = {table: buckets for table, buckets in wanted.items() if table.name in self._there}
        if not there:
            return
        found = self._changed(there)
        purged = [table for table in there if not self._load(table, there[table], found[table.name], replica)]
        if purged:
            self._read(dict.fromkeys(purged), replica)

    def _changed(self, wanted: Wanted) -> dict[str, list[SparkRow]]:
        """Return the changed rows by table, read in one statement."""
        found: dict[str, list[SparkRow]] = {table.name: [] for table in wanted}
        for row in self._ask(" UNION ALL ".join(self._select(table, buckets) for table, buckets in wanted.items())):
            found[row["name"]].append(row)
        return found

    def _select(self, table: Table, buckets: frozenset[int] | None) -> str:
        held = self._held.setdefault(table, _Held())
        listed = ", ".join(str(bucket) for bucket in sorted(buckets or ()))
        kept = (*texts(table), *(f"CAST({name} AS STRING)" for name in ints(table)))
        condition = f"bucket IN ({listed})" if table.append_only else f"revision > {held.head.revision}"
        return CHANGED.format(table=table.name, columns=", ".join(kept), name=self._name(table), condition=condition)

    def _load(self, table: Table, buckets: frozenset[int] | None, found: list[SparkRow], replica: Replica) -> bool:
        """Load the rows into the replica. False if rows were removed, so that everything has to be read again."""
        held = self._held[table]
        held.asked = self._sent
        rows = _unpacked(table, [row["kept"] for row in found if not row["head"]])
        if table.append_only:
            replica.load(table, rows, buckets=sorted(buckets or ()))
            return True
        head = next((Head.of(row["revision"], row["head"]) for row in found if row["head"]), held.head)
        require_known(head.schema)
        before, held.head = held.head, head
        held.is_shared = 0 < before.revision < head.revision
        if held.is_shared and head.purged > before.revision:
            held.head, held.asked = Head(), -1
            return False
        if before.revision == 0:
            replica.load(table, rows)
        else:
            replica.put(table, rows)
        held.changed = self._sent if head.revision > before.revision else held.changed
        return True

    def _merge(self, changes: Changes, head: Head) -> None:
        table = changes.table
        values = {**merge_values(table), "head": "s.head"}
        buckets = changes.buckets() if table.append_only else [_HEAD_BUCKET, *changes.buckets()]
        statement = (APPEND if table.append_only else MERGE).format(
            name=self._name(table),
            condition=merge_condition(table, buckets),
            updates=", ".join(f"{name} = {value}" for name, value in values.items()),
            columns=", ".join(values),
            values=", ".join(values.values()),
        )
        self._spark.sql(statement, source=self._source(changes, head)).collect()

    def _source(self, changes: Changes, head: Head) -> DataFrame:
        rows = list(_source(changes, head))
        if self._takes_arrow:
            from hakiri.catalog.delta.arrow import spark_source

            return self._spark.createDataFrame(spark_source(changes.table, rows))
        return self._spark.createDataFrame(rows, _source_schema(changes.table))

    def _is_committed(self, table: Table, commit: str) -> bool:
        if table.append_only:  # it has no head row that records commits
            return False
        with self._translated():
            if table.name not in self._there:
                self._find_tables()
            if table.name not in self._there:
                return False
            heads = [
                Head.of(row["revision"], row["head"]) for row in self._changed({table: None})[table.name] if row["head"]
            ]
            return any(commit in head.commits for head in heads)

    def _require_append_only(self, table: Table) -> None:
        """Raise LineageTampered if lineage was changed by anything but appends."""
        if not table.append_only:
            return
        with self._translated():
            # Read once: later changes of the property are found in the history.
            self._append_only = self._append_only or self._properties(table).get("delta.appendOnly")
            history = self._ask(f"DESCRIBE HISTORY {self._name(table)}")
        commits = [(row["version"], row["operation"]) for row in history]
        require_append_only(self._name(LINEAGE), self._append_only, commits)

    def _properties(self, table: Table) -> dict[str, str]:
        """Return the table's properties, without the file count of DESCRIBE DETAIL."""
        return {row["key"]: row["value"] for row in self._ask(f"SHOW TBLPROPERTIES {self._name(table)}")}

    def _ask(self, statement: str) -> list[SparkRow]:
        self._sent += 1
        return self._spark.sql(statement).collect()

    def _tidy(self, table: Table) -> None:
        """Compact and vacuum from time to time. Failures are ignored: the commits before them stay."""
        self._commits[table] += 1
        with suppress(Exception):
            if self._commits[table] % COMPACT_EVERY == 0:
                self._spark.sql(OPTIMIZE.format(name=self._name(table))).collect()
            if self._commits[table] % VACUUM_EVERY == 0:
                self._spark.sql(VACUUM.format(name=self._name(table))).collect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
                self._require_undamaged(error)
                raise CatalogUnavailable(store=self._schema, reason=first_line(error)) from error
            raise

    def _require_undamaged(self, error: Exception) -> None:
        """Raise CatalogDamaged with the first table that cannot be read, where Spark has failed to read a file.

        A file that another process has just vacuumed is no damage, so each table is read once more.
        """
        if not _is_damage(error):
            return
        for table in TABLES:
            name = self._name(table)
            if table.name not in self._there:
                continue
            try:
                self._ask(READ_ALL.format(name=name))
            except Exception as again:
                if _is_damage(again):
                    raise CatalogDamaged(store=self._schema, file=name, bytes=None, reason=first_line(again)) from again


def _properties(table: Table) -> str:
    """Return the properties of a new table, as SQL."""
    # After a commit, Spark reads the whole log since the last checkpoint, so checkpoints are frequent.
    properties = {**PROPERTIES, "delta.checkpointInterval": "10", VERSION: str(SCHEMA_VERSION)}
    if table.append_only:
        properties["delta.appendOnly"] = "true"
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def _source(changes: Changes, head: Head) -> Iterator[tuple[Value | bool, ...]]:
    """Yield the changed rows, and the head row with the revision that the changes were decided on."""
    table = changes.table
    for change in changes.by_key.values():
        yield (*pack(table, change.row).values(), head.revision, "", -1, change.is_gone)
    if not table.append_only:
        blank = ["" for _ in texts(table)] + [_HEAD_BUCKET if name == "bucket" else 0 for name in ints(table)]
        yield (*blank, head.revision, head.text(), head.revision - 1, False)


def _source_schema(table: Table) -> str:
    kept = [f"{name} STRING" for name in texts(table)] + [f"{name} BIGINT" for name in ints(table)]
    return ", ".join([*kept, "revision BIGINT", "head STRING", "expected BIGINT", "is_gone BOOLEAN"])


def _unpacked(table: Table, rows: Sequence[Sequence[str]]) -> list[tuple[Value, ...]]:
    """Convert texts in the order of the Delta columns to rows in the catalog's column order."""
    many = len(texts(table))
    typed = [(*row[:many], *map(int, row[many:])) for row in rows]
    kept = zip(*typed, strict=True) if typed else ((),) * len(columns(table))
    return list(unpack(table, dict(zip(columns(table), kept, strict=True))))


def _is_lost_race(error: Exception) -> bool:
    return any(mark in str(error) for mark in _LOST_RACE)


def _is_damage(error: Exception) -> bool:
    return any(mark in str(error) for mark in _DAMAGE)
