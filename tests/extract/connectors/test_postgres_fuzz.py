"""Random values of every PostgreSQL type land equal to the server's own text of them, or are set aside."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any
from zlib import crc32

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from extract.connectors import value_fuzz as fuzz
from extract.connectors.value_fuzz import Make
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable

SAMPLE, MANY = 40, 4_000

FILL = "INSERT INTO stored (v) SELECT x::{kind} FROM unnest(%s::text[]) x WHERE pg_input_is_valid(x, {name})"

SCALARS: dict[str, Make] = {
    "bool": fuzz.one_of("t", "f", "yes", "off", "1"),
    "int2": fuzz.whole(16),
    "int4": fuzz.whole(32),
    "int8": fuzz.whole(64),
    "oid": fuzz.whole(33),
    "float4": fuzz.real,
    "float8": fuzz.real,
    "numeric": fuzz.number,
    "numeric(10,2)": fuzz.number,
    "numeric(38,0)": fuzz.number,
    "numeric(38,38)": fuzz.number,
    "numeric(38,10)": fuzz.number,
    "numeric(50,4)": fuzz.number,
    "numeric(3,-2)": fuzz.number,
    "numeric(2,5)": fuzz.number,
    "fuzzed.price": fuzz.number,
    "money": fuzz.small,
    "text": fuzz.text,
    "varchar(5)": fuzz.text,
    "char(5)": fuzz.text,
    '"char"': fuzz.text,
    "name": fuzz.text,
    "bytea": fuzz.hexadecimal,
    "date": fuzz.day,
    "timestamp": fuzz.moment,
    "timestamptz": fuzz.moment,
    "timestamp(0)": fuzz.moment,
    "time": fuzz.clock,
    "timetz": fuzz.moment,
    "interval": fuzz.interval,
    "uuid": fuzz.uuid,
    "json": fuzz.document,
    "jsonb": fuzz.document,
    "inet": fuzz.address,
    "cidr": fuzz.address,
    "bit(3)": fuzz.bits,
    "varbit": fuzz.bits,
    "point": fuzz.point,
    "tsvector": fuzz.text,
    "int4range": fuzz.span(fuzz.whole(32)),
    "numrange": fuzz.span(fuzz.number),
    "tstzrange": fuzz.span(fuzz.moment),
    "pg_lsn": lambda random: f"{random.randint(0, 1 << 32):X}/{random.randint(0, (1 << 32) - 1):X}",
    "xid8": fuzz.whole(64),
    "fuzzed.mood": fuzz.one_of("glad", "so so", "o'clock"),
    "fuzzed.pair": fuzz.record,
}
LISTS = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar(5)", "char(5)", "bytea", "date"),
    *("timestamptz", "interval", "uuid", "jsonb", "fuzzed.mood", "fuzzed.pair"),
)
TYPES = {**SCALARS, **{f"{name}[]": fuzz.listed(SCALARS[name]) for name in LISTS}}

# A type of the server, one that the manifest declares instead, and how the server itself would see it.
DECLARED = [
    ("numeric", "decimal(38,10)", "numeric"),
    ("numeric", "decimal(10,2)", "numeric"),
    ("numeric", "bigint", "numeric"),
    ("numeric", "double", "float8"),
    ("numeric", "string", "text"),
    ("numeric(38,10)", "decimal(12,3)", "numeric"),
    ("float8", "decimal(20,5)", "numeric"),
    ("float8", "bigint", "float8"),
    ("float8", "string", "float8"),
    ("int8", "int", "int8"),
    ("int8", "double", "numeric"),
    ("int8", "decimal(5,0)", "numeric"),
    ("int8", "string", "text"),
    ("int4", "bigint", "int8"),
    ("date", "timestamp_ntz", "timestamp"),
    ("timestamp", "date", "timestamp"),
    ("timestamp", "string", "timestamp"),
    ("bool", "string", "bool"),
    ("uuid", "string", "uuid"),
]


@pytest.fixture(scope="module")
def database(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA fuzzed")
        connection.execute("SET search_path TO fuzzed, public")
        connection.execute("SET TimeZone TO 'UTC'")
        connection.execute("CREATE TYPE mood AS ENUM ('glad', 'so so', 'o''clock')")
        connection.execute("CREATE TYPE pair AS (a int, b text)")
        connection.execute("CREATE DOMAIN price AS numeric(8,2)")
        yield connection
        connection.execute("DROP SCHEMA fuzzed CASCADE")


class Stored:
    """A table with a column of the type, of the values that the server takes."""

    def __init__(self, database: psycopg.Connection, kind: str, many: int) -> None:
        self.database, self.kind = database, kind
        make, random = TYPES[kind], Random(crc32(kind.encode()))  # noqa: S311 the same values in every run
        values = [make(random) for _ in range(many)]
        database.execute("DROP TABLE IF EXISTS told, stored")
        database.execute(f"CREATE TABLE stored (n serial PRIMARY KEY, v {kind})")
        database.execute(sql.SQL(FILL).format(kind=sql.SQL(kind), name=kind), [values])
        database.execute("INSERT INTO stored (v) VALUES (NULL)")

    def read(self, url: str, declared: str | None = None) -> tuple[dict[int, Any], set[int], pa.DataType]:
        """What landed, by number, and the numbers of the rows that were set aside, or of which less landed."""
        columns = (Column("n"), Column("v", declared)) if declared else ()
        source = open_connector("postgres", {"url": url})
        schema = source.describe(SourceTable("fuzzed.stored", columns=columns))
        batches = list(source.read(schema, WholeTable()))
        rows = [row for batch in batches if kind_of(batch) is BatchKind.ROWS for row in batch.to_pylist()]
        numbers = [number for (number,) in self.database.execute("SELECT n FROM stored")]  # as they lie in the table
        faults = [row for batch in batches if kind_of(batch) is not BatchKind.ROWS for row in batch.to_pylist()]
        aside = {numbers[row["position"] - 1] for row in faults}
        return {row["n"]: row["v"] for row in rows}, aside, schema.columns.field("v").type

    def differences(self, landed: dict[int, Any], compared: str) -> list[tuple[Any, ...]]:
        """Those that the server takes for another value than it holds."""
        self.database.execute("CREATE TABLE told (n int, told text)")
        with self.database.cursor() as cursor, cursor.copy("COPY told FROM STDIN") as copy:
            for number, value in landed.items():
                copy.write_row((number, shown(value)))
        found = self.database.execute(
            f"SELECT n, v::text, told FROM stored JOIN told USING (n) WHERE {compared} IS DISTINCT FROM true"
            " AND NOT (v IS NULL AND told IS NULL)"
        )
        return found.fetchall()


def shown(value: Any) -> str | None:
    """A landed value as the server reads it."""
    match value:
        case None:
            return None
        case bytes():
            return f"\\x{value.hex()}"
        case datetime() | date():
            return value.isoformat()
        case float() if math.isfinite(value):
            return str(Decimal(value))  # all of its digits
        case list():
            return json.dumps([shown(member) for member in value])
        case _:
            return str(value)


def same(kind: str, landed: pa.DataType) -> str:
    """That the server writes what landed as it writes what it holds."""
    if pa.types.is_list(landed):
        members = "SELECT x FROM json_array_elements_text(told::json) WITH ORDINALITY e (x, i) ORDER BY i"
        return f"(ARRAY({members})::{kind})::text = v::text"
    if kind == "fuzzed.pair":
        return "json_populate_record(NULL::fuzzed.pair, told::json)::text = v::text"
    return f"(told::{kind})::text = v::text"


def require_same(database: psycopg.Connection, url: str, kind: str, many: int) -> None:
    stored = Stored(database, kind, many)
    landed, aside, arrow = stored.read(url)
    assert len(landed) > many / 20, "most of what is made is a value"
    lost = [number for number in range(1, max(landed) + 1) if number not in landed and number not in aside]
    assert not lost
    plain = {number: value for number, value in landed.items() if number not in aside}
    assert stored.differences(plain, same(kind, arrow)) == []


def require_same_declared(
    database: psycopg.Connection, url: str, kind: str, declared: str, compared: str, many: int
) -> None:
    stored = Stored(database, kind, many)
    landed, aside, _ = stored.read(url, declared)
    (total,) = database.execute("SELECT max(n) FROM stored").fetchone() or (0,)
    assert not [number for number in range(1, total + 1) if number not in landed and number not in aside]
    plain = {number: value for number, value in landed.items() if number not in aside}
    others = stored.differences(plain, f"v::text::{compared} = told::{compared}")
    assert [one for one in others if not is_written_so(plain[one[0]], one[1])] == []


def is_written_so(landed: Any, text: str) -> bool:
    """Whether a float is the one that is written as this number."""
    return isinstance(landed, float) and Decimal(repr(landed)) == Decimal(text)


@pytest.mark.parametrize("kind", TYPES)
def test_a_value_lands_as_the_server_writes_it(database: psycopg.Connection, postgres_url: str, kind: str) -> None:
    require_same(database, postgres_url, kind, SAMPLE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", TYPES)
def test_many_values_land_as_the_server_writes_them(database: psycopg.Connection, postgres_url: str, kind: str) -> None:
    require_same(database, postgres_url, kind, MANY)


@pytest.mark.parametrize(("kind", "declared", "compared"), DECLARED)
def test_a_value_of_a_declared_type_is_the_servers_or_set_aside(
    database: psycopg.Connection, postgres_url: str, kind: str, declared: str, compared: str
) -> None:
    require_same_declared(database, postgres_url, kind, declared, compared, SAMPLE)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "declared", "compared"), DECLARED)
def test_many_values_of_a_declared_type_are_the_servers_or_set_aside(
    database: psycopg.Connection, postgres_url: str, kind: str, declared: str, compared: str
) -> None:
    require_same_declared(database, postgres_url, kind, declared, compared, MANY)
