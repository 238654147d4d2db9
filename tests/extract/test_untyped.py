"""What files have no value for is typed by the landed table, and is in no new table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.untyped import lacks_types, typed_by, without_untyped
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable, TableSchema
from hakiri.model.types import DATE, DOUBLE, INTEGER, LONG, STRING, Array
from hakiri.model.types.text import parse_type

NAMED = (Column("id"), Column("n"))


def files(folder: Path, **texts: str) -> Connector:
    (folder / "t").mkdir(exist_ok=True)
    for name, text in texts.items():
        stem, _, form = name.partition("_")
        (folder / f"t/{stem}.{form}").write_text(text, encoding="utf-8")
    return open_connector("files", {"path": str(folder)})


def kinds(schema: TableSchema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema.columns}


def test_a_column_without_a_value_has_its_landed_type(tmp_path: Path) -> None:
    schema = files(tmp_path, a_jsonl='{"id": 1, "n": null}\n').describe(SourceTable("t"))
    assert lacks_types(schema)
    assert kinds(schema) == {"id": "int64", "n": "string"}
    assert kinds(typed_by(schema, {"id": STRING, "n": DOUBLE}, may_add=True)) == {"id": "int64", "n": "double"}


def test_a_member_without_a_value_has_its_landed_type(tmp_path: Path) -> None:
    text = '{"id": 1, "at": {"zip": null, "town": "x"}, "tags": []}\n'
    schema = files(tmp_path, a_jsonl=text).describe(SourceTable("t"))
    known = {"at": parse_type("struct<zip:bigint,street:string>"), "tags": Array(INTEGER)}
    found = typed_by(schema, known, may_add=True).columns
    assert found.field("at").type == pa.struct([("zip", pa.int64()), ("town", pa.string())])
    assert found.field("tags").type.value_type == pa.int32()


@pytest.mark.parametrize("columns", [(), NAMED])
def test_files_without_a_row_have_the_landed_columns(tmp_path: Path, columns: tuple[Column, ...]) -> None:
    schema = files(tmp_path, a_jsonl="").describe(SourceTable("t", columns=columns))
    found = typed_by(schema, {"id": LONG, "n": DATE}, may_add=True)
    assert kinds(found) == {"id": "int64", "n": "date32[day]"}


@pytest.mark.parametrize(("name", "text"), [("a_jsonl", ""), ("a_csv", ""), ("a_csv", "id,n\n")])
@pytest.mark.parametrize("columns", [(), NAMED])
def test_a_new_table_has_no_column_that_no_file_has_a_value_for(
    tmp_path: Path, columns: tuple[Column, ...], name: str, text: str
) -> None:
    schema = without_untyped(files(tmp_path, **{name: text}).describe(SourceTable("t", columns=columns)))
    assert schema.names == ()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a_jsonl", "", '{"n": 2, "id": 1, "more": 3}\n'),
        ("a_csv", "", "n,id,more\n2,1,3\n"),
        ("a_csv", "more,n,id\n", "n,id,more\n2,1,3\n"),
    ],
)
def test_rows_that_come_after_the_description_keep_the_values_of_named_columns(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    schema = without_untyped(files(tmp_path, **{name: before}).describe(SourceTable("t", columns=NAMED)))
    (batch,) = files(tmp_path, **{name: after}).read(schema, WholeTable())
    assert batch.to_pylist() == [{"id": 1, "n": 2}]


def test_fields_of_a_file_without_a_header_keep_their_places(tmp_path: Path) -> None:
    columns = (Column("id"), Column("n", "int"))
    source = open_connector("files", {"path": str(tmp_path), "header": False})
    files(tmp_path, a_csv="")
    schema = without_untyped(source.describe(SourceTable("t", columns=columns)))
    files(tmp_path, a_csv="1,2\n")
    (batch,) = source.read(schema, WholeTable())
    assert batch.to_pylist() == [{"n": 2, "id": 1}]


def test_a_column_with_a_value_leaves_every_column_where_it_is(tmp_path: Path) -> None:
    schema = files(tmp_path, a_csv="id,n\n1,\n").describe(SourceTable("t"))
    assert kinds(without_untyped(schema)) == {"id": "int64", "n": "string"}
