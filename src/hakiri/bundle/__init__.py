"""Turn manifests into the jobs of a Databricks asset bundle, and check the bundle before it is deployed."""
