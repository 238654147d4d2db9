"""Build from settings what the verbs of `run` need. Only this file names adapters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
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
from hakiri.engine.databricks import is_runtime
from hakiri.engine.jars import provide_jars
from hakiri.engine.java import find_java
from hakiri.engine.probe import STEPS, probe, say_package
from hakiri.engine.session import choose_kind, close_session, open_session
from hakiri.engine.settings import EngineSettings, default_cache_dir, default_cores
from hakiri.engine.task import call_on_executor
from hakiri.engine.task_values import TaskValue
from hakiri.engine.task_values import publish as publish_values
from hakiri.errors import HakiriError
from hakiri.errors import Place as ManifestPlace
from hakiri.extract.connectors import registry
from hakiri.extract.connectors.port import Connector
from hakiri.land.errors import UnknownTable
from hakiri.land.hooks.registry import functions, unjudged
from hakiri.land.target import NamedTarget, PathTarget, Target, quarantine_of, sql_name
from hakiri.model.clock import Clock, SystemClock
from hakiri.model.errors import NoLocalCatalog
from hakiri.model.query_result import QueryResult
from hakiri.model.schema_name import quote_schema
from hakiri.model.session import SessionKind
from hakiri.model.view import View
from hakiri.run.doctor import Look, Seen
from hakiri.run.doctor_project import local_folder, look_at_volume, looks_around, volume_of
from hakiri.run.manifest import Workplace, choose_pipelines, find_pipeline, relocate
from hakiri.run.node import Node
from hakiri.run.query import table_targets
from hakiri.run.services import Services, TablePlace
from hakiri.settings import Settings
from hakiri.spec.names import name_in_schema
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.project import CatalogBackend, EngineSection
from hakiri.spec.read import Project, Written
from hakiri.spec.reference import resolve
from hakiri.spec.validation_errors import guess
from hakiri.stage.local import LocalFiles
from hakiri.stage.port import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hakiri.extract.transform.reshape import Reshape
    from hakiri.land.hooks.call import Hooks
    from hakiri.land.hooks.views import Views
    from hakiri.land.views.port import Views as ViewShelf
    from hakiri.run.facts import Watermarks
    from hakiri.run.gc import Collected
    from hakiri.run.plan import Planned
    from hakiri.run.status import Status
    from hakiri.run.trial import Trial
    from hakiri.run.upkeep import Maintained


def workplace(settings: Settings, *, imports_functions: bool = False) -> Workplace:
    """Return where the command was called, with the connectors that are installed.

    The arguments of hook functions are checked only where their modules may be imported: an import may hang, and a run
    leaves it to a process that can be stopped.
    """
    known = functions() if imports_functions else unjudged()
    return Workplace(cwd=settings.cwd, project=settings.project, connectors=registry.facts(), functions=known)


def read_project(settings: Settings, *, context: str = "", tables: str = "", state: str = "") -> Project:
    """Read the project, with its files, tables and catalog where a job or a notebook says that they are.

    Raises ProjectNotFound and InvalidProject.
    """
    return relocate(workplace(settings).read(), path=context, tables=tables, state=state)


WORKER_MODULES = ("hakiri.run.extraction",)
"""What a Python worker of Spark imports before its first chunk."""


def engine_settings(settings: Settings, project: Project | None) -> EngineSettings:
    """Collect what the project and the environment say about Spark. Raises UnresolvedReference."""
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
    found = project.pipelines.get(spec.id)  # none for a pipeline under the id that it had before
    where = partial(_config_place, found.written) if found else None
    return registry.open_connector(spec.source.connector, config, root=project.root, where=where)


def _config_place(written: Written, key: str) -> ManifestPlace:
    """Find the line of a key of a pipeline's `source.config`."""
    return written.where(("source", "config", *key.split(".")))


def try_pipeline(
    settings: Settings, name: str, *, table: str | None, rows: int, project: Project | None = None
) -> dict[str, Trial]:
    """Try a pipeline's transforms on the first rows of its tables. Writes nothing.

    Raises ManifestError, QueryError, ReferenceUnfit, SourceError, TransformUnfit and ExtractError.
    """
    from hakiri.run.trial import try_transforms

    project = project or workplace(settings).read()
    spec = find_pipeline(project, name).spec
    reshapes = transforms(settings, project, spec)
    return try_transforms(spec, connector(settings, project, spec), reshapes, table=table, rows=rows)


