"""Numbered migrations of the SQLite and PostgreSQL catalogs, one file of SQL each: `<number>.<store>.sql`.

A file that was released is never changed: whatever changes in a catalog is a migration with the next number.
Statements are separated by blank lines.
"""

from __future__ import annotations

from importlib.resources import files

SCHEMA_VERSION = 1
"""The number of the last migration. A store with a higher number was written by a newer release and is refused."""


def statements(store: str, number: int) -> tuple[str, ...]:
    """Return the statements of one migration, in order."""
    text = files(__name__).joinpath(f"{number:04d}.{store}.sql").read_text(encoding="utf-8")
    return tuple(paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip())
