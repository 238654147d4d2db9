"""Where a project keeps its tables, files, journals and logs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hakiri.engine.databricks import is_runtime
from hakiri.engine.settings import default_cache_dir
from hakiri.extract.connectors import registry
from hakiri.land.errors import UnknownTable
from hakiri.land.hooks.registry import function_names, functions
from hakiri.land.target import NamedTarget, PathTarget, Target, sql_name
from hakiri.model.clock import Clock, SystemClock
from hakiri.run.manifest import Workplace, relocate
from hakiri.run.services import TablePlace
from hakiri.settings import Settings
from hakiri.spec.names import name_in_schema
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.read import Project
from hakiri.spec.validation_errors import guess
from hakiri.stage.local import LocalFiles
from hakiri.stage.port import Files


def workplace(settings: Settings, *, imports_functions: bool = False) -> Workplace:
    """Return the folder of the command and the project, with the installed connectors.

    The arguments of hook functions are checked only where their modules may be imported: an import may hang, and a run
    leaves it to a process that can be stopped.
    """
    known = functions() if imports_functions else function_names()
    return Workplace(cwd=settings.cwd, project=settings.project, connectors=registry.facts(), functions=known)


def read_project(settings: Settings, *, context: str = "", tables: str = "", state: str = "") -> Project:
    """Read the project, with its files, tables and catalog at the locations that a job or a notebook gives.

    Raises ProjectNotFound and InvalidProject.
    """
    return relocate(workplace(settings).read(), path=context, tables=tables, state=state)


def place(project: Project, spec: PipelineSpec, table: TableSpec) -> TablePlace:
    """Return where a table lands: a folder of its landed name below `tables/`, or a table of the context's schema.

    Staged files lie in that folder either way.
    """
    quarantine = spec.quality.quarantine.table if spec.quality.quarantine else None
    root = f"{tables_root(project)}/{spec.landed_name(table)}"
    return TablePlace(
        target=target(project, spec.landed_name(table)),
        root=root,
        files=files_at(root),
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


def paths_of(tables: Mapping[str, Target]) -> dict[str, str] | None:
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


def files_at(root: str) -> Files:
    if "://" not in root:
        return LocalFiles(Path(root))
    # Loaded only for an object store: most commands start in half the time without it.
    from pyarrow.fs import FileSystem

    from hakiri.stage.object_store import ObjectStoreFiles

    store, folder = FileSystem.from_uri(root)
    return ObjectStoreFiles(store, folder)


def log_folder() -> Path:
    """Return the folder for logs of failures outside of any project."""
    return default_cache_dir() / "logs"


def clock() -> Clock:
    """Return the machine's clock."""
    return SystemClock()
