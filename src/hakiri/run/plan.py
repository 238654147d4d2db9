"""Plan pipelines without a JVM and without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.extract.connectors.port import Connector
from hakiri.model.chunk import Chunk
from hakiri.model.errors import NotWritable
from hakiri.plan.document import to_document
from hakiri.plan.errors import PlanUnreadable
from hakiri.plan.explain import describe_reading, explain
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.fingerprint import Fingerprint, open_sealed, seal_plan
from hakiri.plan.make import make_plan
from hakiri.plan.plan import Plan
from hakiri.plan.views import ViewChange, ViewFacts
from hakiri.run.check_tables import require_tables_intact
from hakiri.run.exit import as_bug
from hakiri.run.facts import Watermarks, gather_facts
from hakiri.run.owner import require_owner
from hakiri.run.services import TablePlace
from hakiri.run.staged_manifests import landed_transforms
from hakiri.run.watermarks import watermarks_of
from hakiri.spec.pipeline import PipelineSpec, TableSpec

if TYPE_CHECKING:
    from hakiri.extract.transform.reshape import Reshape


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the facts it rests on, and the pipelines that could not be planned."""

    plan: Plan
    facts: tuple[PipelineFacts, ...]
    errors: tuple[tuple[str, HakiriError], ...] = ()
    views: ViewFacts | None = None


def plan_pipelines(
    specs: Sequence[PipelineSpec],
    connector: Callable[[PipelineSpec], Connector],
    catalog: Catalog | None,
    *,
    project: str,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    transforms: Callable[[PipelineSpec], Mapping[str, Reshape]],
    watermark: Watermarks | None = None,
    is_full_refresh: bool = False,
    views: ViewFacts | None = None,
    changes: tuple[ViewChange, ...] = (),
    logs: Path | None = None,
) -> Planned:
    """Plan these pipelines. An error of one is kept in the result and does not stop the others.

    `catalog` is None where there is none yet. `watermark` asks how far a table has come, where that takes more than
    reading it here. `views` are what the `changes` of views rest on. The same facts give the same plan (G1).
    """
    facts, errors = [], []
    for spec in specs:
        try:
            require_owner(catalog, project, spec, place)
            if catalog is not None and not is_full_refresh:
                require_tables_intact(catalog, spec, place)
            source = connector(spec)
            reshapes = transforms(spec)
            found = gather_facts(
                spec,
                source,
                catalog,
                reshapes=reshapes,
                is_full_refresh=is_full_refresh,
                surveys_all=True,
                watermark=watermark or watermarks_of(place),
                landed_transforms=landed_transforms(place),
            ).facts
            make_plan([found])
        except HakiriError as error:
            errors.append((spec.id, error))
        except Exception as unforeseen:  # noqa: BLE001 a bug that one pipeline meets is that pipeline's error
            errors.append((spec.id, as_bug(unforeseen, logs)))
        else:
            facts.append(found)
    plan = replace(make_plan(facts), views=changes)
    return Planned(plan, tuple(facts), tuple(errors), views)


def show_lines(planned: Planned) -> list[str]:
    """Return the plan as lines for a person; none if nothing could be planned."""
    has_plan = planned.facts or planned.plan.views or not planned.errors
    return explain(planned.plan) if has_plan else []


def show_reading(chunk: Chunk) -> str:
    """Say which part of the source a chunk reads."""
    return describe_reading(chunk)


def show_document(planned: Planned) -> dict[str, Any]:
    """Return the plan as JSON data (docs/plan.md)."""
    return to_document(planned.plan)


def write_sealed(planned: Planned, path: Path) -> None:
    """Write the plan to a file that `apply` takes back. It holds no secret and no row. Raises NotWritable."""
    try:
        path.write_text(seal_plan(planned.plan, planned.facts, planned.views), encoding="utf-8")
    except OSError as cause:
        raise NotWritable(folder=str(path.parent), reason=cause.strerror or str(cause)) from cause


def read_sealed(path: Path) -> Fingerprint:
    """Read the fingerprint of a sealed plan's facts. Raises PlanUnreadable."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise PlanUnreadable(reason=f"{path.name} cannot be read") from cause
    return open_sealed(text)
