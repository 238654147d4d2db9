"""The ways round a catalog: what a person with the store's own tools may try."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

import psycopg
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

Attempt = Callable[[], object]


class RawStore(Protocol):
    """The store itself, without the catalog."""

    def forbidden(self) -> dict[str, Attempt]:
        """Changes to lineage that the store must refuse or ignore."""
        ...

    def back_doors(self) -> dict[str, Attempt]:
        """Changes to lineage that the store lets through, and the catalog must notice. Each can be done once."""
        ...

    def mark_newer(self) -> None:
        """Make the store look as if a later release had migrated it."""
        ...


class RawSqlite:
    def __init__(self, path: Path) -> None:
        self._path = path

    def forbidden(self) -> dict[str, Attempt]:
        statements = {
            "update": "UPDATE lineage SET reason = 'forged'",
            "delete": "DELETE FROM lineage",
            "replace": "INSERT OR REPLACE INTO lineage SELECT run_id, record_id, source_run_id, kind, 'forged', "
            "recorded_at, bucket FROM lineage",
        }
        return {name: self._running(statement) for name, statement in statements.items()}

    def back_doors(self) -> dict[str, Attempt]:
        return {}

    def mark_newer(self) -> None:
        self._running("PRAGMA user_version = 999")()

    def _running(self, statement: str) -> Attempt:
        def run() -> None:
            with closing(sqlite3.connect(self._path)) as connection, connection:
                connection.execute(statement)

        return run


class RawPostgres:
    def __init__(self, url: str) -> None:
        self._url = url

    def forbidden(self) -> dict[str, Attempt]:
        statements = {
            "update": "UPDATE lineage SET reason = 'forged'",
            "delete": "DELETE FROM lineage",
            "truncate": "TRUNCATE lineage",
            "replication role": "SET session_replication_role = replica; DELETE FROM lineage",
            "upsert": "INSERT INTO lineage SELECT * FROM lineage ON CONFLICT (run_id, record_id, source_run_id, kind) "
            "DO UPDATE SET reason = 'forged'",
        }
        return {name: self._running(statement) for name, statement in statements.items()}

    def back_doors(self) -> dict[str, Attempt]:
        return {}

    def mark_newer(self) -> None:
        self._running("INSERT INTO catalog_version VALUES (999)")()

    def _running(self, statement: str) -> Attempt:
        def run() -> None:
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute("SET search_path TO hakiri")
                connection.execute(statement.encode())

        return run


class RawDelta:
    def __init__(self, root: Path) -> None:
        self._root = root

    def _table(self) -> DeltaTable:
        return DeltaTable(self._root / "lineage")

    def forbidden(self) -> dict[str, Attempt]:
        return {
            "update": lambda: self._table().update({"reason": "'forged'"}),
            "delete": lambda: self._table().delete(),
            "overwrite": self._overwrite,
        }

    def back_doors(self) -> dict[str, Attempt]:
        return {"restore": lambda: self._table().restore(0), "property": self._drop_property}

    def mark_newer(self) -> None:
        DeltaTable(self._root / "pipelines").alter.set_table_properties(
            {"hakiri.schema": "999"}, raise_if_not_exists=False
        )

    def _overwrite(self) -> None:
        empty = pa.schema(pa.schema(self._table().schema().to_arrow())).empty_table()
        write_deltalake(self._table(), empty, mode="overwrite")

    def _drop_property(self) -> None:
        self._table().alter.set_table_properties({"delta.appendOnly": "false"})


class RawSpark:
    def __init__(self, spark: SparkSession, schema: str) -> None:
        self._spark = spark
        self._schema = schema

    def forbidden(self) -> dict[str, Attempt]:
        lineage = f"{self._schema}.lineage"
        statements = {
            "update": f"UPDATE {lineage} SET reason = 'forged'",
            "delete": f"DELETE FROM {lineage}",
            "overwrite": f"INSERT OVERWRITE {lineage} SELECT * FROM {lineage} WHERE false",
        }
        return {name: self._running(statement) for name, statement in statements.items()}

    def back_doors(self) -> dict[str, Attempt]:
        lineage = f"{self._schema}.lineage"
        statements = {
            "restore": f"RESTORE TABLE {lineage} TO VERSION AS OF 0",
            "property": f"ALTER TABLE {lineage} SET TBLPROPERTIES ('delta.appendOnly' = 'false')",
        }
        return {name: self._running(statement) for name, statement in statements.items()}

    def mark_newer(self) -> None:
        self._running(f"ALTER TABLE {self._schema}.pipelines SET TBLPROPERTIES ('hakiri.schema' = '999')")()

    def _running(self, statement: str) -> Attempt:
        return lambda: self._spark.sql(statement).collect()
