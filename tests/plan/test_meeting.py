"""The plan meets a real catalog and a real source: what it names they keep, and what they say it reads."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hakiri.catalog.errors import PlanChanged
from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.errors import Recovery
from hakiri.extract.connectors.sqlite import SqliteConfig
from hakiri.extract.connectors.sqlite.connector import SqliteConnector
from hakiri.model.chunk import Seal, TableKey
from hakiri.model.ledger import LandingStatus, Pipeline
from hakiri.model.source import CursorKind
from hakiri.model.span import WholeTable, to_json
from hakiri.model.table import SourceTable
from hakiri.model.types.arrow import from_fields
from hakiri.plan.facts import ColumnFact, PipelineFacts
from hakiri.plan.make import make_plan
from hakiri.plan.read_from import floor_of
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import cursor_after
from plan.world import facts_of, rows_of, spec_of, survey_of

TABLE = TableKey("shop", "orders")
SHOP = Path(__file__).parents[2] / "fixtures" / "shop" / "shop.sqlite"
SOURCE = SourceTable("orders", cursor="updated_at")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite")
    catalog.register(Pipeline("shop"))
    yield catalog
    catalog.close()


def test_of_two_planners_that_saw_different_tops_one_plans(catalog: SqliteCatalog) -> None:
    first, second = (make_plan([facts_of(survey=survey_of(rows_of(values)))]) for values in ([1, 2], [1, 2, 3]))
    assert catalog.add_chunks(first.new_chunks) == 1
    assert catalog.add_chunks(first.new_chunks) == 0
    with pytest.raises(PlanChanged) as caught:
        catalog.add_chunks(second.new_chunks)
    assert caught.value.recovery is Recovery.YIELD
    after = make_plan([facts_of(survey=survey_of(rows_of([1, 2, 3])), known=catalog.chunks(TABLE))])
    assert (after.new_chunks, after.pipelines[0].tables[0].counts.pending) == ((), 1)


def gather(catalog: SqliteCatalog, connector: SqliteConnector) -> PipelineFacts:
    """What a driver does before it plans."""
    schema = connector.describe(SOURCE)
    landings = [one for one in catalog.landings(TABLE) if one.status is LandingStatus.LANDED]
    facts = facts_of(
        spec_of(incremental="updated_at"),
        hint=connector.hint(),
        columns=tuple(ColumnFact(one.name, one.type) for one in from_fields(schema.columns).fields),
        primary_key=schema.primary_key,
        cursor=catalog.cursor(TABLE),
        known=catalog.chunks(TABLE),
        landed=frozenset(key for landing in landings for key in landing.chunks),
    )
    survey = connector.survey(schema, since=floor_of(facts, facts.tables[0]))  # type: ignore[arg-type]
    return replace(facts, tables=(replace(facts.tables[0], survey=survey),))


def carry_out(catalog: SqliteCatalog, connector: SqliteConnector) -> list[int]:
    """Plan, read and land one round; the ids that were read."""
    catalog.add_chunks(make_plan([gather(catalog, connector)]).new_chunks)
    schema, ids = connector.describe(SOURCE), []
    while leases := catalog.claim("shop", node="n", limit=9):
        for lease in leases:
            reading = from_json(lease.chunk.predicate)
            batches = list(connector.read(schema, reading.span, since=reading.since))
            ids += [number for batch in batches for number in batch["id"].to_pylist()]
            catalog.complete(lease, Seal("p", sum(batch.num_rows for batch in batches), 1, "f"))
    staged = [state.chunk.key for state in catalog.staged(TABLE)]
    current = catalog.cursor(TABLE)
    history = gather(catalog, connector).tables[0].history.after_landing(staged)
    cursor = cursor_after(CursorKind.MONOTONIC, history, current.value if current else "")
    landing = catalog.reserve_landing(TABLE, staged, node="n", cursor=cursor)
    catalog.finish_landing(landing, version=landing.number)
    catalog.advance_cursor(TABLE, cursor, landing=landing.number)
    return sorted(ids)


def test_a_table_is_read_whole_then_its_overlap_then_what_is_tied(catalog: SqliteCatalog, tmp_path: Path) -> None:
    shop = tmp_path / "shop.sqlite"
    shutil.copy(SHOP, shop)
    source = sqlite3.connect(shop)
    connector = SqliteConnector(SqliteConfig(path=str(shop), piece_rows=7))
    every = [number for (number,) in source.execute("SELECT id FROM orders ORDER BY id")]
    assert carry_out(catalog, connector) == every
    (top,) = source.execute("SELECT max(updated_at) FROM orders").fetchone()
    tied = [number for (number,) in source.execute("SELECT id FROM orders WHERE updated_at = ?", [top])]
    assert make_plan([gather(catalog, connector)]).pipelines[0].tables[0].is_overlap_only
    assert carry_out(catalog, connector) == tied
    with source:
        source.execute(
            "INSERT INTO orders SELECT 9999, customer_id, status, amount, note, ? FROM orders LIMIT 1", [top]
        )
    assert carry_out(catalog, connector) == [*tied, 9999]
    source.close()


@pytest.mark.parametrize("column", ['"id"', "7", "[]", '["id"]', '["id", "bigint", "x"]', '["id", 7]', "{}"])
def test_a_predicate_with_an_odd_column_is_no_reading(column: str) -> None:
    text = f'{{"span": {to_json(WholeTable())}, "since": null, "reach": null, "column": {column}}}'
    with pytest.raises(ValueError, match="not a column of a cursor"):
        from_json(text)
