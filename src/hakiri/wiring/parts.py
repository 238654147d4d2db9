"""Build the adapters that a run works with: connectors, transforms, catalog, hooks, views and Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hakiri.catalog.errors import CatalogDamaged
from hakiri.catalog.open import (
    CatalogSettings,
    DeltaPath,
    DeltaTables,
    PostgresServer,
    SqliteFile,
    find_damage,
    open_catalog,
    set_aside,
)
from hakiri.catalog.port import Catalog
from hakiri.catalog.sidecars import LocalSidecars, Sidecars, StoredSidecars
from hakiri.engine.databricks import TaskValue
from hakiri.engine.databricks import publish as publish_values
from hakiri.engine.session import choose_kind, close_session, has_session, open_session
from hakiri.engine.settings import EngineSettings, default_cores
from hakiri.errors import Place as ManifestPlace
from hakiri.extract.connectors import registry
from hakiri.extract.connectors.port import Connector
from hakiri.land.target import NamedTarget
from hakiri.model.errors import NoLocalCatalog
from hakiri.model.schema_name import quote_schema
from hakiri.model.session import SessionKind
from hakiri.run.node import Node
from hakiri.run.query import table_targets
from hakiri.run.services import Services
from hakiri.settings import Settings
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.project import CatalogBackend, EngineSection
from hakiri.spec.read import Project, Written
from hakiri.spec.reference import resolve
from hakiri.stage.local import LocalFiles
from hakiri.wiring.places import clock, files_at, journals, paths_of, place, tables_root, target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hakiri.extract.transform.reshape import Reshape
    from hakiri.land.hooks.call import Hooks
    from hakiri.land.hooks.views import Views
    from hakiri.land.views.port import Views as ViewShelf
    from hakiri.run.facts import Watermarks


WORKER_MODULES = ("hakiri.run.extraction",)
"""What a Python worker of Spark imports before its first chunk."""


def engine_settings(settings: Settings, project: Project | None) -> EngineSettings:
    """Collect the settings of Spark from the project and the environment. Raises UnresolvedReference."""
    section = project.spec.engine if project else EngineSection()
    said = resolve({"remote": section.remote, "conf": section.conf}, settings.look_up)
    defaults = EngineSettings()
    return EngineSettings(
        kind=section.kind,
        remote=said["remote"] or defaults.remote,
        cores=section.cores or default_cores(),
        memory=section.memory,
        conf=said["conf"],
        log_dir=project.root / ".hakiri" / "logs" if project else None,
        preload=WORKER_MODULES,
        verbose=settings.verbose,
    )


def connector(settings: Settings, project: Project, spec: PipelineSpec) -> Connector:
    """Open the connector of a pipeline, with its references resolved.

    Raises UnresolvedReference, ConnectorUnusable or BadConfig.
    """
    config = resolve(spec.source.config, settings.look_up)
    found = project.pipelines.get(spec.id)  # None for a pipeline under its old id
    where = partial(_config_place, found.written) if found else None
    return registry.open_connector(spec.source.connector, config, root=project.root, where=where)


def _config_place(written: Written, key: str) -> ManifestPlace:
    """Find the line of a key of a pipeline's `source.config`."""
    return written.where(("source", "config", *key.split(".")))


def transforms(settings: Settings, project: Project, spec: PipelineSpec) -> Mapping[str, Reshape]:
    """Read and check the transforms of a pipeline, by table. Raises ManifestError, QueryError and ReferenceUnfit."""
    if not spec.transforms:
        return {}
    from hakiri.run.transforms import read_transforms

    def stream(name: str, most_bytes: int) -> bytes | None:
        tables = table_targets([one.spec for one in project.pipelines.values()], partial(place, project))
        if (paths := paths_of(tables)) is not None:
            from hakiri.land.query.rust import stream_of

            return stream_of(name, paths, most_bytes=most_bytes)
        from hakiri.land.query.spark import stream_of as stream_by_spark

        engine = engine_settings(settings, project)
        return stream_by_spark(name, tables, lambda: open_session(engine), most_bytes=most_bytes)

    return read_transforms(project, spec.id, shown_from=settings.cwd, stream=stream)


def catalog_settings(settings: Settings, project: Project) -> CatalogSettings:
    """Return where the project's catalog is. Raises UnresolvedReference, or NoLocalCatalog."""
    section = project.spec.catalog
    if section.backend is CatalogBackend.POSTGRES:
        return PostgresServer(url=resolve(section.url, settings.look_up))
    if section.tables:
        return DeltaTables(section.tables)
    is_delta = section.backend is CatalogBackend.DELTA
    written = section.path or f"{project.spec.context.path}/{'catalog' if is_delta else 'catalog.sqlite'}"
    if "://" in written:
        raise NoLocalCatalog(path=written, backend=section.backend.value)
    path = project.root / written
    return DeltaPath(path) if is_delta else SqliteFile(path)


def set_damaged_aside(settings: Settings, project: Project, *, is_rehearsal: bool) -> CatalogDamaged | None:
    """Rename a catalog on a path whose files are damaged, and return what is wrong with it; None where nothing is.

    A rehearsal renames nothing.
    """
    where = catalog_settings(settings, project)
    damage = find_damage(where)
    if damage and not is_rehearsal and isinstance(where, SqliteFile | DeltaPath):
        set_aside(where, clock())
    return damage


