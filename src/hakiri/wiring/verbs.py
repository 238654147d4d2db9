"""Call the verbs of `run` with the parts of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from hakiri.engine.session import choose_kind, open_session
from hakiri.land.target import Target, quarantine_of
from hakiri.model.query_result import QueryResult
from hakiri.model.session import SessionKind
from hakiri.model.view import View
from hakiri.run.manifest import choose_pipelines, find_pipeline
from hakiri.settings import Settings
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.read import Project
from hakiri.wiring.parts import connector, engine_settings, existing_catalog, transforms, view_shelf, watermarks
from hakiri.wiring.places import clock, journals, log_folder, paths_of, place, target, workplace

if TYPE_CHECKING:
    from hakiri.catalog.port import Catalog
    from hakiri.plan.views import ViewChange, ViewFacts
    from hakiri.run.gc import Collected
    from hakiri.run.plan import Planned
    from hakiri.run.status import Status
    from hakiri.run.trial import Trial
    from hakiri.run.upkeep import Maintained


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


def plan_project(
    settings: Settings, project: Project, names: Sequence[str] = (), *, is_full_refresh: bool = False
) -> Planned:
    """Plan these pipelines, or all, and the project's views. Changes nothing and starts no JVM.

    The result has the errors of pipelines that cannot be planned. Raises PipelineNotFound.
    """
    from hakiri.run.views import change_views, gather_views

    specs = choose_pipelines(project, names)
    with existing_catalog(settings, project) as catalog:
        views = gather_views(project, catalog)
        changes = change_views(views, view_shelf(settings, project))
        return plan_specs(
            settings, project, specs, catalog, is_full_refresh=is_full_refresh, views=views, changes=changes
        )


def plan_specs(
    settings: Settings,
    project: Project,
    specs: Sequence[PipelineSpec],
    catalog: Catalog | None,
    *,
    is_full_refresh: bool = False,
    views: ViewFacts | None = None,
    changes: tuple[ViewChange, ...] = (),
) -> Planned:
    """Plan these pipelines with an open catalog, as `plan_project` does."""
    from hakiri.run.plan import plan_pipelines

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
        changes=changes,
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


def remove_leftovers(
    settings: Settings, project: Project, *, retention: timedelta, is_rehearsal: bool = False
) -> Collected:
    """Remove files of unsuccessful attempts; nothing without a catalog, which knows the successful ones.

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
    # A workspace maintains its materialized views itself.
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


def broken_rules(settings: Settings, project: Project) -> dict[str, dict[str, int]]:
    """Count the rows that each rule has set aside, by quarantine table; with Spark only for tables of a catalog.

    Tables that have none yet are left out. Raises TableUnreadable.
    """
    from hakiri.land.quarantine import count_rules  # loads what reads Delta tables

    pairs = [(one.spec, table) for one in project.pipelines.values() for table in one.spec.tables]
    kept = {
        spec.quarantine_name(table): quarantine_of((where := place(project, spec, table)).target, where.quarantine)
        for spec, table in pairs
    }
    spark = partial(open_session, engine_settings(settings, project))
    found = {name: count_rules(name, target, spark) for name, target in kept.items()}
    return {name: rules for name, rules in found.items() if rules}


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
    if (paths := paths_of(tables)) is not None:
        from hakiri.land.query.rust import ask as ask_delta

        return ask_delta(sql, paths, views)
    from hakiri.land.query.spark import ask as ask_spark

    engine = engine_settings(settings, project)
    return ask_spark(
        sql, tables, views, target=partial(target, project), spark=lambda: open_session(engine), most_rows=most_rows
    )
