"""The mapping table of docs/connectors/postgres.md, value by value, against a real PostgreSQL."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from hakiri.extract.connectors.postgres.types import Reading, ServerType, decimal_type, mapped
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.model import types
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable

TYPES = (
    "CREATE TYPE mood AS ENUM ('glad', 'so so')",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE DOMAIN price AS numeric(8,2) CHECK (VALUE > 0)",
    "CREATE DOMAIN dear AS price",
    "CREATE DOMAIN moods AS mood[]",
)

# The column's type, the value as SQL, the Arrow type it lands in, and the value there.
CASES: list[tuple[str, str, str, Any]] = [
    ("bool", "true", "bool", True),
    ("int2", "'-32768'", "int16", -32768),
    ("int4", "2147483647", "int32", 2147483647),
    ("int8", "'-9223372036854775808'", "int64", -(2**63)),
    ("oid", "4294967295", "int64", 4294967295),
    ("float4", "'1.5'", "float", 1.5),
    ("float8", "'-Infinity'", "double", -math.inf),
    ("numeric(10,2)", "'-12345678.90'", "decimal128(10, 2)", Decimal("-12345678.90")),
    ("numeric(38,10)", "'1234567890123456789012345678.0123456789'", "decimal128(38, 10)",
     Decimal("1234567890123456789012345678.0123456789")),
    ("numeric(5)", "12345", "decimal128(5, 0)", Decimal(12345)),
    ("numeric(2,-3)", "99000", "decimal128(5, 0)", Decimal(99000)),
    ("numeric(3,5)", "0.00999", "decimal128(5, 5)", Decimal("0.00999")),
    ("numeric", "0.10000000000000000000000000000000000000000001", "string",
     "0.10000000000000000000000000000000000000000001"),
    ("numeric", "'NaN'", "string", "NaN"),
    ("numeric", "'-Infinity'", "string", "-Infinity"),
    ("numeric(50,2)", "1.5", "string", "1.50"),
    ("price", "12.5", "decimal128(8, 2)", Decimal("12.50")),
    ("dear", "12.5", "decimal128(8, 2)", Decimal("12.50")),
    ("money", "'-1234.56'", "string", "-1234.56"),
    ("text", "'\u00e9\u4e2d\U0001f600'", "string", "\u00e9\u4e2d\U0001f600"),
    ("text", "''", "string", ""),
    ("varchar(3)", "'abc'", "string", "abc"),
    ("char(5)", "'ab'", "string", "ab   "),
    ('"char"', "'x'", "string", "x"),
    ("name", "'n'", "string", "n"),
    ("bytea", "'\\x00ff'", "binary", b"\x00\xff"),
    ("bytea", "''", "binary", b""),
    ("date", "'2024-02-29'", "date32[day]", date(2024, 2, 29)),
    ("date", "'0001-01-01'", "date32[day]", date.min),
    ("date", "'9999-12-31'", "date32[day]", date.max),
    ("timestamp", "'2024-01-02 03:04:05.123456'", "timestamp[us]", datetime(2024, 1, 2, 3, 4, 5, 123456)),
    ("timestamp", "'9999-12-31 23:59:59.999999'", "timestamp[us]",
     datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamptz", "'2024-01-02 03:04:05+02'", "timestamp[us, tz=UTC]", datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)),
    ("time", "'24:00'", "string", "24:00:00"),
    ("time", "'01:02:03.000004'", "string", "01:02:03.000004"),
    ("timetz", "'01:02:03+05:30'", "string", "01:02:03+05:30"),
    ("interval", "'1 year 2 months 3 days 04:05:06.000007'", "string", "P1Y2M3DT4H5M6.000007S"),
    ("interval", "'-1 day'", "string", "P-1D"),
    ("interval", "'infinity'", "string", "infinity"),
    ("uuid", "'00000000-0000-0000-0000-00000000000A'", "string", "00000000-0000-0000-0000-00000000000a"),
    ("json", """'{"b": 1.10,  "a": [null]}'""", "string", '{"b": 1.10,  "a": [null]}'),
    ("jsonb", """'{"b": 1.10,  "a": [null]}'""", "string", '{"a": [null], "b": 1.10}'),
    ("mood", "'so so'", "string", "so so"),
    ("pair", """ROW(1, 'x"y')""", "string", '{"a":1,"b":"x\\"y"}'),
    ("int4range", "'[1,5)'", "string", "[1,5)"),
    ("int4multirange", "'{[1,2),[5,6)}'", "string", "{[1,2),[5,6)}"),
    ("tstzrange", "'[2024-01-01 00:00+01,infinity)'", "string", '["2023-12-31 23:00:00+00",infinity)'),
    ("inet", "'10.0.0.1/8'", "string", "10.0.0.1/8"),
    ("cidr", "'10.0.0.0/8'", "string", "10.0.0.0/8"),
    ("macaddr", "'08:00:2b:01:02:03'", "string", "08:00:2b:01:02:03"),
    ("bit(3)", "B'101'", "string", "101"),
    ("varbit", "B'10'", "string", "10"),
    ("tsvector", "'a:1 b:2'", "string", "'a':1 'b':2"),
    ("tsquery", "'a & b'", "string", "'a' & 'b'"),
    ("point", "'(1.5,2)'", "string", "(1.5,2)"),
    ("pg_lsn", "'16/B374D848'", "string", "16/B374D848"),
    ("regclass", "'pg_class'", "string", "pg_class"),
    ("xid", "'5'", "string", "5"),
    ("int4[]", "'{1,NULL,3}'", "list<item: int32>", [1, None, 3]),
    ("int4[]", "'{}'", "list<item: int32>", []),
    ("text[]", "ARRAY['a,b', '', NULL]", "list<item: string>", ["a,b", "", None]),
    ("float8[]", "'{1.5,NaN}'", "list<item: double>", [1.5, math.nan]),
    ("bool[]", "'{t,f}'", "list<item: bool>", [True, False]),
    ("numeric(10,2)[]", "'{1.50,NaN}'", "list<item: string>", ["1.50", "NaN"]),
    ("timestamptz[]", "'{infinity,2024-01-01 00:00+00}'", "list<item: string>", ["infinity", "2024-01-01 00:00:00+00"]),
    ("uuid[]", "'{00000000-0000-0000-0000-000000000001}'", "list<item: string>",
     ["00000000-0000-0000-0000-000000000001"]),
    ("bytea[]", "ARRAY['\\x00ff'::bytea]", "list<item: string>", ["\\x00ff"]),
    ("mood[]", "'{glad}'", "list<item: string>", ["glad"]),
    ("moods", "'{glad,NULL}'", "list<item: string>", ["glad", None]),
    ("pair[]", "ARRAY[ROW(1, 'x')::pair]", "list<item: string>", ["(1,x)"]),
    ("jsonb[]", """ARRAY['{"a": 1}'::jsonb]""", "list<item: string>", ['{"a": 1}']),
    ("int2vector", "'1 2'", "string", "1 2"),
]  # fmt: skip

# What Delta cannot hold: the column's type, the value as SQL, the reason, and the text that is kept of it.
REMARKED: list[tuple[str, str, str, str]] = [
    ("date", "'infinity'", "is not a finite value", "infinity"),
    ("date", "'-infinity'", "is not a finite value", "-infinity"),
    ("date", "'4713-01-01 BC'", "lies outside the years 1 to 9999", "2000-01-01 -2451507 days"),
    ("date", "'5874897-12-31'", "lies outside the years 1 to 9999", "2000-01-01 +2145031948 days"),
    ("timestamp", "'infinity'", "is not a finite value", "infinity"),
    ("timestamptz", "'-infinity'", "is not a finite value", "-infinity"),
    ("timestamp", "'10000-01-01'", "lies outside the years 1 to 9999", "2000-01-01 +252455616000000000 microseconds"),
    ("timestamp", "'294276-12-31'", "lies outside the years 1 to 9999", "2000-01-01 +9223371244800000000 microseconds"),
    ("timestamptz", "'0001-12-31 BC'",
     "lies outside the years 1 to 9999", "2000-01-01 -63082368000000000 microseconds"),
    ("numeric(10,2)", "'NaN'", "is not a finite value", "NaN"),
    ("price", "'NaN'", "is not a finite value", "NaN"),
    ("int4[]", "'{{1,2},{3,4}}'", "has more than one dimension", "{{1,2},{3,4}}"),
    ("mood[]", "'{{glad}}'", "has more than one dimension", "{{glad}}"),
    ("int4[]", "'[0:0][0:0]={{1}}'", "has more than one dimension", "[0:0][0:0]={{1}}"),
    ("int4[]", "'[5:6]={1,2}'", "does not start at 1, as the list does", "[5:6]={1,2}"),
    ("moods", "'[0:0]={glad}'", "does not start at 1, as the list does", "[0:0]={glad}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def batches(postgres_url: str) -> Iterator[tuple[pa.Schema, list[pa.RecordBatch]]]:
    """One table with a column for each case, and two rows: the values, and NULL in every column."""
    cases = [(kind, value) for kind, value, *_ in [*CASES, *REMARKED]]
    columns = ", ".join(f"c{index} {kind}" for index, (kind, _) in enumerate(cases))
    values = ", ".join(f"{value}::{kind}" for kind, value in cases)
    with psycopg.connect(postgres_url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in (*TYPES, f"CREATE TABLE kinds ({columns})", f"INSERT INTO kinds VALUES ({values})"):
            cursor.execute(statement)
        cursor.execute("INSERT INTO kinds DEFAULT VALUES")
    source = open_connector("postgres", {"url": postgres_url})
    schema = source.describe(SourceTable("kinds"))
    yield schema.columns, list(source.read(schema, WholeTable()))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for kind in ("TABLE kinds", "DOMAIN moods", "DOMAIN dear", "DOMAIN price", "TYPE pair", "TYPE mood"):
            connection.execute(f"DROP {kind}")


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{kind} {value}" for kind, value, *_ in CASES])
def test_a_value_lands_as_the_table_says(batches: tuple[pa.Schema, list[pa.RecordBatch]], index: int) -> None:
    schema, (rows, *_) = batches
    _, _, kind, value = CASES[index]
    assert str(schema.field(index).type) == str(rows.schema.field(index).type) == kind
    found, null = rows.column(index).to_pylist()
    assert null is None
    assert found == value or repr(found) == repr(value)  # a NaN equals nothing


@pytest.mark.parametrize("index", range(len(REMARKED)), ids=[f"{kind} {value}" for kind, value, *_ in REMARKED])
def test_what_delta_cannot_hold_is_remarked_on(batches: tuple[pa.Schema, list[pa.RecordBatch]], index: int) -> None:
    _, (rows, remarks) = batches
    _, _, reason, raw = REMARKED[index]
    name = f"c{len(CASES) + index}"
    assert kind_of(remarks) is BatchKind.REMARKS
    assert rows.column(name).to_pylist() in ([None, None], [[1, 2], None], [["glad"], None])
    told = [row for row in remarks.to_pylist() if row["column"] == name]
    assert told == [{"origin": "kinds", "position": 1, "reason": reason, "column": name, "raw": raw, "key": None}]


def test_nothing_else_is_remarked_on(batches: tuple[pa.Schema, list[pa.RecordBatch]]) -> None:
    _, (_, remarks) = batches
    assert remarks.num_rows == len(REMARKED)


def test_a_query_has_the_same_types_as_its_table(
    postgres_url: str, batches: tuple[pa.Schema, list[pa.RecordBatch]]
) -> None:
    source = open_connector("postgres", {"url": postgres_url})
    assert source.describe(SourceTable("q", query="SELECT * FROM kinds;")).columns == batches[0]


def test_a_declared_type_counts_and_what_does_not_fit_it_is_quarantined(postgres_url: str) -> None:
    source = open_connector("postgres", {"url": postgres_url})
    query = (
        "SELECT 1 AS id, 1.5 AS n, '2024-01-02' AS t UNION ALL SELECT 2, 1.234, '2024-01-02'"
        " UNION ALL SELECT 3, 'NaN', '2024-01-02' UNION ALL SELECT 4, 1, 'soon'"
    )
    columns = (Column("id", "bigint"), Column("n", "decimal(10,2)"), Column("t", "date"))
    schema = source.describe(SourceTable("q", query=query, columns=columns))
    rows, bad, remarks = source.read(schema, WholeTable())
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        (1, Decimal("1.50"), date(2024, 1, 2)),
        (3, None, date(2024, 1, 2)),
    ]
    assert kind_of(bad) is BatchKind.QUARANTINED
    assert [(row["position"], row["column"]) for row in bad.to_pylist()] == [(2, "n"), (4, "t")]
    assert bad.column("raw")[0].as_py() == '{"id": 2, "n": "1.234", "t": "2024-01-02"}'
    assert [row["position"] for row in remarks.to_pylist()] == [3]
    assert source.count(schema, WholeTable()) == rows.num_rows + bad.num_rows


def test_a_row_that_is_set_aside_or_remarked_on_is_named_by_its_key(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA named_rows")
        cursor.execute("CREATE TABLE named_rows.t (shop text, id int, n numeric, seen date, PRIMARY KEY (id, shop))")
        cursor.execute("INSERT INTO named_rows.t VALUES ('a', 1, 1.234, NULL), ('b', 2, 1, 'infinity')")
    source = open_connector("postgres", {"url": postgres_url})
    columns = tuple(Column(*one) for one in (("shop",), ("id",), ("n", "decimal(10,2)"), ("seen",)))
    schema = source.describe(SourceTable("named_rows.t", columns=columns))
    _, bad, remarks = source.read(schema, WholeTable())
    assert [bad.column("key")[0].as_py(), remarks.column("key")[0].as_py()] == [
        '{"id": 1, "shop": "a"}',
        '{"id": 2, "shop": "b"}',
    ]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1.555::float8", "decimal(3,2)"),
        ("1e300::float8", "float"),
        ("16777217::int4", "float"),
        ("9007199254740993::numeric", "double"),
        ("timestamp '2024-01-02 13:05'", "date"),
        ("timestamptz '2024-01-02 13:05Z'", "timestamp_ntz"),
        ("2", "boolean"),
        ("ARRAY[1e300::float8]", "array<float>"),
    ],
)
def test_a_value_that_its_declared_type_would_change_is_quarantined(postgres_url: str, value: str, kind: str) -> None:
    source = open_connector("postgres", {"url": postgres_url})
    schema = source.describe(SourceTable("q", query=f"SELECT {value} AS x", columns=(Column("x", kind),)))
    (bad,) = source.read(schema, WholeTable())
    assert kind_of(bad) is BatchKind.QUARANTINED


def test_an_anonymous_record_is_json(postgres_url: str) -> None:
    source = open_connector("postgres", {"url": postgres_url})
    schema = source.describe(SourceTable("q", query="SELECT ROW(1, 'a') AS r"))
    (rows,) = source.read(schema, WholeTable())
    assert rows.to_pylist() == [{"r": '{"f1":1,"f2":"a"}'}]


@pytest.mark.parametrize(
    ("precision", "scale", "kind"),
    [(1, 0, (1, 0)), (38, 38, (38, 38)), (2, -3, (5, 0)), (3, 5, (5, 5)), (38, -1, None), (39, 0, None)],
)
def test_a_numeric_has_the_decimal_that_holds_it(precision: int, scale: int, kind: tuple[int, int] | None) -> None:
    typmod = ((precision << 16) | (scale & 0x7FF)) + 4
    assert decimal_type(typmod) == (types.Decimal(*kind) if kind else None)


def test_xml_is_text_where_the_server_has_it() -> None:
    xml = ServerType(name="xml", is_system=True, kind="b", category="U", cast="pg_catalog.xml")
    assert mapped(xml).reading is Reading.TEXT