def transforms(settings: Settings, project: Project, spec: PipelineSpec) -> Mapping[str, Reshape]:
    """Read and check the transforms of a pipeline, by table. Raises ManifestError, QueryError and ReferenceUnfit."""
    if not spec.transforms:
        return {}
    from hakiri.run.transforms import read_transforms

    def stream(name: str, most_bytes: int) -> bytes | None:
        tables = table_targets([one.spec for one in project.pipelines.values()], partial(place, project))
        if (paths := _paths(tables)) is not None:
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
            transforms=partial(transforms, settings, project),
            close_engine=close_session,
            journals=journals(project),
            max_parallel_chunks=project.spec.engine.max_parallel_chunks,
            slots=engine.cores if choose_kind(engine) is SessionKind.LOCAL else None,
        )
    finally:
        catalog.close()


def plan_project(
    settings: Settings, project: Project, names: Sequence[str] = (), *, is_full_refresh: bool = False
) -> Planned:
    """Plan these pipelines, or all, and the project's views. Changes nothing and starts no JVM.

    The result has the errors of pipelines that cannot be planned. Raises PipelineNotFound.
    """
    from hakiri.run.plan import plan_pipelines
    from hakiri.run.views import change_views, gather_views

    specs = choose_pipelines(project, names)
    with existing_catalog(settings, project) as catalog:
        views = gather_views(project, catalog)
        return plan_pipelines(
            specs,
            partial(connector, settings, project),
            catalog,
            project=project.spec.project.name,
            place=partial(place, project),
            transforms=partial(transforms, settings, project),
            watermark=watermarks(settings, project),
            is_full_refresh=is_full_refresh,
            views=views,
            changes=change_views(views, view_shelf(settings, project)),
            logs=log_folder(),
        )


def project_status(settings: Settings, project: Project, names: Sequence[str] = (), *, now: datetime) -> list[Status]:
    """Return the status of these pipelines, or of all. Raises PipelineNotFound."""
    from hakiri.run.status import status

    with existing_catalog(settings, project) as catalog:
        return status(
            catalog,
            choose_pipelines(project, names),
            place=partial(place, project),
            journals=journals(project),
            now=now,
        )


def query_project(settings: Settings, project: Project, sql: str, *, most_rows: int | None) -> QueryResult:
    """Answer one SELECT over the project's tables and views. Raises QueryError or ViewUnanswerable."""
    from hakiri.run.query import query

    return query(
        sql,
        project,
        place=partial(place, project),
        target=partial(target, project),
        catalog=partial(existing_catalog, settings, project),
        ask=partial(ask, settings, project, most_rows=most_rows),
    )


def collect_leavings(
    settings: Settings, project: Project, *, retention: timedelta, is_rehearsal: bool = False
) -> Collected:
    """Remove files of unsuccessful attempts; nothing where there is no catalog to tell which succeeded.

    Raises RetentionUnfit, CatalogBehind and CatalogError. A repeat removes what has grown old since.
    """
    from hakiri.run.gc import Collected, collect  # loads what reads Delta tables

    with existing_catalog(settings, project) as catalog:
        if catalog is None:
            return Collected()
        return collect(
            catalog,
            project.spec.project.name,
            [one.spec for one in project.pipelines.values()],
            place=partial(place, project),
            now=clock().now(),
            retention=retention,
            is_rehearsal=is_rehearsal,
        )


def maintain_tables(
    settings: Settings,
    project: Project,
    names: Sequence[str] = (),
    *,
    retention: timedelta,
    is_rehearsal: bool = False,
) -> Maintained:
    """Maintain the tables of these pipelines, or of all, and the catalog; nothing where there is no catalog.

    Raises PipelineNotFound and CatalogError. A repeat finds nothing more to do.
    """
    from hakiri.run.upkeep import Maintained, Upkeep, maintain  # loads what reads Delta tables

    specs, engine = choose_pipelines(project, names), engine_settings(settings, project)
    # A workspace tends its materialized views itself.
    tends_views = not names and choose_kind(engine) is not SessionKind.DATABRICKS
    with existing_catalog(settings, project) as catalog:
        if catalog is None:
            return Maintained()
        upkeep = Upkeep(
            project=project.spec.project.name,
            catalog=catalog,
            place=partial(place, project),
            spark=lambda: open_session(engine),
            now=clock().now(),
            retention=retention,
            is_rehearsal=is_rehearsal,
            views={view: target(project, view) for view in sorted(project.refreshed)} if tends_views else {},
        )
        return maintain(upkeep, specs)


