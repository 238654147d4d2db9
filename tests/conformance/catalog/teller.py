"""A process that works on a catalog of its own and writes down, after each answer, what it then knows.

`python -m conformance.catalog.teller sqlite FOLDER` leaves FOLDER/new/catalog and FOLDER/told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from conformance.catalog.plans import registered, seal_for, table_of
from hakiri.catalog.delta.properties import PROPERTIES
from hakiri.catalog.delta.rust import DeltaCatalog, RustExecutor
from hakiri.catalog.delta.upkeep import Upkeep
from hakiri.catalog.port import Catalog
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.model.ledger import EpochScope

PIPELINE = "p"


def open_catalog(backend: str, folder: Path) -> Catalog:
    """A catalog that tidies itself up all the time."""
    path = folder / "new" / "catalog"
    if backend == "sqlite":
        return SqliteCatalog(path)
    often = {**PROPERTIES, "delta.checkpointInterval": "3"}
    return DeltaCatalog(path, executor=RustExecutor(path, upkeep=Upkeep(compact_every=2), properties=often))


def work(catalog: Catalog) -> Iterator[None]:
    """One verb after the other."""
    registered(catalog, PIPELINE, 3)
    yield
    for number in range(1, 4):
        (lease,) = catalog.claim(PIPELINE, node="a", limit=1)
        yield
        catalog.complete(lease, seal_for(lease))
        yield
        landing = catalog.reserve_landing(table_of(PIPELINE), [lease.chunk.key], node="a", cursor=str(number))
        yield
        catalog.finish_landing(landing, version=number)
        yield
        catalog.advance_cursor(table_of(PIPELINE), str(number), landing=number)
        yield
        catalog.bump_epoch(EpochScope("project"))
        yield


def knowledge(catalog: Catalog) -> str:
    """All that was answered, in one line."""
    table = table_of(PIPELINE)
    return repr((catalog.chunks(table), catalog.landings(table), catalog.cursor(table), catalog.epochs()))


def main(backend: str, folder: Path) -> None:
    with closing(open_catalog(backend, folder)) as catalog, (folder / "told").open("wb", buffering=0) as told:
        for _ in work(catalog):
            told.write(knowledge(catalog).encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
