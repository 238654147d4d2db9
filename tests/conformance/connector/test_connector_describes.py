"""A table is described as it is, or the reason why not is told."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pytest

from conformance.connector.stands import COLUMNS, ODD, Stand
from hakiri.errors import SourceError, render
from hakiri.extract.connectors.port import Connector
from hakiri.extract.errors import ColumnMissing, SourceUnreachable, TableMissing
from hakiri.model.errors import BadConfig
from hakiri.model.table import Column, TableSchema


def test_columns_keep_their_names_and_order(schema: TableSchema) -> None:
    assert schema.names == COLUMNS


def test_columns_have_types_a_delta_table_can_hold(schema: TableSchema) -> None:
    assert [str(field.type) for field in schema.columns] == ["int64", "string", "int64", "string", "double"]


def test_a_second_description_is_the_same(stand: Stand, schema: TableSchema) -> None:
    assert stand.connector.describe(stand.table) == schema


def test_only_the_columns_asked_for_are_described(stand: Stand) -> None:
    asked = replace(stand.table, columns=(Column("seen"), Column(ODD)))
    assert stand.connector.describe(asked).names == ("seen", ODD)


def test_a_missing_column_is_named_with_a_guess(stand: Stand) -> None:
    with pytest.raises(ColumnMissing) as caught:
        stand.connector.describe(replace(stand.table, columns=(Column("seen"), Column("amont"))))
    assert (caught.value.column, caught.value.guess) == ("amont", "amount")


def test_a_missing_cursor_is_named(stand: Stand) -> None:
    with pytest.raises(ColumnMissing):
        stand.connector.describe(replace(stand.table, cursor="sen"))


def test_a_missing_table_is_named_with_a_guess(stand: Stand) -> None:
    for verb in (stand.connector.describe, stand.connector.probe):
        with pytest.raises(TableMissing) as caught:
            verb(stand.missing)
        assert caught.value.guess == stand.likely


def test_an_absent_source_is_told_from_a_missing_table(stand: Stand) -> None:
    for verb in (stand.absent.describe, stand.absent.probe):
        with pytest.raises((SourceUnreachable, BadConfig)):
            verb(stand.table)


def test_a_probe_says_who_answered(stand: Stand) -> None:
    assert stand.connector.probe(stand.table)


def test_a_hint_is_constant_and_allows_at_least_one_reader(stand: Stand) -> None:
    hint = stand.connector.hint()
    assert hint == stand.connector.hint()
    assert hint.safe_parallelism >= 1


def test_what_nobody_knows_is_retried(stand: Stand) -> None:
    error = stand.connector.classify(RuntimeError("row 5 has password hunter2"), stand.table)
    assert error.recovery.value == "retry"
    assert "hunter2" not in error.text()


@pytest.mark.parametrize("kind", [KeyError, AttributeError, RuntimeError])
def test_what_nobody_knows_is_told_without_the_name_of_an_exception(stand: Stand, kind: type[Exception]) -> None:
    error = render(stand.connector.classify(kind("x"), stand.table))
    assert not re.findall(r"\w+(?:Error|Exception)", error)


def test_an_error_of_ours_stays_what_it_is(stand: Stand) -> None:
    error: SourceError = ColumnMissing(connector="x", table="t", column="c")
    assert stand.connector.classify(error, stand.table) is error


def test_a_schema_holds_no_dictionary_or_view_types(schema: TableSchema) -> None:
    assert not any(pa.types.is_dictionary(field.type) or "view" in str(field.type) for field in schema.columns)


def test_it_is_a_connector(stand: Stand) -> None:
    connector: Connector = stand.connector
    assert connector.hint()
