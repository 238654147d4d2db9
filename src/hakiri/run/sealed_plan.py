"""Check a sealed plan as a whole before anything of it runs, so that all of it is carried out or nothing."""

from __future__ import annotations

from hakiri.plan.fingerprint import Fingerprint, check_unmoved, fingerprint, fingerprint_views
from hakiri.run.facts import gather_facts
from hakiri.run.manifest import choose_pipelines
from hakiri.run.services import Services
from hakiri.run.staged_manifests import landed_transforms
from hakiri.run.views import gather_views
from hakiri.run.watermarks import watermarks_of
from hakiri.spec.read import Project


def require_facts_unchanged(
    services: Services, project: Project, sealed: Fingerprint, *, is_full_refresh: bool
) -> None:
    """Check that every fact of the plan is as it was. Asks sources, tables and catalog; changes nothing.

    Raises PlanMoved with every part that has moved, PipelineNotFound, and what gathering the facts raises.
    """
    watermark = watermarks_of(services.place, services.spark)
    facts = [
        gather_facts(
            spec,
            services.connector(spec),
            services.catalog,
            reshapes=services.transforms(spec),
            is_full_refresh=is_full_refresh,
            surveys_all=True,
            watermark=watermark,
            landed_transforms=landed_transforms(services.place),
        ).facts
        for spec in choose_pipelines(project, sealed.pipelines)
    ]
    views = fingerprint_views(gather_views(project, services.catalog))
    check_unmoved(sealed, Fingerprint((*fingerprint(facts).parts, *views.parts)))
