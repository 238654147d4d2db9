"""A PostgreSQL table is read in parallel chunks of one moment, streams, and arrives exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import psycopg
import pytest

from flow.stand import Rows, Stand
from hakiri.model.ledger import Phase
from hakiri.run.errors import TableBare
from hakiri.run.events import ChunkClaimed

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "sales"
source = { connector = "postgres", config = { url = "${secret:SALES_DSN}", piece_rows = 15000 } }
secrets = ["SALES_DSN"]
tables = [{ name = "SCHEMA.orders", primary_key = ["id"] }]
incremental = { column = "changed_at", lag = "5m" }
load = { mode = "upsert" }
backfill = { parallelism = 4 }
"""
CREATE = """
CREATE TABLE orders (
    id bigint PRIMARY KEY, amount numeric(12, 2) NOT NULL, note text, changed_at timestamptz NOT NULL
)
"""
FILL = """
INSERT INTO orders
SELECT id, id * 1.07, CASE WHEN id % 3 = 0 THEN NULL ELSE 'note ' || id END,
       timestamptz '2026-01-01' + id * interval '1 second'
FROM generate_series(1, 60000) AS id
"""
CHANGES = [
    "UPDATE orders SET amount = amount + 1, changed_at = '2026-02-01 00:00:00+00' WHERE id % 5000 = 0",
    "INSERT INTO orders VALUES (60001, 0.01, 'tied', '2026-01-01 16:40:00+00')",
    "INSERT INTO orders VALUES (60002, 99999999.99, 'later', '2026-02-01 00:00:00+00')",
]
TIES = "INSERT INTO orders VALUES (60003, 1, 'tied with the top', '2026-02-01 00:00:00+00')"


@pytest.fixture
def sales(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection whose schema is the test's own."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = f"sales_{uuid4().hex[:8]}"
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"SET search_path TO {name}")
        connection.execute("SET timezone TO 'UTC'")
        yield connection
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def at_source(sales: psycopg.Connection) -> Rows:
    return Counter(sales.execute("SELECT id, amount, note, changed_at FROM orders").fetchall())


def test_a_table_backfills_in_parallel_streams_and_follows_exactly(
    make_stand: MakeStand, sales: psycopg.Connection, postgres_url: str
) -> None:
    (schema,) = sales.execute("SELECT current_schema()").fetchone() or ("",)
    stand = make_stand({"pipelines/sales.toml": PIPELINE.replace("SCHEMA", schema)})
    stand.environment["SALES_DSN"] = postgres_url
    sales.execute(CREATE)
    sales.execute(FILL)
    sales.execute("ANALYZE orders")
    table = f"{schema}.orders"

    first = stand.apply()["sales"]
    assert (first.errors, first.rows) == ((), 60_000)
    claimed = [event for event in stand.events if isinstance(event.body, ChunkClaimed)]
    assert len(claimed) > 1
    assert stand.landed(table) == at_source(sales)
    assert [one.phase for one in stand.ask(lambda catalog: catalog.pipelines())] == [Phase.STREAMING]

    for statement in CHANGES:
        sales.execute(statement)
    assert stand.apply()["sales"].rows == 14
    assert stand.landed(table) == at_source(sales)

    version = stand.version(table)
    assert stand.apply()["sales"].did_nothing
    assert stand.version(table) == version

    sales.execute(TIES)
    assert stand.apply()["sales"].rows == 1
    assert stand.landed(table) == at_source(sales)
    told = "\n".join(path.read_text() for path in (stand.root / ".hakiri/context/journal").iterdir())
    assert postgres_url not in told


def test_a_table_without_columns_is_refused_before_anything_is_read(
    make_stand: MakeStand, sales: psycopg.Connection, postgres_url: str
) -> None:
    (schema,) = sales.execute("SELECT current_schema()").fetchone() or ("",)
    lines = PIPELINE.replace("SCHEMA", schema).splitlines()[:3]
    stand = make_stand({"pipelines/sales.toml": "\n".join([*lines, f'tables = ["{schema}.bare"]'])})
    stand.environment["SALES_DSN"] = postgres_url
    sales.execute("CREATE TABLE bare ()")
    sales.execute("INSERT INTO bare DEFAULT VALUES")
    for _ in range(2):
        (error,) = stand.apply()["sales"].errors
        assert isinstance(error, TableBare)
    assert stand.ask(lambda catalog: catalog.pipelines()) == ()
