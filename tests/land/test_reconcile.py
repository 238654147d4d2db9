"""What a stored and a staged schema agree on, decided without a table."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from hakiri.land.decide.reconcile import Agreement, reconcile
from hakiri.land.errors import ColumnsCollide, TypeUnsupported
from hakiri.land.staged.types import table_type
from hakiri.model.errors import SchemaIncompatible
from hakiri.model.types import Struct
from hakiri.model.types.delta import from_delta, to_delta
from hakiri.model.types.text import sql_columns, sql_type


def table(**columns: pa.DataType) -> Struct:
    return table_type(pa.schema(list(columns.items())), table="orders")


def agree(stored: Struct | None, *staged: Struct, **accepted: str) -> Agreement:
    return reconcile(stored, staged, pipeline="shop", table="orders", accepted=accepted)


def types(agreed: Agreement) -> dict[str, str]:
    return {field.name: sql_type(field.type) for field in agreed.schema.fields}


def test_new_columns_follow_the_stored_ones_and_dropped_ones_stay() -> None:
    agreed = agree(table(a=pa.int32(), b=pa.string()), table(c=pa.date32(), b=pa.string()))
    assert types(agreed) == {"a": "INT", "b": "STRING", "c": "DATE"}
    assert agreed.changes_table
    assert not agreed.widened


def test_the_same_schema_in_another_order_and_case_changes_nothing() -> None:
    agreed = agree(table(a=pa.int32(), B=pa.string()), table(b=pa.string(), A=pa.int32()))
    assert agreed.schema.names == ("a", "B")
    assert not agreed.changes_table


def test_chunks_of_one_landing_agree_first() -> None:
    agreed = agree(None, table(a=pa.int32()), table(a=pa.int64(), b=pa.string()))
    assert types(agreed) == {"a": "BIGINT", "b": "STRING"}


@pytest.mark.parametrize(
    ("stored", "staged", "wider"),
    [
        (pa.int8(), pa.int64(), "BIGINT"),
        (pa.float32(), pa.float64(), "DOUBLE"),
        (pa.int32(), pa.float64(), "DOUBLE"),
        (pa.int16(), pa.float32(), "DOUBLE"),
        (pa.decimal128(5, 2), pa.decimal128(9, 4), "DECIMAL(9,4)"),
        (pa.decimal128(5, 2), pa.decimal128(4, 3), "DECIMAL(6,3)"),
        (pa.decimal128(5, 2), pa.int32(), "DECIMAL(12,2)"),
        (pa.int64(), pa.uint64(), "DECIMAL(20,0)"),
        (pa.date32(), pa.timestamp("us"), "TIMESTAMP_NTZ"),
    ],
    ids=str,
)
def test_a_type_gives_way_to_one_that_holds_both(stored: pa.DataType, staged: pa.DataType, wider: str) -> None:
    assert types(agree(table(c=stored), table(c=staged))) == {"c": wider}
    assert types(agree(table(c=staged), table(c=stored))) == {"c": wider}


@pytest.mark.parametrize(
    ("stored", "staged"),
    [
        (pa.int32(), pa.string()),
        (pa.string(), pa.int32()),
        (pa.int64(), pa.float64()),
        (pa.decimal128(38, 0), pa.decimal128(38, 10)),
        (pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.bool_(), pa.int8()),
    ],
    ids=str,
)
def test_what_would_lose_a_value_is_refused(stored: pa.DataType, staged: pa.DataType) -> None:
    with pytest.raises(SchemaIncompatible) as caught:
        agree(table(c=stored), table(c=staged))
    assert caught.value.column == "c"
    advice = caught.value.help()
    assert "transform" in advice
    assert "hakiri schema accept" in advice


def test_a_nested_field_is_named_by_its_path() -> None:
    inner = pa.struct([("x", pa.list_(pa.struct([("y", pa.int32())])))])
    other = pa.struct([("x", pa.list_(pa.struct([("y", pa.string())])))])
    with pytest.raises(SchemaIncompatible) as caught:
        agree(table(s=inner), table(s=other))
    assert caught.value.column == "s.x.element.y"


def test_nested_fields_are_added_and_widened_by_the_same_rules() -> None:
    stored, staged = pa.struct([("x", pa.int32())]), pa.struct([("y", pa.string()), ("x", pa.int64())])
    agreed = agree(table(s=stored), table(s=staged))
    assert types(agreed) == {"s": "STRUCT<`x`: BIGINT, `y`: STRING>"}
    assert [sql_type(field.type) for field in agreed.widened] == ["STRUCT<`x`: BIGINT>"]


def test_a_type_without_a_counterpart_is_refused_by_name() -> None:
    for kind in (pa.time64("us"), pa.timestamp("ns"), pa.decimal256(40, 2), pa.null(), pa.duration("s")):
        with pytest.raises(TypeUnsupported, match="`c`"):
            table(c=kind)


def test_columns_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(ColumnsCollide, match="`id` and `ID`"):
        table(id=pa.int32(), ID=pa.int32())


def test_a_schema_survives_the_trip_through_a_delta_log() -> None:
    kind = pa.struct([("a`b", pa.map_(pa.string(), pa.list_(pa.decimal128(38, 18))))])
    whole = table(s=kind, t=pa.timestamp("us", "UTC"))
    assert from_delta(to_delta(whole)) == whole
    assert sql_columns(whole) == "`s` STRUCT<`a``b`: MAP<STRING,ARRAY<DECIMAL(38,18)>>>, `t` TIMESTAMP"


@pytest.mark.parametrize(
    ("stored", "staged", "accepted"),
    [
        (pa.int32(), pa.string(), "string"),
        (pa.string(), pa.int32(), "int"),
        (pa.int64(), pa.float64(), "double"),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), "timestamp_ntz"),
        (pa.bool_(), pa.int8(), "tinyint"),
    ],
    ids=str,
)
def test_what_a_person_has_accepted_becomes_text(stored: pa.DataType, staged: pa.DataType, accepted: str) -> None:
    agreed = agree(table(C=stored, other=pa.int32()), table(c=staged), c=accepted)
    assert types(agreed) == {"C": "STRING", "other": "INT"}
    assert agreed.texts == {"C"}
    assert agreed.is_widening is (stored == pa.string())


def test_chunks_of_one_landing_become_text_together_whatever_order_they_come_in() -> None:
    kinds = (pa.bool_(), pa.date32(), pa.int32())
    for staged in permutations(table(c=kind) for kind in kinds):
        assert types(agree(None, *staged, c="boolean | date | int")) == {"c": "STRING"}
        assert types(agree(table(c=pa.float64()), *staged, c="boolean | date | int | string")) == {"c": "STRING"}


@pytest.mark.parametrize("staged", [pa.float64(), pa.binary(), pa.list_(pa.string())], ids=str)
def test_what_was_accepted_is_one_type_and_no_other(staged: pa.DataType) -> None:
    with pytest.raises(SchemaIncompatible):
        agree(table(c=pa.int64()), table(c=staged), c="string")


def test_text_is_not_enough_for_bytes_and_nested_values() -> None:
    with pytest.raises(SchemaIncompatible):
        agree(table(c=pa.binary()), table(c=pa.string()), c="string")
    with pytest.raises(SchemaIncompatible):
        agree(table(c=pa.list_(pa.int8())), table(c=pa.string()), c="string")
