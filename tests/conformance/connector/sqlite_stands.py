"""The rows of the suite in a SQLite file."""

from __future__ import annotations

import sqlite3

from conformance.connector.stands import CURSOR, ODD, Place, Stand, rows
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.table import Column, SourceTable

# Some rows in, an absolute value that no integer can hold.
BROKEN = "SELECT id, iif(id = 150, abs(-9223372036854775807 - 1), 0) AS seen FROM things"


def sqlite_stand(place: Place) -> Stand:
    return _stand(place, SourceTable("things", cursor=CURSOR), "PRIMARY KEY (id)", batch_rows=64)


def sqlite_keyless_stand(place: Place) -> Stand:
    return _stand(place, SourceTable("things", cursor=CURSOR), "CHECK (TRUE)", batch_rows=7)


def sqlite_query_stand(place: Place) -> Stand:
    table = SourceTable("stuff", query="SELECT * FROM things -- all of it", cursor=CURSOR)
    return _stand(place, table, "CHECK (TRUE)", batch_rows=1_000)


def _stand(place: Place, table: SourceTable, constraint: str, *, batch_rows: int) -> Stand:
    path = place.folder / "things.db"
    connection = sqlite3.connect(path)
    odd = ODD.replace('"', '""')
    connection.execute(f'CREATE TABLE things (id BIGINT, "{odd}" TEXT, seen INT, note TEXT, amount REAL, {constraint})')
    connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?)", [tuple(row.values()) for row in rows()])
    connection.commit()
    connection.close()
    connector = open_connector("sqlite", {"path": str(path), "batch_rows": batch_rows, "piece_rows": 40})
    impatient = open_connector("sqlite", {"path": str(path), "batch_rows": 10})
    return Stand(
        connector,
        table,
        missing=SourceTable("thing"),
        likely="things",
        absent=open_connector("sqlite", {"path": str(place.folder / "nothing.db")}),
        breaking=(impatient, SourceTable("broken", query=BROKEN, columns=(Column("id"), Column("seen", "bigint")))),
    )
