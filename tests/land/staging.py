"""Staged chunks as the stage room leaves them: sealed Parquet below a table's root."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

from hakiri.land.decide.same_rows import Shape, remembered
from hakiri.land.lander import Landed, Outcome, land
from hakiri.land.recipe import LandRequest
from hakiri.land.staged.types import table_type
from hakiri.land.table_state import ExpectedLanding
from hakiri.land.target import NamedTarget, PathTarget, Target, sql_name
from hakiri.model.chunk import ChunkKey, TableKey
from hakiri.model.key import KeyValue
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.staged import CHUNK_COLUMN, HASH_COLUMN, INGESTED_COLUMN, RUN_COLUMN, StagedChunk, StagedFile, Tally
from hakiri.spec.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = TableKey("shop", "orders")
ORDERS = pa.schema([("id", pa.int64()), ("note", pa.string()), ("seen", pa.int64())])
READ_BY_SPARK = {"columnMapping", "deletionVectors", "typeWidening"}
INGESTED = datetime(2026, 5, 12, tzinfo=UTC)

Row = Mapping[str, Any]


def no_spark() -> SparkSession:
    raise AssertionError("nothing of this needs a JVM")


def order(key: int | None, note: str | None = "new", seen: int | None = 1) -> Row:
    return {"id": key, "note": note, "seen": seen}


def hash_of(row: Row) -> str:
    """A hash of the row's content, in which NULL leaves no trace, as in that of `extract.encoding`."""
    given = sorted((name, value) for name, value in row.items() if value is not None)
    return hashlib.sha256(repr(given).encode()).hexdigest()[:32]


def provenance(schema: pa.Schema) -> pa.Schema:
    texts = [pa.field(name, pa.string()) for name in (RUN_COLUMN, CHUNK_COLUMN)]
    stamped = pa.field(INGESTED_COLUMN, pa.timestamp("us", "UTC"))
    return pa.schema([*schema, *texts, stamped, pa.field(HASH_COLUMN, pa.string())])


def seal(root: Path, path: str, content: pa.Table) -> StagedFile:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(content, file)
    data = file.read_bytes()
    return StagedFile(path, content.num_rows, len(data), hashlib.sha256(data).hexdigest())


@dataclass
class Workshop:
    """One table, and the catalog's part of landing in it: numbers, and what the table should carry."""

    root: Path
    spark: Callable[[], SparkSession] = no_spark
    target: Target | None = None
    carried: ExpectedLanding | None = None
    number: int = 0
    staged: int = 0
    shapes: tuple[Shape, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.target = self.target or PathTarget(str(self.root))

    def chunk(
        self,
        rows: Sequence[Row],
        *,
        schema: pa.Schema = ORDERS,
        name: str | None = None,
        files: int = 1,
        cursor: str | None = "seen",
        day: int = 1,
    ) -> StagedChunk:
        """Stage the rows, each with a hash of its content, on this day after the first."""
        self.staged += 1
        ingested = INGESTED + timedelta(days=day - 1)
        key = ChunkKey(TABLE.pipeline, TABLE.table, name or f"{self.staged:04}")
        folder = f"data/runs/r{self.staged}/n1/chunk-{key.chunk}/attempt-1"
        filled = [
            {
                **row,
                RUN_COLUMN: f"r{self.staged}",
                CHUNK_COLUMN: key.chunk,
                INGESTED_COLUMN: ingested,
                HASH_COLUMN: hash_of(row),
            }
            for row in rows
        ]
        content = pa.Table.from_pylist(filled, schema=provenance(schema))
        size = -(-len(rows) // files) or 1
        parts = [content.slice(start, size) for start in range(0, max(len(rows), 1), size)]
        lows = [row[cursor] for row in rows if cursor and row.get(cursor) is not None]
        low: KeyValue | None = min(lows, default=None)
        return StagedChunk(
            chunk=key,
            run=f"r{self.staged}",
            node="n1",
            attempt=1,
            folder=folder,
            schema=content.schema,
            files=tuple(seal(self.root, f"{folder}/part-{i:05}.parquet", part) for i, part in enumerate(parts)),
            quarantine=(),
            tally=Tally(read=len(rows), staged=len(rows)),
            cursor_low=low,
            ingested_at=ingested,
        )

    def request(self, *chunks: StagedChunk, **options: Any) -> LandRequest:
        """The next landing, reserved."""
        landing = Landing(
            table=TABLE,
            number=self.number + 1,
            chunks=tuple(chunk.chunk for chunk in chunks),
            status=LandingStatus.RESERVED,
            cursor=f"c{self.number + 1}",
        )
        assert self.target is not None
        asked = LandRequest(
            project="test",
            landing=landing,
            carried=self.carried,
            target=self.target,
            root=str(self.root),
            chunks=chunks,
            mode=LoadMode.APPEND,
            shapes=self.shapes,
        )
        return replace(asked, **{**self.options, **options})

    def finish(self, request: LandRequest, landed: Landed) -> Landed:
        """What the catalog notes when a landing is finished."""
        self.number = request.landing.number
        if landed.outcome is not Outcome.UNCHANGED:
            self.carried = ExpectedLanding(self.number, landed.version)
        read = ((table_type(chunk.schema, table=TABLE.table), chunk.ingested_at) for chunk in request.chunks)
        self.shapes = remembered(self.shapes, read)
        return landed

    def land(self, *chunks: StagedChunk, **options: Any) -> Landed:
        request = self.request(*chunks, **options)
        return self.finish(request, land(request, self.spark))

    def land_rows(self, *rows: Row, **options: Any) -> Landed:
        return self.land(self.chunk(rows), **options)

    def hold(self, *rows: Row) -> None:
        """Make the table with these rows, adopted as they lie: for what only matters from the next landing on."""
        assert self.land_rows(*rows, mode=LoadMode.APPEND).outcome is Outcome.ADOPTED

    def version(self) -> int:
        return DeltaTable(self.root).version()

    @property
    def folder(self) -> Path:
        """The folder that the table lies in; a session's own catalog keeps its tables in the warehouse."""
        if isinstance(self.target, NamedTarget):
            schema, table = self.target.parts
            warehouse = str(self.spark().conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
            return Path(warehouse) / f"{schema}.db" / table
        return self.root

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows, sorted: by delta-rs, which Spark did not tell what it wrote; by Spark where that cannot."""
        table = DeltaTable(self.folder)
        if set(table.protocol().reader_features or ()) & READ_BY_SPARK:
            return self.spark_rows(*columns)
        names = ", ".join(f'"{name}"' for name in columns or ORDERS.names)
        found = QueryBuilder().register("t", table).execute(f"SELECT {names} FROM t").read_all()
        return ordered(pa.table(found).to_pylist())

    def spark_rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows by Spark, sorted; that costs a second."""
        assert self.target is not None
        found = self.spark().table(sql_name(self.target)).select(*(f"`{name}`" for name in columns or ORDERS.names))
        return ordered([row.asDict(recursive=True) for row in found.collect()])


def ordered(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in rows), key=repr)


def named(schema: str, table: str) -> NamedTarget:
    return NamedTarget((schema, table))


@contextmanager
def catalog_table(spark: SparkSession, name: str) -> Iterator[Target]:
    schema, _, table = name.partition(".")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    yield named(schema, table)
    spark.sql(f"DROP TABLE IF EXISTS {name}")
