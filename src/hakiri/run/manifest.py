"""Read, show and change manifests, for the command line and the Python API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.model.installed import Connectors, Functions
from hakiri.model.manifest_edit import ManifestEdit
from hakiri.spec.document import Format, parse_document
from hakiri.spec.edits.assign import assign, parse_path, parse_value
from hakiri.spec.edits.write import replace_file
from hakiri.spec.errors import EditRefused, InvalidProject, PipelineNotFound, ProjectNotFound
from hakiri.spec.load import LoadSpec
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.read import (
    PROJECT_FILE,
    Definition,
    Project,
    check_landed_names,
    find_project,
    read_project,
    shown_path,
)
from hakiri.spec.schema import schemas
from hakiri.spec.validation_errors import guess

if TYPE_CHECKING:
    from hakiri.spec.edits.edit import Editor

SCHEMA_FOLDER = Path(".hakiri/schema")


@dataclass(frozen=True)
class Workplace:
    """Where a command was called, and which connectors and functions are installed there."""

    cwd: Path
    project: Path | None
    connectors: Connectors
    functions: Functions = field(default_factory=dict)

    def root(self) -> Path:
        """Return the project's folder. Raises ProjectNotFound."""
        if self.project is None:
            return find_project(self.cwd)
        folder = (self.cwd / self.project).absolute()
        for candidate in (folder, folder / "manifests"):
            if (candidate / PROJECT_FILE).is_file():
                return candidate
        raise ProjectNotFound(looked_in=(str(self.project),))

    def has_project(self) -> bool:
        """Return whether there is a project here."""
        try:
            self.root()
        except ProjectNotFound:
            return False
        return True

    def read(self) -> Project:
        """Return the whole project, checked. Raises InvalidProject with everything that is wrong."""
        return read_project(self.root(), connectors=self.connectors, shown_from=self.cwd, functions=self.functions)

    def editor(self) -> Editor:
        from hakiri.spec.edits.edit import Editor  # only a change needs what keeps comments

        return Editor(root=self.root(), connectors=self.connectors, shown_from=self.cwd, functions=self.functions)


@dataclass(frozen=True)
class Summary:
    """One line of `hakiri pipeline list`."""

    id: str
    connector: str
    tables: tuple[str, ...]
    schedule: str | None
    mode: str
    file: str
    line: int | None


def summarize(project: Project) -> list[Summary]:
    """Return one line for each pipeline."""
    return [_summary(definition) for definition in project.pipelines.values()]


def find_pipeline(project: Project, name: str) -> Definition:
    """Return the pipeline with this id. Raises PipelineNotFound."""
    if name not in project.pipelines:
        known = tuple(project.pipelines)
        raise PipelineNotFound(pipeline=name, known=known, guess=guess(name, known))
    return project.pipelines[name]


def choose_pipelines(project: Project, names: Sequence[str]) -> list[PipelineSpec]:
    """Return the pipelines with these ids, each once and in this order; all of them if none is named.

    Raises PipelineNotFound.
    """
    return [find_pipeline(project, name).spec for name in dict.fromkeys(names or project.pipelines)]


def relocate(project: Project, *, path: str = "", tables: str = "", state: str = "") -> Project:
    """The project as a workspace has it: other places for its files, its tables and its catalog, where one is given.

    Raises InvalidProject where two tables would have one name there.
    """
    context, catalog = project.spec.context, project.spec.catalog
    moved = context.model_copy(update={"path": path or context.path, "tables": tables or context.tables})
    kept = catalog.model_copy(update={"path": None, "tables": state} if state else {})
    if problems := tuple(check_landed_names(project.pipelines, in_schema=bool(moved.tables))):
        raise InvalidProject(problems=problems)
    return replace(project, spec=project.spec.model_copy(update={"context": moved, "catalog": kept}))


def spell_out(definition: Definition) -> dict[str, Any]:
    """Return the pipeline with every default filled in. References stay references."""
    dumped: dict[str, Any] = definition.spec.model_dump(mode="json")
    for table in dumped["tables"]:
        if not table["columns"]:
            del table["columns"]  # all of them are read, and an empty list would be none
    return {("schema" if key == "schema_policy" else key): value for key, value in dumped.items()}


def as_toml(definition: Definition) -> str:
    """Return the pipeline as TOML, as it is written."""
    from hakiri.spec.edits.toml_text import render_table

    return render_table(definition.written.data)


def parse_pipeline(text: str, *, shown: str) -> dict[str, Any]:
    """Parse a pipeline in JSON. Raises UnreadableManifest with the line at fault."""
    document = parse_document(text.encode(), path=Path("pipeline.json"), shown=shown)
    return {key: value for key, value in document.data.items() if key != "$schema"}


def create_pipeline(place: Workplace, data: Mapping[str, Any], *, sets: Sequence[str], to: Format) -> ManifestEdit:
    """Add a pipeline, with `key=value` assignments made to its data first."""
    filled = json.loads(json.dumps(data))
    for path, value in _assignments(sets).items():
        try:
            assign(filled, path, value)
        except ValueError as wrong:
            raise EditRefused(reason=str(wrong)) from wrong
    return place.editor().create(filled, to)


def edit_pipeline(place: Workplace, name: str, *, sets: Sequence[str], unsets: Sequence[str]) -> ManifestEdit:
    """Make `key=value` assignments to a pipeline and take keys away from it."""
    return place.editor().edit(name, _assignments(sets), [_path(text) for text in unsets])


def convert_pipeline(place: Workplace, name: str, *, to: Format) -> ManifestEdit:
    """Write a pipeline in the other format."""
    return place.editor().convert(name, to)


def export_schemas(place: Workplace, folder: Path | None) -> list[str]:
    """Write the JSON Schemas into a folder, the project's own by default. A repeat writes the same files."""
    target = place.cwd / folder if folder else place.root() / SCHEMA_FOLDER
    written = []
    for name, schema in schemas().items():
        path = target / name
        content = (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()
        shown = shown_path(path, place.cwd)
        replace_file(path, content, expected=path.read_bytes() if path.exists() else None, shown=shown)
        written.append(shown)
    return written


def _summary(definition: Definition) -> Summary:
    spec, place = definition.spec, definition.written.place
    modes = {_mode(spec.load_of(table), table.primary_key) for table in spec.tables}
    return Summary(
        id=spec.id,
        connector=spec.source.connector,
        tables=tuple(table.name for table in spec.tables),
        schedule=str(spec.schedule) if spec.schedule else None,
        mode=", ".join(sorted(modes)),
        file=place.file,
        line=place.line,
    )


def _mode(load: LoadSpec, key: tuple[str, ...]) -> str:
    """Return the load mode as far as the manifest decides it: a source may declare a key of its own."""
    return load.for_key(key).mode.value if load.mode or load.own_key or key else "by key"


def _assignments(texts: Sequence[str]) -> dict[tuple[str | int, ...], Any]:
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            raise EditRefused(reason=f"`{text}` is no assignment", advice="write it as key=value")
        found[_path(key.strip())] = parse_value(value.strip())
    return found


def _path(text: str) -> tuple[str | int, ...]:
    try:
        return parse_path(text)
    except ValueError as wrong:
        raise EditRefused(reason=str(wrong)) from wrong