def watermarks(settings: Settings, project: Project) -> Watermarks:
    """Return a function that reads a table's watermark, with Spark where only Spark can read the table."""
    from hakiri.run.watermarks import watermarks_of  # loads what reads Delta tables

    is_named = project.spec.context.tables is not None
    return watermarks_of(
        partial(place, project), (lambda: open_session(engine_settings(settings, project))) if is_named else None
    )


def broken_rules(settings: Settings, project: Project) -> dict[str, dict[str, int]]:
    """Count the rows that each rule has set aside, by quarantine table; with Spark only for tables of a catalog.

    Tables that have none yet are left out. Raises TableUnreadable.
    """
    from hakiri.land.quarantine.broken_rules import count_rules  # loads what reads Delta tables

    pairs = [(one.spec, table) for one in project.pipelines.values() for table in one.spec.tables]
    kept = {
        spec.quarantine_name(table): quarantine_of((where := place(project, spec, table)).target, where.quarantine)
        for spec, table in pairs
    }
    spark = partial(open_session, engine_settings(settings, project))
    found = {name: count_rules(name, target, spark) for name, target in kept.items()}
    return {name: rules for name, rules in found.items() if rules}


def publish(values: Mapping[str, TaskValue]) -> None:
    """Publish values to later tasks of the job, if this process is a task of one. Raises SessionFailed."""
    publish_values(values)


def place(project: Project, spec: PipelineSpec, table: TableSpec) -> TablePlace:
    """Return where a table lands: a folder of its landed name below `tables/`, or a table of the context's schema.

    Staged files lie in that folder either way.
    """
    quarantine = spec.quality.quarantine.table if spec.quality.quarantine else None
    root = f"{tables_root(project)}/{spec.landed_name(table)}"
    return TablePlace(
        target=target(project, spec.landed_name(table)),
        root=root,
        files=_files(root),
        quarantine=target(project, quarantine) if quarantine else None,
    )


def target(project: Project, name: str) -> Target:
    """Return the place of a landed table, of a view, or of the table that a hook keeps for a view."""
    schema = project.spec.context.tables
    if schema is None:
        return PathTarget(f"{tables_root(project)}/{name}")
    return NamedTarget((*schema.split("."), name_in_schema(name)))


def find_table(project: Project, name: str) -> tuple[PipelineSpec, TableSpec]:
    """Find a table by its landed name, or as `pipeline.table`. Raises UnknownTable."""
    pairs = [(one.spec, table) for one in project.pipelines.values() for table in one.spec.tables]
    by_name = {f"{spec.id}.{table.name}": (spec, table) for spec, table in pairs}
    by_name |= {spec.landed_name(table): (spec, table) for spec, table in pairs}
    if name not in by_name:
        known = tuple(sorted(spec.landed_name(table) for spec, table in pairs))
        raise UnknownTable(table=name, known=known, guess=guess(name, known))
    return by_name[name]


def table_sql_name(project: Project, spec: PipelineSpec, table: TableSpec) -> str:
    """Name a landed table as Spark SQL does."""
    return sql_name(place(project, spec, table).target)


def spark(settings: Settings, project: Project) -> SparkSession:
    """Return the session that the project's runs use; it is started on first use. Raises EngineError."""
    return open_session(engine_settings(settings, project))


