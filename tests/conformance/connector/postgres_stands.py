"""The rows of the suite in a PostgreSQL database."""

from __future__ import annotations

import pyarrow as pa

from conformance.connector.stands import CURSOR, ODD, TYPES, Place, Stand, rows
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.table import SourceTable

QUOTED_ODD = '"' + ODD.replace('"', '""') + '"'
BROKEN = "SELECT n AS id, 1 / (25000 - n) AS seen, repeat('x', 99) AS x FROM generate_series(1, 30000) n"


def postgres_stand(place: Place) -> Stand:
    return _stand(place, "keyed", "PRIMARY KEY (id)")


def postgres_keyless_stand(place: Place) -> Stand:
    return _stand(place, "keyless", "CHECK (TRUE)")


def postgres_composite_stand(place: Place) -> Stand:
    return _stand(place, "composite", f"UNIQUE (note, id, {QUOTED_ODD})")


def postgres_query_stand(place: Place) -> Stand:
    query = "SELECT * FROM asked.things -- all of it"
    return _stand(place, "asked", "CHECK (TRUE)", SourceTable("q", query=query, primary_key=("id",), cursor=CURSOR))


def _stand(place: Place, schema: str, constraint: str, table: SourceTable | None = None) -> Stand:
    from adbc_driver_postgresql import dbapi  # takes a while to import

    url = place.postgres_url()
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {schema}")
        columns = f"id int8, {QUOTED_ODD} text, seen int8, note text, amount float8, {constraint}"
        cursor.execute(f"CREATE TABLE {schema}.things ({columns})")
        insert = f"INSERT INTO {schema}.things VALUES ($1, $2, $3, $4, $5)"
        cursor.executemany(insert, pa.RecordBatch.from_pylist(rows(), TYPES))
        cursor.execute(f"CREATE INDEX ON {schema}.things (seen)")
    connector = open_connector("postgres", {"url": url, "piece_rows": 110, "batch_bytes": 8_192})
    return Stand(
        connector,
        table or SourceTable(f"{schema}.things", cursor=CURSOR),
        missing=SourceTable(f"{schema}.thing"),
        likely=f"{schema}.things",
        absent=open_connector("postgres", {"url": url.replace("host=", "port=1&host=")}),
        breaking=(connector, SourceTable("broken", query=BROKEN)),
    )