@contextmanager
def existing_catalog(settings: Settings, project: Project) -> Iterator[Catalog | None]:
    """Open the project's catalog; None where there is none yet. It is never created here."""
    where = catalog_settings(settings, project)
    if not _is_there(where, settings, project):
        yield None
        return
    catalog = open_catalog(where, clock=clock(), spark=lambda: open_session(engine_settings(settings, project)))
    try:
        yield catalog
    finally:
        catalog.close()


@contextmanager
def services(settings: Settings, project: Project) -> Iterator[Services]:
    """Build everything a run works with; the catalog is created where there is none. No session is started yet.

    Raises UnresolvedReference, NoLocalCatalog, and what opening the catalog raises.
    """
    engine = engine_settings(settings, project)
    catalog = open_catalog(
        catalog_settings(settings, project),
        clock=clock(),
        sidecars=_sidecars(project),
        spark=lambda: open_session(engine),
    )
    try:
        yield Services(
            project=project.spec.project.name,
            node=Node.here(),
            clock=clock(),
            catalog=catalog,
            connector=partial(connector, settings, project),
            place=partial(place, project),
            hooks=_hooks(settings, project, engine),
            spark=lambda: open_session(engine),
            has_spark=has_session,
            transforms=partial(transforms, settings, project),
            close_engine=close_session,
            journals=journals(project),
            max_parallel_chunks=project.spec.engine.max_parallel_chunks,
            slots=engine.cores if choose_kind(engine) is SessionKind.LOCAL else None,
        )
    finally:
        catalog.close()


def watermarks(settings: Settings, project: Project) -> Watermarks:
    """Return a function that reads a table's watermark, with Spark where only Spark can read the table."""
    from hakiri.run.watermarks import watermarks_of  # loads what reads Delta tables

    is_named = project.spec.context.tables is not None
    return watermarks_of(
        partial(place, project), (lambda: open_session(engine_settings(settings, project))) if is_named else None
    )


def publish(values: Mapping[str, TaskValue]) -> None:
    """Publish values to later tasks of the job, if this process is a task of one. Raises SessionFailed."""
    publish_values(values)


def spark(settings: Settings, project: Project) -> SparkSession:
    """Return the session that the project's runs use; it is started on first use. Raises EngineError."""
    return open_session(engine_settings(settings, project))


def _hooks(settings: Settings, project: Project, engine: EngineSettings) -> Hooks:
    # Loaded only to land: other commands call no hooks.
    from hakiri.https import HttpsClient
    from hakiri.land.hooks.call import AllHooks
    from hakiri.land.hooks.webhook import Webhooks

    return AllHooks(
        spark=lambda: open_session(engine),
        views=partial(_views, settings, project, engine),
        webhooks=Webhooks(project.spec.hooks.rules, settings.look_up, clock(), HttpsClient()),
    )


def _views(settings: Settings, project: Project, engine: EngineSettings) -> Views:
    if choose_kind(engine) is SessionKind.DATABRICKS:
        from databricks.sdk import WorkspaceClient

        from hakiri.land.hooks.databricks import WorkspaceViews

        warehouse = project.spec.hooks.warehouse or settings.environment.get("DATABRICKS_WAREHOUSE_ID")
        places = {view: target(project, view) for view in project.refreshed}
        named = {view: place for view, place in places.items() if isinstance(place, NamedTarget)}
        schema = tuple(filter(None, (project.spec.context.tables or "").split(".")))
        return WorkspaceViews(WorkspaceClient, warehouse, clock(), targets=named, schema=schema)
    from hakiri.land.hooks.views import ProjectViews

    return ProjectViews(project.views, project.landed_names, partial(target, project), lambda: open_session(engine))


def view_shelf(settings: Settings, project: Project) -> ViewShelf:
    """Return where the project's views are kept: as definitions if tables lie in folders, else in their catalog.

    Raises UnresolvedReference.
    """
    specs = [one.spec for one in project.pipelines.values()]
    tables = {spec.landed_name(table): place(project, spec, table).target for spec in specs for table in spec.tables}
    readable = {**tables, **{view: target(project, view) for view in project.refreshed}}
    if (paths := paths_of(readable)) is not None:
        from hakiri.land.views.rust import RustViews

        return RustViews(paths)
    from hakiri.land.views.spark import SparkViews

    engine = engine_settings(settings, project)
    name = project.spec.project.name
    return SparkViews(readable, partial(target, project), lambda: open_session(engine), project=name)


def _sidecars(project: Project) -> Sidecars:
    """Open the manifests of staged chunks, with paths relative to the context's `tables/`."""
    files = files_at(tables_root(project))
    return LocalSidecars(files.root) if isinstance(files, LocalFiles) else StoredSidecars(files.open)


def _is_there(where: CatalogSettings, settings: Settings, project: Project) -> bool:
    match where:
        case SqliteFile(path) | DeltaPath(path):
            return path.exists()
        case DeltaTables(schema):
            return bool(open_session(engine_settings(settings, project)).catalog.databaseExists(quote_schema(schema)))
        case _:
            return True
