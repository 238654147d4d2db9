"""What `databricks bundle` asks for: the jobs of the project beside the bundle, typed."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

from databricks.bundles.core import Bundle, Resources
from databricks.bundles.jobs import Job

from hakiri.bundle.job import PACKAGE, Compute, Document, pipeline_jobs
from hakiri.errors import HakiriError, render
from hakiri.run.manifest import choose_pipelines
from hakiri.settings import from_environment
from hakiri.spec.project import CatalogBackend
from hakiri.spec.read import Project
from hakiri.wiring import workplace

FOLDER = "manifests"


def load(bundle: Bundle, root: Path) -> Resources:
    """The jobs of the pipelines that the variable `pipelines` names, or of all. What is wrong is the CLI's to show."""
    resources = Resources()  # type: ignore[no-untyped-call]
    try:
        project = workplace(from_environment(project=root / FOLDER)).read()
        jobs = jobs_of(project, node_type=_said(bundle, "node_type"), names=_said(bundle, "pipelines"))
    except HakiriError as error:
        resources.add_diagnostic_error(render(error))
        return resources
    for name, job in jobs.items():
        resources.add_job(name, Job.from_dict(job))  # type: ignore[arg-type]
    return resources


def jobs_of(project: Project, *, node_type: str = "", names: str = "") -> dict[str, Document]:
    """The jobs of the named pipelines, parted by commas; of all where none is named.

    Raises PipelineNotFound and ScheduleUnfit.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    needs_postgres = project.spec.catalog.backend is CatalogBackend.POSTGRES
    compute = Compute(node_type=node_type, requirements=_extra("postgres") if needs_postgres else ())
    return pipeline_jobs(project.spec.project.name, choose_pipelines(project, chosen), compute)


def _said(bundle: Bundle, variable: str) -> str:
    return str(bundle.variables.get(variable) or "")


def _extra(name: str) -> tuple[str, ...]:
    """What an extra of the wheel asks for; a wheel that is named by its path can ask for none."""
    marked = re.compile(rf"(?P<asked>[^;]+);.*extra == ['\"]{name}['\"]")
    found = (marked.fullmatch(one) for one in requires(PACKAGE) or ())
    return tuple(one["asked"].strip() for one in found if one)
