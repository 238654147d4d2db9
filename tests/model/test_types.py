"""A type is the same value in every notation."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.model.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
)
from hakiri.model.types.arrow import NotInDelta, from_arrow, from_fields, normal, to_arrow, to_schema, why_not
from hakiri.model.types.delta import from_delta, from_schema_string, to_delta
from hakiri.model.types.text import manifest_type, parse_type, shown_type, sql_type
from hakiri.model.types.widening import wider

LINES = Array(Struct((Field("sku", STRING), Field("price", Decimal(10, 2)))))
LINES_DELTA = {
    "type": "array",
    "elementType": {
        "type": "struct",
        "fields": [
            {"name": "sku", "type": "string", "nullable": True, "metadata": {}},
            {"name": "price", "type": "decimal(10,2)", "nullable": True, "metadata": {}},
        ],
    },
    "containsNull": True,
}
COUNTS_DELTA = {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}

SAME = [
    (BOOLEAN, pa.bool_(), "boolean", "BOOLEAN", "boolean"),
    (BYTE, pa.int8(), "byte", "TINYINT", "tinyint"),
    (SHORT, pa.int16(), "short", "SMALLINT", "smallint"),
    (INTEGER, pa.int32(), "integer", "INT", "int"),
    (LONG, pa.int64(), "long", "BIGINT", "bigint"),
    (FLOAT, pa.float32(), "float", "FLOAT", "float"),
    (DOUBLE, pa.float64(), "double", "DOUBLE", "double"),
    (STRING, pa.string(), "string", "STRING", "string"),
    (BINARY, pa.binary(), "binary", "BINARY", "binary"),
    (DATE, pa.date32(), "date", "DATE", "date"),
    (TIMESTAMP, pa.timestamp("us", "UTC"), "timestamp", "TIMESTAMP", "timestamp"),
    (TIMESTAMP_NTZ, pa.timestamp("us"), "timestamp_ntz", "TIMESTAMP_NTZ", "timestamp_ntz"),
    (Decimal(38, 10), pa.decimal128(38, 10), "decimal(38,10)", "DECIMAL(38,10)", "decimal(38,10)"),
    (
        LINES,
        pa.list_(pa.field("element", pa.struct([("sku", pa.string()), ("price", pa.decimal128(10, 2))]))),
        LINES_DELTA,
        "ARRAY<STRUCT<`sku`: STRING, `price`: DECIMAL(10,2)>>",
        "array<struct<sku:string,price:decimal(10,2)>>",
    ),
    (Map(STRING, INTEGER), pa.map_(pa.string(), pa.int32()), COUNTS_DELTA, "MAP<STRING,INT>", "map<string,int>"),
]


@pytest.mark.parametrize(("kind", "arrow", "delta", "sql", "manifest"), SAME, ids=[row[3] for row in SAME])
def test_a_type_means_the_same_in_every_notation(
    kind: Type, arrow: pa.DataType, delta: object, sql: str, manifest: str
) -> None:
    assert (to_arrow(kind), to_delta(kind), sql_type(kind), manifest_type(kind)) == (arrow, delta, sql, manifest)
    whole = {"type": "struct", "fields": [{"name": "c", "type": delta, "nullable": True, "metadata": {}}]}
    assert from_arrow(arrow) == kind
    assert from_schema_string(json.dumps(whole)) == Struct((Field("c", kind),))
    assert parse_type(sql) == parse_type(manifest) == parse_type(shown_type(kind)) == kind
    assert why_not(arrow) is None


PLAIN = [BOOLEAN, BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ]
DECIMALS = st.integers(1, 38).flatmap(lambda digits: st.builds(Decimal, st.just(digits), st.integers(0, digits)))
LEAVES: st.SearchStrategy[Type] = st.one_of(st.sampled_from(PLAIN), DECIMALS)


def types_with(names: st.SearchStrategy[str]) -> st.SearchStrategy[Type]:
    """Types whose records have such names."""

    def nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        fields = st.lists(st.builds(Field, names, inner), min_size=1, max_size=3, unique_by=lambda one: one.name)
        return st.one_of(
            st.builds(Array, inner), st.builds(Map, inner, inner), fields.map(lambda found: Struct(tuple(found)))
        )

    return st.recursive(LEAVES, nested, max_leaves=5)


ANY_NAME = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=4)
WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)


@given(types_with(ANY_NAME))
def test_what_is_written_is_read_back(kind: Type) -> None:
    table = Struct((Field("c", kind, is_nullable=False),))
    assert from_delta(json.loads(json.dumps(to_delta(table)))) == table
    assert parse_type(sql_type(kind)) == kind
    assert from_arrow(to_arrow(kind)) == kind
    assert normal(to_schema(table)) == to_schema(from_fields(to_schema(table)))


@given(types_with(WORDS))
def test_a_declared_type_is_read_back(kind: Type) -> None:
    assert parse_type(manifest_type(kind)) == kind


@given(LEAVES, LEAVES, LEAVES)
def test_the_wider_type_does_not_depend_on_which_was_there_first(one: Type, two: Type, three: Type) -> None:
    both = wider(one, two)
    assert both == wider(two, one)
    if both is not None:
        assert wider(both, one) == wider(both, two) == both
    if both is not None and (others := wider(two, three)) is not None and (all_ := wider(both, three)) is not None:
        assert wider(one, others) == all_


def test_a_type_of_a_newer_engine_is_kept_by_its_name() -> None:
    kind = Array(Simple("variant"))
    table = Struct((Field("c", kind),))
    assert from_delta(to_delta(table)) == table
    assert shown_type(kind) == "array<variant>"
    assert wider(kind, kind) == kind
    assert wider(Simple("variant"), STRING) is None
    with pytest.raises(ValueError, match="Arrow has no variant"):
        to_arrow(kind)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {},
        "long",
        {"type": "struct"},
        {"type": "struct", "fields": [1]},
        {"type": "struct", "fields": [{}]},
        {"type": "struct", "fields": [{"name": "a", "type": {"type": "list"}}]},
    ],
)
def test_json_that_is_no_schema_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match="schema"):
        from_delta(plain)


def test_a_part_that_delta_cannot_store_is_named_by_its_path() -> None:
    kind = pa.list_(pa.struct([("at", pa.map_(pa.string(), pa.time64("us")))]))
    with pytest.raises(NotInDelta, match="Delta has no time64") as caught:
        from_fields([pa.field("lines", kind)])
    assert caught.value.path == ("lines", "element", "at", "value")
