"""Lineage is appended to, and nothing else ever happens to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from conformance.catalog.subjects import Subject
from hakiri.catalog.errors import LineageTampered
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock
from hakiri.model.ledger import LineageEdge

Handles = Callable[[Subject, Clock | None], Catalog]


def edges(pipeline: str) -> list[LineageEdge]:
    return [LineageEdge(f"run of {pipeline}", f"record-{n}", "earlier run", "rewind", "RT-481") for n in range(2)]


def test_edges_are_appended_once(catalog: Catalog, other: Catalog, pipeline: str) -> None:
    first, second = edges(pipeline)
    assert catalog.append_lineage([first]) == 1
    assert other.append_lineage([first, second]) == 1
    assert other.append_lineage([]) == 0
    assert catalog.lineage(first.run) == (first, second)


@pytest.mark.commits
def test_the_store_refuses_every_other_change(subject: Subject, catalog: Catalog, pipeline: str) -> None:
    catalog.append_lineage(edges(pipeline))
    for attempt in subject.raw.forbidden().values():
        with suppress(Exception):  # refused or ignored, each store in its own words
            attempt()
        assert catalog.lineage(f"run of {pipeline}") == tuple(edges(pipeline))


@pytest.mark.parametrize("back_door", ["restore", pytest.param("property", marks=pytest.mark.commits)])
def test_the_catalog_notices_what_the_store_lets_through(
    fresh: Subject, handles: Handles, pipeline: str, back_door: str
) -> None:
    """Each on a store of its own: what was done by one would be noticed after the other as well."""
    catalog = handles(fresh, None)
    for edge in edges(pipeline):
        catalog.append_lineage([edge])
    back_doors = fresh.raw.back_doors()
    if not back_doors:
        assert catalog.append_lineage(edges("another")) == 2
        return
    back_doors[back_door]()
    with pytest.raises(LineageTampered):
        catalog.append_lineage(edges("another"))
