"""A type means the same at PostgreSQL, in SQLite and in a manifest."""

from __future__ import annotations

import pytest

from hakiri.extract.connectors.postgres.types import ServerType, from_postgres
from hakiri.extract.connectors.sqlite.types import declared_type
from hakiri.model.types.text import parse_type

NUMERIC_10_2 = ((10 << 16) | 2) + 4


@pytest.mark.parametrize(
    ("postgres", "typmod", "sqlite", "manifest"),
    [
        ("bool", -1, "BOOLEAN", "boolean"),
        ("int8", -1, "BIGINT", "bigint"),
        ("float8", -1, "DOUBLE PRECISION", "double"),
        ("varchar", 14, "VARCHAR(10)", "string"),
        ("text", -1, "TEXT", "string"),
        ("bytea", -1, "BLOB", "binary"),
        ("date", -1, "DATE", "date"),
        ("timestamp", -1, "TIMESTAMP", "timestamp_ntz"),
        ("numeric", NUMERIC_10_2, "NUMERIC(10, 2)", "decimal(10,2)"),
    ],
)
def test_a_type_means_the_same_in_both_databases(postgres: str, typmod: int, sqlite: str, manifest: str) -> None:
    server = ServerType(postgres, is_system=True, kind="b", category="", cast=f"pg_catalog.{postgres}", typmod=typmod)
    assert from_postgres(server) == declared_type(sqlite) == parse_type(manifest)
