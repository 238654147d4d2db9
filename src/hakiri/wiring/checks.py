"""The checks of `hakiri doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from hakiri.engine.jars import provide_jars
from hakiri.engine.java import find_java
from hakiri.engine.probe import STEPS, probe, say_package
from hakiri.engine.session import choose_kind, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.engine.task import call_on_executor
from hakiri.errors import HakiriError
from hakiri.model.session import SessionKind
from hakiri.run.doctor import Look, Seen
from hakiri.run.doctor_project import local_folder, look_at_volume, looks_around, volume_of
from hakiri.settings import Settings
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.read import Project
from hakiri.wiring.parts import connector, engine_settings, existing_catalog
from hakiri.wiring.places import read_project
from hakiri.wiring.verbs import plan_specs


def looks(settings: Settings, read: Callable[[Settings], Project] = read_project) -> Iterator[Look]:
    """Yield every check of `hakiri doctor`, the quick ones first."""
    try:
        project = read(settings)
    except HakiriError as wrong:
        yield Look("manifests", _raising(wrong))
        project = None  # Spark can be checked without a project
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
    for table in spec.tables:  # each by itself, so that one error does not hide those of other tables
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
    """Yield the checks that run on executors, which may be on another network."""
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

    with existing_catalog(settings, project) as catalog:
        return look_at_plan(plan_specs(settings, project, [spec], catalog))


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
