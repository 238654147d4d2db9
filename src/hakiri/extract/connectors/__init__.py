"""Connectors: the port, the registry, and one module or package per source."""
