"""Numbered migrations of the catalog, one file of SQL for each kind of store: `<number>.<store>.sql`.

A released file is never changed; every change of a catalog is a migration with the next number. Statements are
separated by blank lines. SQLite and PostgreSQL run all statements of a migration in one transaction. The statements of
`<number>.delta.sql` run on the replica of a Delta catalog, each as one commit (`catalog.delta.migrate`).
"""

from __future__ import annotations

from importlib.resources import files

SCHEMA_VERSION = 2
"""The number of the last migration. A store with a higher number was written by a newer release and is refused."""


def statements(store: str, number: int) -> tuple[str, ...]:
    """Return the statements of one migration, in order."""
    text = files(__name__).joinpath(f"{number:04d}.{store}.sql").read_text(encoding="utf-8")
    return tuple(paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip())
