"""Read and check the compiled transforms of a pipeline, once, before rows are read from its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.errors import ManifestError, Place
from hakiri.extract.errors import ReferenceUnfit, TransformUnfit
from hakiri.plan.facts import NO_TRANSFORM
from hakiri.spec.component import ComponentSpec
from hakiri.spec.errors import InvalidProject, UnreadableManifest, WrongValue
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.read import Definition, Project, shown_path
from hakiri.spec.transform import TransformPlan
from hakiri.spec.validation_errors import guess, place_of

if TYPE_CHECKING:
    from hakiri.extract.transform.reshape import Placed, Reshape

REFERENCE_BYTES = 64 << 20
"""The largest landed table that a transform may join with: every task holds it in memory."""

Stream = Callable[[str, int], bytes | None]
"""A landed table as an Arrow stream, by its landed name; None if it is larger than so many bytes."""


def read_transforms(project: Project, pipeline: str, *, shown_from: Path, stream: Stream) -> Mapping[str, Reshape]:
    """Read the transform of each table that has one. A repeat reads files and tables again.

    Raises ManifestError for a plan that may not run, QueryError and ReferenceUnfit for a table it joins with.
    """
    from hakiri.extract.transform.reshape import Reshape

    definition = project.pipelines[pipeline]
    placed = [_placed(project, definition, index, shown_from) for index in range(len(definition.spec.transforms))]
    found = {}
    for table in definition.spec.tables:
        plans = tuple(
            one
            for one, asked in zip(placed, definition.spec.transforms, strict=True)
            if not asked.tables or table.name.casefold() in map(str.casefold, asked.tables)
        )
        if plans:
            found[table.name] = Reshape(table.name, plans, _references(table.name, plans, stream))
    return found


def check_transforms(project: Project, *, shown_from: Path) -> None:
    """Check that every plan and every component of the project may run, without reading sources or tables.

    Raises InvalidProject with all that may not.
    """
    problems: list[ManifestError] = []
    for definition in project.pipelines.values():
        for index in range(len(definition.spec.transforms)):
            try:
                _placed(project, definition, index, shown_from)
            except InvalidProject as several:
                problems += several.problems
            except ManifestError as one:
                problems.append(one)
    if problems:
        raise InvalidProject(problems=tuple(problems))


def digest_of(reshape: Reshape | None) -> str:
    """Return the digest that is recorded with rows for their transform."""
    return reshape.digest if reshape else NO_TRANSFORM


def key_after(
    spec: PipelineSpec, table: TableSpec, key: tuple[str, ...], reshape: Reshape, columns: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the key of a table's rows after its transform: the source's, if the rows are still those of the source.

    Raises TransformUnfit where rows shall land by a key that does not come out.
    """
    load = spec.load_of(table)
    kept = key if reshape.keeps_rows_apart and _comes_out_as_it_was(reshape, key, columns) else ()
    for column in load.own_key or (kept if load.needs_key else ()):
        if column not in columns:
            raise _unfit(reshape, f"the key `{column}` is not among the columns that come out", guess(column, columns))
    if load.needs_key and not (load.own_key or kept):
        raise _unfit(reshape, "it makes other rows than the source has, so `load.upsert_key` has to name their key")
    return kept if set(kept) <= set(columns) else ()


def _comes_out_as_it_was(reshape: Reshape, key: tuple[str, ...], columns: tuple[str, ...]) -> bool:
    """False for a key whose values a transform changes: two of them may come to be one. A missing one is told apart."""
    return all(reshape.keeps(column) for column in key if column in columns)


def _unfit(reshape: Reshape, reason: str, likely: str | None = None) -> TransformUnfit:
    last = reshape.plans[-1]
    return TransformUnfit(
        place=last.place, table=reshape.table, step=f"the end of {last.file}", reason=reason, guess=likely
    )


def _placed(project: Project, definition: Definition, index: int, shown_from: Path) -> Placed:
    from hakiri.extract.transform.reshape import Placed

    written, asked = definition.written, definition.spec.transforms[index]
    path = project.root / asked.file
    if isinstance(asked, ComponentSpec):
        from hakiri.extract.transform.component import read_component

        place = place_of(written.document, written.at, ("transforms", index, "component"))
        return Placed(read_component(_read(path, shown_from), asked, place), asked.file, place)
    place = place_of(written.document, written.at, ("transforms", index, "plan"))
    return Placed(_plan(path, shown_from, definition.spec.id, place), asked.file, place)


def _read(path: Path, shown_from: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        reason = f"cannot be read: {failure.strerror or failure}"
        raise UnreadableManifest(place=Place(shown_path(path, shown_from)), reason=reason) from failure


def _plan(path: Path, shown_from: Path, pipeline: str, place: Place) -> TransformPlan:
    from hakiri.extract.transform.read import read_transform

    found = read_transform(_read(path, shown_from), path=path, shown=shown_path(path, shown_from))
    if found.pipeline_id != pipeline:
        reason = f"`{path.name}` was compiled for the pipeline `{found.pipeline_id}`"
        raise WrongValue(place=place, key="transforms", reason=reason)
    return found.plan


def _references(table: str, plans: tuple[Placed, ...], stream: Stream) -> dict[str, bytes]:
    found = {}
    read_plans = [one.plan for one in plans if isinstance(one.plan, TransformPlan)]
    for name in dict.fromkeys(name for plan in read_plans for name in plan.tables):
        read = stream(name, REFERENCE_BYTES)
        if read is None:
            reason = f"it is larger than {REFERENCE_BYTES >> 20} MiB, and every task would carry it"
            raise ReferenceUnfit(table=table, reference=name, reason=reason)
        found[name] = read
    return found