def _hooks(settings: Settings, project: Project, engine: EngineSettings) -> Hooks:
    # Loaded where something lands: a look at a project calls no hooks.
    from hakiri.land.hooks.call import AllHooks
    from hakiri.land.hooks.https import Poster
    from hakiri.land.hooks.webhook import Webhooks

    return AllHooks(
        spark=lambda: open_session(engine),
        views=partial(_views, settings, project, engine),
        webhooks=Webhooks(project.spec.hooks.rules, settings.look_up, clock(), Poster()),
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
    if (paths := _paths(readable)) is not None:
        from hakiri.land.views.rust import RustViews

        return RustViews(paths)
    from hakiri.land.views.spark import SparkViews

    engine = engine_settings(settings, project)
    name = project.spec.project.name
    return SparkViews(readable, partial(target, project), lambda: open_session(engine), project=name)


def ask(
    settings: Settings,
    project: Project,
    sql: str,
    tables: Mapping[str, Target],
    views: Callable[[], Mapping[str, View | None]],
    *,
    most_rows: int | None = None,
) -> QueryResult:
    """Answer one SELECT over landed tables and views, without a JVM where they lie in folders.

    Of more than `most_rows` rows, no more need be fetched. Raises QueryError or ViewUnanswerable, and EngineError where
    a session is asked.
    """
    if (paths := _paths(tables)) is not None:
        from hakiri.land.query.rust import ask as ask_delta

        return ask_delta(sql, paths, views)
    from hakiri.land.query.spark import ask as ask_spark

    engine = engine_settings(settings, project)
    return ask_spark(
        sql, tables, views, target=partial(target, project), spark=lambda: open_session(engine), most_rows=most_rows
    )


def _paths(tables: Mapping[str, Target]) -> dict[str, str] | None:
    """Return the paths of the tables, if all have one; None where a catalog has them."""
    paths = {name: one.path for name, one in tables.items() if isinstance(one, PathTarget)}
    return paths if len(paths) == len(tables) else None


def tables_root(project: Project) -> str:
    """Return the folder, or the address in a store, that holds all landed tables."""
    context = project.spec.context.path
    return f"{context.rstrip('/')}/tables" if "://" in context else str(_context_folder(project) / "tables")


def journals(project: Project) -> Path:
    """Return the folder of journals: with the tables, or beside the manifests where a store holds the tables.

    In a Databricks runtime on the driver's own disk: a journal grows, and volumes let no file do that.
    """
    if is_runtime():
        return Path(tempfile.gettempdir()) / "hakiri" / project.spec.project.name / "journal"
    is_stored = "://" in project.spec.context.path
    return (project.root.absolute() / ".hakiri" if is_stored else _context_folder(project)) / "journal"


def _context_folder(project: Project) -> Path:
    return (project.root / project.spec.context.path).absolute()


def _sidecars(project: Project) -> Sidecars:
    """Open the manifests of staged chunks, with paths relative to the context's `tables/`."""
    files = _files(tables_root(project))
    return LocalSidecars(files.root) if isinstance(files, LocalFiles) else StoredSidecars(files.open)


def _files(root: str) -> Files:
    if "://" not in root:
        return LocalFiles(Path(root))
    # Loaded where a store is met: most commands start without it in half the time.
    from pyarrow.fs import FileSystem

    from hakiri.stage.object_store import ObjectStoreFiles

    store, folder = FileSystem.from_uri(root)
    return ObjectStoreFiles(store, folder)


def _is_there(where: CatalogSettings, settings: Settings, project: Project) -> bool:
    match where:
        case SqliteFile(path) | DeltaPath(path):
            return path.exists()
        case DeltaTables(schema):
            return bool(open_session(engine_settings(settings, project)).catalog.databaseExists(quote_schema(schema)))
        case _:
            return True


def looks(settings: Settings, read: Callable[[Settings], Project] = read_project) -> Iterator[Look]:
    """Yield every check of `hakiri doctor`, the quick ones first."""
    try:
        project = read(settings)
    except HakiriError as wrong:
        yield Look("manifests", _raising(wrong))
        project = None  # Spark can be looked at all the same
    if settings.names_scope:
        yield Look("secret scope", partial(_say_scope, settings))
    if project:
        yield from looks_around(project, settings.look_up)
        yield Look("catalog", partial(_say_catalog, settings, project))
        for definition in project.pipelines.values():
            yield from _looks_at_pipeline(settings, project, definition.spec)
    try:
        engine = engine_settings(settings, project)
    except HakiriError as wrong:
        yield Look("spark settings", _raising(wrong))
        return
    yield from _looks_at_spark(engine, project.spec.context.tables if project else None)
    if project and choose_kind(engine) is not SessionKind.LOCAL:
        yield from _looks_from_executors(engine, settings, project)


def _looks_at_pipeline(settings: Settings, project: Project, spec: PipelineSpec) -> Iterator[Look]:
    source = f"source of {spec.id}"
    yield Look(source, partial(_say_source, settings, project, spec))
    for table in spec.tables:  # one that is refused hides none of the others
        alone = spec.model_copy(update={"tables": (table,)})
        yield Look(f"{spec.id}: {table.name}", partial(_say_plan, settings, project, alone), needs=(source,))
    yield Look(f"last run of {spec.id}", partial(_say_last_run, settings, project, spec), needs=("catalog",))


def _raising(wrong: HakiriError) -> Callable[[], str]:
    def look() -> str:
        raise wrong

    return look


def _looks_at_spark(engine: EngineSettings, schema: str | None) -> Iterator[Look]:
    needs: tuple[str, ...] = ()
    if choose_kind(engine) is SessionKind.LOCAL:
        yield Look("java", lambda: _say_java(engine))
        yield Look("delta jars", lambda: _say_jars(engine), needs=("java",))
        needs = ("delta jars",)
    steps = probe(engine, schema=schema)
    for name in STEPS:
        yield Look(f"spark: {name}", lambda: next(steps).detail, needs=needs)
        needs = (f"spark: {name}",)


def _looks_from_executors(engine: EngineSettings, settings: Settings, project: Project) -> Iterator[Look]:
    """Yield the checks of what chunks need on executors, which may be on another network."""
    there = partial(_on_executor, engine)
    yield Look("executor: hakiri", partial(there, say_package), needs=(f"spark: {STEPS[-1]}",))
    needs, folder = ("executor: hakiri",), local_folder(project)
    if folder and (volume := volume_of(folder)):
        yield Look("executor: volume", partial(there, partial(look_at_volume, volume)), needs=needs)
    for definition in project.pipelines.values():
        say = partial(_say_source, settings, project, definition.spec, call=there)
        yield Look(f"executor: source of {definition.spec.id}", say, needs=needs)


def _on_executor(engine: EngineSettings, look: Callable[[], str]) -> str:
    return call_on_executor(open_session(engine), look)


def _say_scope(settings: Settings) -> str:
    scope = settings.scope
    return f"{scope.name}, secrets: {scope.count()}" if scope else "none"


def _say_catalog(settings: Settings, project: Project) -> str:
    backend = project.spec.catalog.backend.value
    with existing_catalog(settings, project) as catalog:
        if catalog is None:
            return f"{backend}, made at its first use"
        return f"{backend}, pipelines known: {len(catalog.pipelines())}"


def _say_source(
    settings: Settings,
    project: Project,
    spec: PipelineSpec,
    *,
    call: Callable[[Callable[[], str]], str] = lambda look: look(),
) -> str:
    from hakiri.extract.connectors.declared import source_table

    source = connector(settings, project, spec)
    answers = [call(partial(source.probe, source_table(spec, table))) for table in spec.tables]
    return "; ".join(dict.fromkeys(answers))


def _say_plan(settings: Settings, project: Project, spec: PipelineSpec) -> Seen:
    from hakiri.run.doctor_pipelines import look_at_plan
    from hakiri.run.plan import plan_pipelines

    with existing_catalog(settings, project) as catalog:
        planned = plan_pipelines(
            [spec],
            partial(connector, settings, project),
            catalog,
            project=project.spec.project.name,
            place=partial(place, project),
            transforms=partial(transforms, settings, project),
            watermark=watermarks(settings, project),
            logs=log_folder(),
        )
        return look_at_plan(planned)


def _say_last_run(settings: Settings, project: Project, spec: PipelineSpec) -> str:
    from hakiri.run.doctor_pipelines import look_at_last_run

    with existing_catalog(settings, project) as catalog:
        return look_at_last_run(catalog, spec.id)


def _say_java(engine: EngineSettings) -> str:
    java = find_java(engine.cache_dir)
    return f"Java {java.version} from {java.origin}"


def _say_jars(engine: EngineSettings) -> str:
    jars = provide_jars(engine, find_java(engine.cache_dir))
    return ", ".join(jar.name for jar in jars)


def log_folder() -> Path:
    """Return the folder for logs of failures outside of any project."""
    return default_cache_dir() / "logs"


def clock() -> Clock:
    """Return the machine's clock."""
    return SystemClock()
