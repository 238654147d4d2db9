"""On table names, Spark SQL reads and commits the catalog: a head row per table makes each MERGE a compare-and-swap."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from uuid import uuid4

from pyspark.sql import SparkSession

from hakiri.catalog import ddl
from hakiri.catalog.delta.executor import merge_condition, merge_values
from hakiri.catalog.delta.group import DeltaStore
from hakiri.catalog.delta.layout import columns, ints, pack, texts, unpack
from hakiri.catalog.delta.neighbours import NoNeighbours
from hakiri.catalog.delta.properties import COMPACT_EVERY, PROPERTIES, VACUUM_EVERY, require_append_only
from hakiri.catalog.delta.replica import Changes, Replica
from hakiri.catalog.delta.sole_writer import local_folder, require_sole_writer
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.store import Row
from hakiri.catalog.tables import LINEAGE, Table, Value
from hakiri.errors import CatalogTooNew, CatalogUnavailable
from hakiri.model.clock import Clock, SystemClock
from hakiri.model.schema_name import quote_schema

CREATE = """
CREATE TABLE IF NOT EXISTS {name} ({columns}, revision BIGINT, head STRING)
USING delta PARTITIONED BY (bucket) TBLPROPERTIES ({properties})
"""

CHANGED = "SELECT {columns}, revision, head FROM {name} WHERE revision > {seen}"

IN_BUCKETS = "SELECT {columns} FROM {name} WHERE bucket IN ({buckets})"

MERGE = """
MERGE INTO {name} AS t USING {{source}} AS s ON {condition}
WHEN MATCHED AND s.expected >= 0 AND t.revision <> s.expected THEN UPDATE SET revision = raise_error('HAKIRI_STALE')
WHEN MATCHED AND s.is_gone THEN DELETE
WHEN MATCHED THEN UPDATE SET {updates}
WHEN NOT MATCHED AND NOT s.is_gone THEN INSERT ({columns}) VALUES ({values})
"""
"""Any head row that is not at the expected revision fails the whole statement, so the group happens or does not."""

APPEND = """
MERGE INTO {name} AS t USING {{source}} AS s ON {condition}
WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})
"""

OPTIMIZE = "OPTIMIZE {name}"

VACUUM = "VACUUM {name}"
"""Without a retention, so that the table's own property says how long files are kept."""

_HEAD_BUCKET = -1
_REMEMBERED = 64
_LOST_RACE = (
    "HAKIRI_STALE",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "delta.exceptions.Concurrent",
)


_creating = Lock()
"""IF NOT EXISTS is no promise between threads of one session: the loser finds a half-made table and fails."""


class SparkDeltaCatalog(Ledger):
    """The catalog in the Delta tables of one schema. Give it a session, classic or Connect."""

    def __init__(
        self, spark: SparkSession, schema: str, *, clock: Clock | None = None, sidecars: Sidecars | None = None
    ) -> None:
        clock = clock or SystemClock()
        store = DeltaStore(SparkExecutor(spark, schema), NoNeighbours(), clock)
        super().__init__(store, clock=clock, sidecars=sidecars)


@dataclass(frozen=True, slots=True)
class Head:
    """What the head row says: how many commits the table has had, and which the last ones were."""

    revision: int = 0
    commits: tuple[str, ...] = ()
    purged: int = 0  # the last revision that removed rows: who has seen less must read everything again

    def next(self, commit: str, *, purges: bool) -> Head:
        revision = self.revision + 1
        return Head(revision, (*self.commits, commit)[-_REMEMBERED:], revision if purges else self.purged)

    def text(self) -> str:
        return json.dumps({"commits": self.commits, "purged": self.purged})


