"""What `databricks bundle` calls: one job for each pipeline of manifests/, and compute for all jobs."""

from pathlib import Path

from databricks.bundles.core import Bundle, Resources, job_mutator
from databricks.bundles.jobs import Job

from hakiri.bundle import resources

ROOT = Path(__file__).parents[1]


def load_resources() -> Resources:
    """The jobs of the project's pipelines."""
    return resources.load(ROOT)


@job_mutator
def equip(bundle: Bundle, job: Job) -> Job:
    """Any job of the bundle, on the compute that its variables name."""
    return resources.equip(bundle, job, ROOT)
