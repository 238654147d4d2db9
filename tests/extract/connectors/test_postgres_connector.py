"""Cuts, snapshots, errors and limits, against a real PostgreSQL."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakiri.errors import render
from hakiri.extract.connectors.port import Connector, Indexing, Pinnable
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import check_config, open_connector
from hakiri.extract.errors import (
    BadValue,
    ColumnMissing,
    RequestWrong,
    SourceMoved,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
    TableMissing,
)
from hakiri.model.key import KeyValue
from hakiri.model.source import Survey
from hakiri.model.span import KeyRange, OneFile, PositionRange, WholeTable, from_json, to_json
from hakiri.model.table import SourceTable, TableSchema

Run = Callable[..., None]


@pytest.fixture(scope="module")
def run(postgres_url: str) -> Run:
    def statements(*sql: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection, connection.cursor() as cursor:
            for one in sql:
                cursor.execute(one)

    return statements


@pytest.fixture(scope="module", autouse=True)
def _names(run: Run) -> None:
    run(
        'CREATE TABLE names (n int PRIMARY KEY, "a""; DROP TABLE names; --" text, "c0" int, "{x}" int)',
        "INSERT INTO names VALUES (1, 'x', 2, 3)",
    )


@pytest.fixture(scope="module")
def source(postgres_url: str) -> Connector:
    return open_connector("postgres", {"url": postgres_url, "piece_rows": 1_000})


def surveyed(source: Connector, table: SourceTable, since: KeyValue | None = None) -> tuple[TableSchema, Survey]:
    schema = source.describe(table)
    return schema, source.survey(schema, since=since)


def counts(source: Connector, table: SourceTable, since: KeyValue | None = None) -> list[int]:
    """How many rows each piece really holds."""
    schema, survey = surveyed(source, table, since)
    return [source.count(schema, piece.span, since=since) or 0 for piece in survey.pieces]


def test_a_skewed_key_makes_no_lopsided_pieces(source: Connector, run: Run) -> None:
    run(
        "CREATE TABLE skewed AS SELECT CASE WHEN n < 9000 THEN n ELSE n * 1000003::int8 END AS id"
        " FROM generate_series(1, 10000) n",
        "ALTER TABLE skewed ADD PRIMARY KEY (id)",
    )
    found = counts(source, SourceTable("skewed"))
    assert (len(found), sum(found)) == (10, 10_000)
    assert max(found) <= 1_100


def test_tied_cursors_stay_together_and_nulls_are_read(source: Connector, run: Run) -> None:
    run(
        "CREATE TABLE tied AS SELECT n AS id, CASE WHEN n % 10 = 0 THEN NULL WHEN n < 4000 THEN 1 ELSE n END AS v"
        " FROM generate_series(1, 10000) n",
        "CREATE INDEX ON tied (v)",
    )
    table = SourceTable("tied", cursor="v")
    assert sum(counts(source, table, since=1)) == 10_000
    assert sum(counts(source, table, since=9_999)) == 1 + 1_000


def test_a_table_without_a_key_is_cut_by_blocks_and_says_so(source: Connector, run: Run) -> None:
    run("CREATE TABLE heap AS SELECT n, repeat('x', 100) FROM generate_series(1, 10000) n")
    schema, survey = surveyed(source, SourceTable("heap"))
    assert survey.needs_one_snapshot
    assert all(isinstance(piece.span, PositionRange) for piece in survey.pieces)
    found = [source.count(schema, piece.span) for piece in survey.pieces]
    assert (len(found), sum(filter(None, found))) == (10, 10_000)


def test_a_partitioned_table_without_a_key_is_cut_by_the_blocks_of_its_leaves(source: Connector, run: Run) -> None:
    run(
        "CREATE TABLE parted (n int, t text) PARTITION BY RANGE (n)",
        "CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM (0) TO (8000)",
        "CREATE TABLE parted_b PARTITION OF parted DEFAULT",
        "INSERT INTO parted SELECT n, repeat('x', 50) FROM generate_series(1, 10000) n",
    )
    schema, survey = surveyed(source, SourceTable("parted"))
    assert len(survey.pieces) > 1
    assert sum(source.count(schema, piece.span) or 0 for piece in survey.pieces) == 10_000


def test_any_unique_key_will_do_and_one_that_cannot_be_null_is_preferred(source: Connector, run: Run) -> None:
    run(
        "CREATE TABLE uniques (a text UNIQUE, b uuid NOT NULL UNIQUE, c int)",
        "INSERT INTO uniques SELECT nullif(n::text, '7'), md5(n::text)::uuid, n FROM generate_series(1, 3000) n",
    )
    _, survey = surveyed(source, SourceTable("uniques"))
    assert {piece.span.columns for piece in survey.pieces if isinstance(piece.span, KeyRange)} == {("b",)}
    assert sum(counts(source, SourceTable("uniques"))) == 3_000


KEY_TYPES = {
    "numeric": "n / 7.0",
    "uuid": "md5(n::text)::uuid",
    "bytea": "decode(md5(n::text), 'hex')",
    'text COLLATE "C"': "md5(n::text)",
    "timestamptz": "'2024-01-01'::timestamptz + n * interval '1.5 s'",
    "date": "'2024-01-01'::date + n",
    "float8": "n / 3.0",
    "inet": "'10.0.0.0'::inet + n",
    "bool": "n % 2 = 0",
    "interval": "n * interval '1 min'",
    "char(40)": "md5(n::text)",
}


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_a_key_of_any_type_walks_every_row_once(source: Connector, run: Run, kind: str) -> None:
    run(
        "DROP TABLE IF EXISTS keyed_by",
        f"CREATE TABLE keyed_by (k {kind}, n int, PRIMARY KEY (k, n))",
        f"INSERT INTO keyed_by SELECT {KEY_TYPES[kind]}, n FROM generate_series(1, 3000) n",
    )
    schema, survey = surveyed(source, SourceTable("keyed_by"))
    assert len(survey.pieces) == 3
    spans = [from_json(to_json(piece.span)) for piece in survey.pieces]
    read = [row["n"] for span in spans for batch in source.read(schema, span) for row in batch.to_pylist()]
    assert sorted(read) == list(range(1, 3_001))


@pytest.mark.parametrize(
    ("kind", "low", "since"),
    [
        ("numeric(20,4)", "1.5", Decimal("1.5")),
        ("uuid", "00000000-0000-0000-0000-000000000005", UUID(int=5)),
        ("bytea", "\\x05", b"\x05"),
        ("timestamptz", "2024-01-01 00:00:00+00", datetime(2024, 1, 1, tzinfo=UTC)),
        ("timestamp", "2024-01-01 00:00:00", datetime(2024, 1, 1)),
        ("text", "a'\\\"; --", "a'\\\"; --"),
        ("float8", "0.1", 0.1),
        ("bool", "true", True),
    ],
)
def test_a_floor_of_any_type_keeps_the_row_it_stands_on(
    source: Connector, run: Run, kind: str, low: str, since: KeyValue
) -> None:
    quoted = low.replace("'", "''")
    run("DROP TABLE IF EXISTS floored", f"CREATE TABLE floored AS SELECT '{quoted}'::{kind} AS v UNION ALL SELECT NULL")
    schema = source.describe(SourceTable("floored", cursor="v"))
    assert source.count(schema, WholeTable(), since=since) == 2


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.none() | st.text("aAbÄ ß\u0301z", max_size=3), st.none() | st.integers(-3, 3)), max_size=40)
)
def test_pieces_hold_every_row_once_whatever_the_keys_are(
    postgres_url: str, run: Run, rows: list[tuple[str | None, int | None]]
) -> None:
    source = open_connector("postgres", {"url": postgres_url, "piece_rows": 4})
    distinct = list(dict.fromkeys(rows))
    values = ", ".join(f"({literal(text)}, {literal(number)})" for text, number in distinct)
    run(
        "DROP TABLE IF EXISTS drawn",
        "CREATE TABLE drawn (a text, b int, UNIQUE (a, b))",
        *([f"INSERT INTO drawn VALUES {values}"] if values else []),
    )
    schema, survey = surveyed(source, SourceTable("drawn"))
    read: Counter[Any] = Counter()
    for piece in survey.pieces:
        for batch in source.read(schema, piece.span):
            read.update((row["a"], row["b"]) for row in batch.to_pylist())
    assert read == Counter(distinct)


def literal(value: str | int | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def test_a_pinned_source_shows_one_moment_to_every_reader(source: Connector, run: Run) -> None:
    run("CREATE TABLE pinned AS SELECT n FROM generate_series(1, 5000) n")
    assert isinstance(source, Pinnable)
    with source.pin() as held:
        schema, survey = surveyed(held, SourceTable("pinned"))
        run("UPDATE pinned SET n = -n", "INSERT INTO pinned SELECT 1 FROM generate_series(1, 500)")
        carried = pickle.loads(pickle.dumps(held))  # noqa: S301 our own bytes
        read = [
            row["n"] for piece in survey.pieces for one in carried.read(schema, piece.span) for row in one.to_pylist()
        ]
        assert sorted(read) == list(range(1, 5_001))
    assert source.count(schema, WholeTable()) == 5_500


def test_once_a_pin_is_gone_keys_are_read_as_they_are_now_and_positions_not_at_all(source: Connector, run: Run) -> None:
    run("CREATE TABLE gone AS SELECT n FROM generate_series(1, 10) n")
    assert isinstance(source, Pinnable)
    with source.pin() as held:
        schema = held.describe(SourceTable("gone"))
    run("INSERT INTO gone VALUES (11)")
    assert held.count(schema, KeyRange(("n",), low=(5,))) == 7
    assert kind_of(next(iter(held.read(schema, WholeTable())))) is BatchKind.NOTES
    with pytest.raises(SourceMoved):
        held.count(schema, PositionRange(0, 1))


def test_a_key_declared_without_an_index_is_not_walked(source: Connector, run: Run) -> None:
    run("CREATE TABLE declared AS SELECT n AS id FROM generate_series(1, 3000) n")
    schema, survey = surveyed(source, SourceTable("declared", primary_key=("id",)))
    assert schema.primary_key == ("id",)
    assert survey.needs_one_snapshot


def test_bounds_leave_out_what_is_not_finite(source: Connector, run: Run) -> None:
    run(
        "CREATE TABLE bounds (t timestamptz)",
        "INSERT INTO bounds VALUES ('infinity'), ('-infinity'), ('2024-01-02 03:04+01'), (NULL)",
    )
    _, survey = surveyed(source, SourceTable("bounds", cursor="t"))
    assert survey.low == survey.high == datetime(2024, 1, 2, 2, 4, tzinfo=UTC)


def test_names_may_hold_anything(source: Connector) -> None:
    schema, survey = surveyed(source, SourceTable("names"))
    (batch,) = source.read(schema, survey.pieces[0].span)
    assert batch.to_pylist() == [{"n": 1, 'a"; DROP TABLE names; --': "x", "c0": 2, "{x}": 3}]


@pytest.mark.parametrize("name", ["public.names", "postgres.public.names"])
def test_a_name_may_have_up_to_three_parts(source: Connector, name: str) -> None:
    assert source.describe(SourceTable(name)).primary_key == ("n",)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (SourceTable("elsewhere.public.names"), TableMissing),
        (SourceTable("pg_catalog.nothing"), TableMissing),
        (SourceTable("q", query="SELEC 1"), RequestWrong),
        (SourceTable("q", query="SELECT 1 AS a, 2 AS a"), RequestWrong),
        (SourceTable("q", query="SELECT nothing FROM names"), ColumnMissing),
        (SourceTable("q", query="SELECT * FROM nothing"), TableMissing),
        (SourceTable("q", query="SELECT 1) q; DROP TABLE names; --"), RequestWrong),
        (SourceTable("q", query="DELETE FROM names RETURNING 1"), RequestWrong),
        (SourceTable("q", query="SELECT pg_sleep(9)"), SourceTimeout),
        (SourceTable("q", query="SELECT 1 / 0 AS x"), BadValue),
    ],
)
def test_what_cannot_be_asked_is_told(postgres_url: str, table: SourceTable, error: type[Exception]) -> None:
    source = open_connector("postgres", {"url": postgres_url, "statement_timeout_seconds": 0.3})

    def ask() -> None:
        list(source.read(source.describe(table), WholeTable()))

    with pytest.raises(error):
        ask()


def test_a_query_cannot_write(source: Connector, run: Run) -> None:
    run("CREATE SEQUENCE counter")
    with pytest.raises(RequestWrong):
        list(source.read(source.describe(SourceTable("q", query="SELECT nextval('counter')")), WholeTable()))


def test_a_lock_in_the_way_is_a_timeout(postgres_url: str, run: Run) -> None:
    run("CREATE TABLE locked (n int)")
    source = open_connector("postgres", {"url": postgres_url, "lock_timeout_seconds": 0.1})
    with psycopg.connect(postgres_url) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLE locked")
        with pytest.raises(SourceTimeout):
            source.describe(SourceTable("locked"))


def test_a_session_that_is_ended_midway_is_unreachable(postgres_url: str, run: Run) -> None:
    source = open_connector("postgres", {"url": postgres_url, "batch_bytes": 8_192})
    table = SourceTable("q", query="SELECT pg_backend_pid() AS pid, repeat('x', 999) FROM generate_series(1, 99999)")
    reading = source.read(source.describe(table), WholeTable())
    run(f"SELECT pg_terminate_backend({next(reading).column('pid')[0]})")
    with pytest.raises(SourceUnreachable):
        list(reading)


def test_a_stranger_is_refused_and_no_secret_is_told(postgres_url: str) -> None:
    url = postgres_url.replace("postgres:@", "stranger:hunter2@")
    with pytest.raises(SourceRefused) as caught:
        open_connector("postgres", {"url": url}).probe(SourceTable("names"))
    assert "hunter2" not in render(caught.value)
    assert "hunter2" not in repr(open_connector("postgres", {"url": url}))


def test_a_password_of_its_own_may_hold_anything(postgres_url: str) -> None:
    source = open_connector("postgres", {"url": postgres_url, "password": "p@ss/w?rd&x=1"})
    assert source.probe(SourceTable("names")).startswith("PostgreSQL ")


def test_a_table_that_may_not_be_read_is_refused(postgres_url: str, run: Run) -> None:
    run("CREATE ROLE reader LOGIN", "CREATE TABLE secret (n int)")
    source = open_connector("postgres", {"url": postgres_url.replace("postgres:@", "reader:@")})
    with pytest.raises(SourceRefused):
        source.probe(SourceTable("secret"))


def test_an_address_of_another_kind_is_told() -> None:
    (problem,) = check_config("postgres", {"url": "mysql://root:hunter2@host/db"})
    assert problem.key == "url"
    assert "hunter2" not in problem.text()


def test_a_span_of_another_kind_of_source_is_refused(source: Connector) -> None:
    with pytest.raises(RequestWrong):
        source.count(source.describe(SourceTable("names")), OneFile("a", "1"))


def test_batches_stay_small_however_long_the_table_is(postgres_url: str) -> None:
    source = open_connector("postgres", {"url": postgres_url, "batch_bytes": 65_536})
    table = SourceTable("q", query="SELECT n, repeat('x', 500) AS t FROM generate_series(1, 5000) n")
    batches = list(source.read(source.describe(table), WholeTable()))
    assert len(batches) > 20
    assert max(batch.nbytes for batch in batches) < 200_000


def test_a_column_is_indexed_if_an_index_begins_with_it(run: Run, source: Connector) -> None:
    run(
        "CREATE SCHEMA indexed",
        "CREATE TABLE indexed.t (id int PRIMARY KEY, first int, second int, part int, plain int)",
        "CREATE INDEX ON indexed.t (first, second)",
        "CREATE INDEX ON indexed.t (part) WHERE part > 5",
        "CREATE VIEW indexed.v AS SELECT * FROM indexed.t",
    )
    assert isinstance(source, Indexing)
    table = source.describe(SourceTable("indexed.t"))
    found = {name: source.is_indexed(table, name) for name in table.names}
    assert found == {"id": True, "first": True, "second": False, "part": False, "plain": False}
    assert source.is_indexed(source.describe(SourceTable("indexed.v")), "first") is None
    query = SourceTable("q", query="SELECT * FROM indexed.t")
    assert source.is_indexed(source.describe(query), "first") is None
