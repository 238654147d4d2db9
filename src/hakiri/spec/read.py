"""Read a folder with a hakiri.toml as one checked project, or report everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hakiri.errors import ManifestError, Place
from hakiri.model.installed import Connectors, Functions
from hakiri.model.view import View
from hakiri.spec.check import Where, bundle_root, check_pipeline, check_project, check_starts, check_texts
from hakiri.spec.check_hooks import Surroundings, check_hooks, refresh_hooks
from hakiri.spec.document import Document, parse_document, read_document
from hakiri.spec.errors import DuplicatePipeline, InvalidProject, ProjectNotFound, TableTaken, WrongValue
from hakiri.spec.lines import KeyPath
from hakiri.spec.names import name_in_schema
from hakiri.spec.pipeline import PipelineSpec, TransformSpec
from hakiri.spec.project import ProjectSpec
from hakiri.spec.validation_errors import faults, part_at, place_of
from hakiri.spec.view_files import view_files

PROJECT_FILE = "hakiri.toml"
PIPELINE_FOLDER = "pipelines"
TRANSFORM_SUFFIX = ".transforms.json"

Overlay = Mapping[Path, bytes | None]


@dataclass(frozen=True)
class Written:
    """A pipeline as it is written somewhere, valid or not."""

    document: Document
    at: KeyPath  # () when the file is the pipeline, ("pipeline", 3) when it is written inline

    @property
    def place(self) -> Place:
        return self.document.place(self.at)

    def where(self, path: KeyPath) -> Place:
        """Return the place of a key of the pipeline."""
        return place_of(self.document, self.at, path)

    @property
    def data(self) -> Any:
        """Return the pipeline as written, without the `$schema` line for JSON editors."""
        data = part_at(self.document.data, self.at)
        return {key: part for key, part in data.items() if key != "$schema"} if isinstance(data, dict) else data


@dataclass(frozen=True)
class Definition:
    """A valid pipeline, and where it is written."""

    spec: PipelineSpec
    written: Written


@dataclass(frozen=True)
class Project:
    """A whole project: every part checked, every pipeline once."""

    root: Path
    spec: ProjectSpec
    document: Document
    pipelines: Mapping[str, Definition]
    warnings: tuple[ManifestError, ...]
    views: tuple[View, ...] = ()
    """The project's views, each after those that it reads."""

    @property
    def refreshed(self) -> frozenset[str]:
        """Return the materialized views: a hook keeps the rows of each in a table of the same name."""
        named = {hook.view.casefold() for one in self.pipelines.values() for hook in refresh_hooks(one.spec)}
        return frozenset(view.name for view in self.views if view.name.casefold() in named)

    @property
    def landed_names(self) -> tuple[str, ...]:
        """Return the landed names of the project's tables."""
        return landed_names(self.pipelines)


def find_project(start: Path) -> Path:
    """Find the project's folder: this one, its `manifests/`, or the same for a folder above. Raises ProjectNotFound."""
    for folder in (start, *start.parents):
        for candidate in (folder, folder / "manifests"):
            if (candidate / PROJECT_FILE).is_file():
                return candidate
    raise ProjectNotFound(looked_in=(".", "manifests/", "every folder above"))


def read_project(
    root: Path,
    *,
    connectors: Connectors,
    shown_from: Path,
    overlay: Overlay | None = None,
    functions: Functions | None = None,
) -> Project:
    """Read the project in a folder. `overlay` has the files that would be written (or, as None, removed).

    Raises InvalidProject with every problem of every file, or ProjectNotFound.
    """
    reading = _Reading(
        root=root, connectors=connectors, shown_from=shown_from, overlay=overlay or {}, functions=functions or {}
    )
    return reading.run()


def pipeline_files(root: Path) -> list[Path]:
    """Return the files with one pipeline each, and those that look like it."""
    folder = root / PIPELINE_FOLDER
    found = folder.glob("*") if folder.is_dir() else ()
    return [path for path in found if not path.name.endswith(TRANSFORM_SUFFIX) and not path.name.startswith(".")]


def shown_path(path: Path, start: Path) -> str:
    """Write a path for messages: relative to the start if it is below it."""
    return str(path.relative_to(start) if path.is_relative_to(start) else path)


