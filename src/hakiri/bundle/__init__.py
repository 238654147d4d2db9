"""Manifests become the jobs of a Databricks asset bundle, and what the bundle names is there."""
