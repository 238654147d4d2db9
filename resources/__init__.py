"""What `databricks bundle` calls: one job for each pipeline of manifests/."""

from pathlib import Path

from databricks.bundles.core import Bundle, Resources

from hakiri.bundle.resources import load


def load_resources(bundle: Bundle) -> Resources:
    """The jobs of the project's pipelines."""
    return load(bundle, Path(__file__).parents[1])
