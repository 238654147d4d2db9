"""Compact and vacuum landed tables."""