class SparkExecutor:
    """Runs the statements by Spark SQL."""

    def __init__(self, spark: SparkSession, schema: str) -> None:
        self._spark = spark
        self._schema = quote_schema(schema)
        self._heads: dict[Table, Head] = {}
        self._commits: Counter[Table] = Counter()
        with self._translated():
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            described = spark.sql(f"DESCRIBE SCHEMA {self._schema}").collect()
        # Before any table is made or read: a second writer must not even try.
        location = next((value for name, value in described if name == "Location"), None)
        if location and local_folder(location):  # nobody else is asked who they are: serverless does not tell
            require_sole_writer(location, spark.conf.get("spark.app.id") or "")

    def refresh(self, table: Table, replica: Replica, buckets: frozenset[int] | None) -> None:
        with self._translated():
            if table not in self._heads:
                self._create(table)
            if table.append_only:
                self._load_buckets(table, replica, buckets)
            else:
                self._load_changes(table, replica)

    def commit(self, changes: Changes) -> bool:
        table = changes.table
        if table.append_only:
            self._require_append_only(table)
        name = uuid4().hex
        head = self._heads[table].next(name, purges=changes.has_removals)
        try:
            self._merge(changes, head)
        except Exception as error:  # conflicts come as bare Py4J errors from a classic session
            if _is_lost_race(error):
                return False
            if not self._is_committed(table, name):
                raise CatalogUnavailable(store=self._schema, reason=_brief(error)) from error
        self._heads[table] = head
        self._tidy(table)
        return True

    def progress(self, pipeline: str | None) -> list[Row] | None:  # noqa: ARG002 - the replica counts
        return None

    def tend(self, table: Table) -> None:
        with self._translated():
            if not self._spark.catalog.tableExists(self._name(table)):
                return
            try:
                self._spark.sql(OPTIMIZE.format(name=self._name(table))).collect()
                self._spark.sql(VACUUM.format(name=self._name(table))).collect()
            except Exception as error:
                if not _is_lost_race(error):
                    raise

    def close(self) -> None:
        """The session is not ours to stop."""

    def _name(self, table: Table) -> str:
        return f"{self._schema}.`{table.name}`"

    def _create(self, table: Table) -> None:
        """Make the table where it is missing, and make sure that we know its columns."""
        # Spark reads the whole log since the last checkpoint for every statement that follows a commit.
        properties = {**PROPERTIES, "delta.checkpointInterval": "10", "hakiri.schema": str(ddl.SCHEMA_VERSION)}
        if table.append_only:
            properties["delta.appendOnly"] = "true"
        kept = [f"{name} STRING" for name in texts(table)] + [f"{name} BIGINT" for name in ints(table)]
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        with _creating:
            self._spark.sql(CREATE.format(name=self._name(table), columns=", ".join(kept), properties=listed))
        found = int(self._properties(table)["hakiri.schema"])
        if found > ddl.SCHEMA_VERSION:
            raise CatalogTooNew(found=found, known=ddl.SCHEMA_VERSION)
        self._heads[table] = Head()

    def _load_changes(self, table: Table, replica: Replica) -> None:
        """What was committed since the revision we hold; everything, if some of it was a removal."""
        seen = self._heads[table].revision
        head, rows = self._changed(table, seen)
        if head is not None and head.purged > seen > 0:
            head, rows = self._changed(table, 0)
            replica.load(table, rows)
        elif head is not None:
            replica.put(table, rows)
        self._heads[table] = head or self._heads[table]

    def _changed(self, table: Table, seen: int) -> tuple[Head | None, list[tuple[Value, ...]]]:
        statement = CHANGED.format(columns=", ".join(columns(table)), name=self._name(table), seen=seen)
        head, rows = None, []
        for *values, revision, text in self._spark.sql(statement).collect():
            if text:
                told = json.loads(text)
                head = Head(revision, tuple(told["commits"]), told["purged"])
            else:
                rows.append(values)
        return head, _unpacked(table, rows)

    def _load_buckets(self, table: Table, replica: Replica, buckets: frozenset[int] | None) -> None:
        wanted = sorted(buckets or ())
        statement = IN_BUCKETS.format(
            columns=", ".join(columns(table)),
            name=self._name(table),
            buckets=", ".join(str(bucket) for bucket in wanted),
        )
        replica.load(table, _unpacked(table, self._spark.sql(statement).collect()), buckets=wanted)

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
        source = self._spark.createDataFrame(list(_source(changes, head)), _source_schema(table))
        self._spark.sql(statement, source=source).collect()

    def _is_committed(self, table: Table, commit: str) -> bool:
        with self._translated():
            head, _ = self._changed(table, self._heads[table].revision)
            return head is not None and commit in head.commits

    def _require_append_only(self, table: Table) -> None:
        with self._translated():
            append_only = self._properties(table).get("delta.appendOnly")
            history = self._spark.sql(f"DESCRIBE HISTORY {self._name(table)}").collect()
        commits = [(row["version"], row["operation"]) for row in history]
        require_append_only(self._name(LINEAGE), append_only, commits)

    def _properties(self, table: Table) -> dict[str, str]:
        """The table's properties, which DESCRIBE DETAIL would tell only after counting its files."""
        return dict(self._spark.sql(f"SHOW TBLPROPERTIES {self._name(table)}").collect())

    def _tidy(self, table: Table) -> None:
        self._commits[table] += 1
        if self._commits[table] % COMPACT_EVERY == 0:
            self._spark.sql(OPTIMIZE.format(name=self._name(table)))
        if self._commits[table] % VACUUM_EVERY == 0:
            self._spark.sql(VACUUM.format(name=self._name(table)))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (CatalogTooNew, CatalogUnavailable):
            raise
        except Exception as error:
            if type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
                raise CatalogUnavailable(store=self._schema, reason=_brief(error)) from error
            raise


def _source(changes: Changes, head: Head) -> Iterator[tuple[Value | bool, ...]]:
    """The changed rows, and the head row that must be at the revision they were decided on."""
    table = changes.table
    for change in changes.by_key.values():
        yield (*pack(table, change.row).values(), head.revision, "", -1, change.is_gone)
    if not table.append_only:
        blank = ["" for _ in texts(table)] + [_HEAD_BUCKET if name == "bucket" else 0 for name in ints(table)]
        yield (*blank, head.revision, head.text(), head.revision - 1, False)


def _source_schema(table: Table) -> str:
    kept = [f"{name} STRING" for name in texts(table)] + [f"{name} BIGINT" for name in ints(table)]
    return ", ".join([*kept, "revision BIGINT", "head STRING", "expected BIGINT", "is_gone BOOLEAN"])


def _unpacked(table: Table, rows: Sequence[Sequence[Value]]) -> list[tuple[Value, ...]]:
    kept = zip(*rows, strict=True) if rows else ((),) * len(columns(table))
    return list(unpack(table, dict(zip(columns(table), kept, strict=True))))


def _is_lost_race(error: Exception) -> bool:
    return any(mark in str(error) for mark in _LOST_RACE)


def _brief(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:500]
