"""Hakiri: declarative ingestion for the lakehouse."""

from importlib.metadata import version

__version__ = version("hakiri")