@dataclass
class _Reading:
    root: Path
    connectors: Connectors
    shown_from: Path
    overlay: Overlay
    functions: Functions
    problems: list[ManifestError] = field(default_factory=list)
    warnings: list[ManifestError] = field(default_factory=list)
    found: dict[str, list[Written]] = field(default_factory=dict)
    pipelines: dict[str, Definition] = field(default_factory=dict)
    has_bundle: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_bundle = bundle_root(self.root.absolute()) is not None

    def run(self) -> Project:
        document = self._document(self.root / PROJECT_FILE)
        spec = self._project(document) if document else None
        for path in self._pipeline_files():
            if one := self._document(path):
                self._pipeline(Written(one, ()))
        for pipeline, found in self.found.items():
            if len(found) > 1:
                places = tuple(one.place for one in found)
                self.problems.append(DuplicatePipeline(pipeline=pipeline, found=places))
        self.problems += check_landed_names(self.pipelines, in_schema=bool(spec and spec.context.tables))
        if spec:
            self._check_hooks(spec)
        views = self._views()
        if self.problems or not (spec and document):
            raise InvalidProject(problems=tuple(sorted(self.problems, key=_reading_order)))
        return Project(
            root=self.root,
            spec=spec,
            document=document,
            pipelines=dict(sorted(self.pipelines.items())),
            warnings=tuple(self.warnings),
            views=views,
        )

    def _views(self) -> tuple[View, ...]:
        if not view_files(self.root):
            return ()
        from hakiri.spec.view import ViewReading  # the parser takes a while to load, and few projects need it

        reading = ViewReading(self.root, shown=self._shown)
        # If a pipeline cannot be read, views of its tables are not checked.
        views = () if self.problems else reading.views(landed_names(self.pipelines), self._helper_tables())
        self.problems += reading.problems
        return views

    def _helper_tables(self) -> tuple[str, ...]:
        return tuple(name for one in self.pipelines.values() for name in one.spec.helper_tables)

    def _pipeline_files(self) -> Iterator[Path]:
        added = {path for path, content in self.overlay.items() if path.name != PROJECT_FILE and content is not None}
        for path in sorted({*pipeline_files(self.root), *added}):
            if path.suffix in {".toml", ".json"}:
                yield path
            elif path.suffix in {".yaml", ".yml"}:
                reason = "a pipeline is written in TOML or JSON; this file is not read"
                self.problems.append(WrongValue(place=Place(self._shown(path)), key="", reason=reason))

    def _document(self, path: Path) -> Document | None:
        shown = self._shown(path)
        try:
            if path not in self.overlay:
                return read_document(path, shown=shown)
            content = self.overlay[path]
            return None if content is None else parse_document(content, path=path, shown=shown)
        except ManifestError as problem:
            self.problems.append(problem)
            return None

    def _project(self, document: Document) -> ProjectSpec | None:
        inline = document.data.get("pipeline", [])
        is_list = isinstance(inline, list)
        sections = {key: part for key, part in document.data.items() if key != "pipeline" or not is_list}
        for index in range(len(inline) if is_list else 0):
            self._pipeline(Written(document, ("pipeline", index)))
        try:
            spec = ProjectSpec.model_validate(sections)
        except ValidationError as error:
            self.problems += faults(error, ProjectSpec, document, ())
            return None
        self._sort(check_project(spec, document.data, lambda path: place_of(document, (), path)))
        return spec

    def _pipeline(self, written: Written) -> None:
        document, at, data, where = written.document, written.at, written.data, written.where

        if isinstance(data, dict):
            if isinstance(name := data.get("id"), str):
                self.found.setdefault(name, []).append(written)
            self._sort(check_texts(data, where))
        try:
            spec = PipelineSpec.model_validate(data)
        except ValidationError as error:
            self.problems += faults(error, PipelineSpec, document, at)
            return
        self._sort(check_pipeline(spec, where, self.connectors))
        self._sort(check_starts(spec, where, has_bundle=self.has_bundle))
        self._check_plans(spec, where)
        self.pipelines[spec.id] = Definition(spec=spec, written=written)

    def _check_plans(self, spec: PipelineSpec, where: Where) -> None:
        for index, transform in enumerate(spec.transforms):
            inside = (self.root / transform.file).resolve().is_relative_to(self.root.resolve())
            if inside and (self.root / transform.file).is_file():
                continue
            kind = "plan" if isinstance(transform, TransformSpec) else "component"
            reason = f"there is no {kind} `{transform.file}` in the project"
            place = where(("transforms", index, kind))
            self.problems.append(WrongValue(place=place, key=f"transforms[{index}]", reason=reason))

    def _check_hooks(self, project: ProjectSpec) -> None:
        around = Surroundings(
            project=project,
            root=self.root,
            shown=self._shown,
            tables=landed_names(self.pipelines),
            beside=self._helper_tables(),
            functions=self.functions,
        )
        for one in self.pipelines.values():
            self._sort(check_hooks(one.spec, one.written.where, around))

    def _sort(self, found: Iterator[ManifestError]) -> None:
        for problem in found:
            (self.warnings if problem.severity == "warning" else self.problems).append(problem)

    def _shown(self, path: Path) -> str:
        return shown_path(path, self.shown_from)


def landed_names(pipelines: Mapping[str, Definition]) -> tuple[str, ...]:
    """Return the landed names of the tables of all pipelines."""
    return tuple(one.spec.landed_name(table) for one in pipelines.values() for table in one.spec.tables)


def check_landed_names(pipelines: Mapping[str, Definition], *, in_schema: bool) -> Iterator[ManifestError]:
    """Yield every pair of tables that would land in the same place; case is ignored.

    What is kept beside a table takes a name too: its quarantine, its tombstones, what it is built as first.
    """
    called = name_in_schema if in_schema else str
    taken: dict[str, tuple[str, str, Place]] = {}
    for pipeline, definition in sorted(pipelines.items()):
        # A table that one pipeline names twice is reported with that pipeline.
        spec = definition.spec
        names = {spec.landed_name(table).casefold(): index for index, table in enumerate(spec.tables)}
        for name, index in names.items():
            place = definition.written.where(("tables", index))
            suffixes = ("quarantine", *spec.load_of(spec.tables[index]).helper_suffixes)
            for one in (called(name), *(f"{called(name)}_{suffix}" for suffix in suffixes)):
                before, owner, found = taken.setdefault(one, (pipeline, name, place))
                if (before, owner) != (pipeline, name):
                    yield TableTaken(table=one, pipelines=(before, pipeline), found=(found, place))
                    break


def _reading_order(problem: ManifestError) -> tuple[str, int]:
    place = problem.places()[0]
    return place.file, place.line or 0
