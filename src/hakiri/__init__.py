"""Hakiri: declarative ingestion for the lakehouse."""
