"""Brings the Delta tables of an earlier release to this release's version (docs/adr/0130)."""

from __future__ import annotations

import re
from typing import Protocol

from hakiri.catalog.errors import CatalogTooNew
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.store import Store
from hakiri.catalog.tables import CURSORS, TABLES

VERSION = "hakiri.schema"
"""The property with the version of a table. Releases that know only lower ones refuse the catalog."""
MIGRATED = "hakiri.migrated"
"""The property with the version of the rows, where a migration was begun. Lower than `VERSION` until it is complete."""

_TABLE = re.compile(r"\b(?:INTO|FROM) (\w+)")
_BY_NAME = {table.name: table for table in TABLES}


class Migrating(Protocol):
    """A catalog of which the properties can be read and set."""

    def found_version(self) -> int:
        """Return the version of the rows; this release's if there are no tables. Raises CatalogTooNew."""
        ...

    def set_versions(self, version: int, *, migrated: int) -> None:
        """Set the properties. Of several processes that do so at the same time, at least one succeeds.

        Raises CatalogUnavailable.
        """
        ...


def migrate(store: Store, catalog: Migrating) -> None:
    """Run the migrations that the catalog lacks. A repeat finishes what was cut off, and otherwise changes nothing.

    Older releases are refused from the first step on. Every statement gives the same rows if it runs again, and each
    of its commits is a compare-and-swap, so processes that migrate at the same time do no harm.
    """
    for number in range(catalog.found_version() + 1, SCHEMA_VERSION + 1):
        catalog.set_versions(number, migrated=number - 1)
        for statement in statements("delta", number):
            _run(store, statement)
        catalog.set_versions(number, migrated=number)


def version_of(properties: dict[str, str]) -> int:
    """Return the version of the rows of a catalog from its first table's properties. Raises CatalogTooNew."""
    version = int(properties[VERSION])
    require_known(version)
    return int(properties.get(MIGRATED, version))


def require_known(version: int) -> None:
    """Raise CatalogTooNew if a newer release has written this version."""
    if version > SCHEMA_VERSION:
        raise CatalogTooNew(found=version, known=SCHEMA_VERSION)


def _run(store: Store, statement: str) -> None:
    named = _TABLE.search(statement)
    if named is None:
        raise ValueError(f"no table in {statement}")
    table = _BY_NAME[named[1]]
    store.write(table, lambda session: session.rows(statement), reads=() if table is CURSORS else (CURSORS,))
