"""Load the project's jobs for `databricks bundle`, as typed resources."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import requires
from pathlib import Path

from databricks.bundles.core import Bundle, Resources
from databricks.bundles.jobs import Job

from hakiri.bundle.compute import Compute, Document
from hakiri.bundle.job import PACKAGE, pipeline_jobs
from hakiri.errors import HakiriError, render
from hakiri.settings import from_environment
from hakiri.spec.project import CatalogBackend
from hakiri.spec.read import Project
from hakiri.wiring import workplace

FOLDER = "manifests"


def load(root: Path) -> Resources:
    """Load the jobs of the project's pipelines, for serverless compute. Errors become diagnostics of the CLI."""
    resources = Resources()  # type: ignore[no-untyped-call]
    try:
        jobs = jobs_of(_project(root))
    except HakiriError as error:
        resources.add_diagnostic_error(render(error))
        return resources
    for name, job in jobs.items():
        resources.add_job(name, Job.from_dict(job))  # type: ignore[arg-type]
    return resources


def equip(bundle: Bundle, job: Job, root: Path) -> Job:
    """Return a job of the bundle on the compute that the bundle's variables name."""
    compute = compute_of(_project(root), node_type=str(bundle.variables.get("node_type") or ""))
    return Job.from_dict(compute.equip(dict(job.as_dict())))  # type: ignore[arg-type]


def jobs_of(project: Project) -> dict[str, Document]:
    """Return the jobs of the project's pipelines, for serverless compute. Raises ScheduleUnfit."""
    return pipeline_jobs(project.spec.project.name, [one.spec for one in project.pipelines.values()])


def compute_of(project: Project, *, node_type: str = "") -> Compute:
    """Return the compute of all jobs of the bundle."""
    needs_postgres = project.spec.catalog.backend is CatalogBackend.POSTGRES
    return Compute(node_type=node_type, requirements=_extra("postgres") if needs_postgres else ())


@cache
def _project(root: Path) -> Project:
    return workplace(from_environment(project=root / FOLDER)).read()


def _extra(name: str) -> tuple[str, ...]:
    """Return the requirements of an extra of the wheel, because a wheel named by its path cannot have extras."""
    marked = re.compile(rf"(?P<asked>[^;]+);.*extra == ['\"]{name}['\"]")
    found = (marked.fullmatch(one) for one in requires(PACKAGE) or ())
    return tuple(one["asked"].strip() for one in found if one)
