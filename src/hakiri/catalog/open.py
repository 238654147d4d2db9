"""Opens the catalog that the settings name. Imports only that backend's driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from hakiri.catalog.errors import CatalogDamaged, CatalogDriverMissing, CatalogUnavailable
from hakiri.catalog.port import Catalog
from hakiri.catalog.sidecars import Sidecars
from hakiri.model.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """The catalog in one SQLite file."""

    path: Path


@dataclass(frozen=True, slots=True)
class DeltaPath:
    """The catalog in Delta tables below a folder, without a JVM."""

    root: Path


@dataclass(frozen=True, slots=True)
class DeltaTables:
    """The catalog in Delta tables of a schema in Spark's catalog, such as `main.hakiri`."""

    schema: str


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """The catalog in a schema of a PostgreSQL database. The URL may contain a password, so repr omits it."""

    url: str = field(repr=False)
    schema: str = "hakiri"


CatalogSettings = SqliteFile | DeltaPath | DeltaTables | PostgresServer


def open_catalog(
    settings: CatalogSettings,
    *,
    clock: Clock | None = None,
    sidecars: Sidecars | None = None,
    spark: Callable[[], SparkSession] | None = None,
) -> Catalog:
    """Open the catalog, creating or migrating its tables if needed. A repeat opens it again.

    `spark` is called only for `DeltaTables`.

    Raises CatalogDriverMissing, CatalogUnavailable, CatalogRefused, CatalogTooNew; SecondWriter for Delta tables on a
    local path.
    """
    match settings:
        case SqliteFile(path):
            from hakiri.catalog.sqlite import SqliteCatalog

            return SqliteCatalog(path, clock=clock, sidecars=sidecars)
        case DeltaPath(root):
            try:
                from hakiri.catalog.delta.rust import DeltaCatalog
            except ModuleNotFoundError as cause:
                raise CatalogDriverMissing(backend="delta", wanted=str(cause.name), extra="local") from cause
            return DeltaCatalog(root, clock=clock, sidecars=sidecars)
        case DeltaTables(schema):
            if spark is None:
                raise CatalogUnavailable(store=f"the tables of {schema}", reason="no Spark session was given for them")
            from hakiri.catalog.delta.spark import SparkDeltaCatalog

            return SparkDeltaCatalog(spark(), schema, clock=clock, sidecars=sidecars)
        case PostgresServer(url, schema):
            try:
                from hakiri.catalog.postgres import PostgresCatalog
            except ModuleNotFoundError as cause:
                raise CatalogDriverMissing(backend="postgres", wanted=str(cause.name), extra="postgres") from cause
            return PostgresCatalog(url, schema=schema, clock=clock, sidecars=sidecars)
        case _:
            assert_never(settings)


def find_damage(settings: CatalogSettings) -> CatalogDamaged | None:
    """Return the damage in the files of a catalog on a path; None if there is none, or no files."""
    try:
        match settings:
            case SqliteFile(path) if path.exists():
                from hakiri.catalog.sqlite import require_undamaged

                require_undamaged(path)
            case DeltaPath(root) if root.exists():
                from hakiri.catalog.delta.damage import require_undamaged as require_undamaged_log

                require_undamaged_log(root)
    except CatalogDamaged as damage:
        return damage
    return None


def set_aside(settings: SqliteFile | DeltaPath, clock: Clock) -> Path:
    """Rename a catalog's file or folder, so that opening it creates a new one. Deletes nothing."""
    path = settings.path if isinstance(settings, SqliteFile) else settings.root
    kept = path.with_name(f"{path.name}.damaged-{clock.now():%Y%m%dT%H%M%S%f}")
    for suffix in ("-wal", "-shm"):  # first: a new file must not find the write-ahead log of the old one
        beside = path.with_name(f"{path.name}{suffix}")
        if beside.exists():
            beside.rename(f"{kept}{suffix}")
    return path.rename(kept)
