"""Every line of a file is a row or a quarantined row, and says what it is."""

from __future__ import annotations

import base64
import gzip
import struct
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from pyarrow.parquet import encryption

from extract.hostile_json import HOSTILE_TEXTS
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import check_config, open_connector
from hakiri.extract.errors import BadValue, ColumnMissing, NoColumnFound, RequestWrong, SourceMoved, TableMissing
from hakiri.model.errors import BadConfig
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable


def folder(path: Path, files: dict[str, bytes], **config: Any) -> Connector:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return open_connector("files", {"path": str(path), **config})


def read(connector: Connector, *columns: Column) -> tuple[dict[str, str], list[Any], list[tuple[Any, ...]]]:
    """The types of table `t`, its rows, and line, reason and column of what is quarantined."""
    schema = connector.describe(SourceTable("t", columns=columns))
    batches = list(connector.read(schema, WholeTable()))
    assert sum(batch.num_rows for batch in batches) == connector.count(schema, WholeTable())
    bad = [batch for batch in batches if kind_of(batch) is BatchKind.QUARANTINED]
    faults = [(row["position"], row["reason"], row["column"]) for batch in bad for row in batch.to_pylist()]
    rows = [row for batch in batches if kind_of(batch) is BatchKind.ROWS for row in batch.to_pylist()]
    return {field.name: str(field.type) for field in schema.columns}, rows, faults


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a,b\n1,x\n2,y\n", [(1, "x"), (2, "y")]),
        (b"a,b\r\n1,x\r\n2,y", [(1, "x"), (2, "y")]),
        (b"\xef\xbb\xbfa,b\n1,\xc3\xa9\n", [(1, "\u00e9")]),
        (b'a,b\n1,"x,y"\n2,"say ""hi"""\n', [(1, "x,y"), (2, 'say "hi"')]),
        (b'a,b\n1,"two\nlines"\n2,y\n', [(1, "two\nlines"), (2, "y")]),
        (b'a,b\n1,"two\r\nlines"\r\n', [(1, "two\r\nlines")]),
        (b'a,b\n1,\n2,""\n', [(1, None), (2, "")]),
        (b'a,b\n1,5" pipe\n2,x"y"\n', [(1, '5" pipe'), (2, 'x"y"')]),
        (b"a,b\n\n1,x\n\r\n\n2,y\n\n", [(1, "x"), (2, "y")]),
        (b"a,b\n1,\xef\xbb\xbfx\n", [(1, "\ufeffx")]),
        (b"a,b\n1,x\x00y\n", [(1, "x\x00y")]),
    ],
)
def test_csv_is_read_as_it_was_meant(tmp_path: Path, data: bytes, rows: list[Any]) -> None:
    kinds, found, faults = read(folder(tmp_path, {"t.csv": data}))
    assert [tuple(row.values()) for row in found] == rows
    assert (kinds, faults) == ({"a": "int64", "b": "string"}, [])


@pytest.mark.parametrize(
    ("data", "good", "faults"),
    [
        (b"a,b\n1,x\n2\n4,w\n", [1, 4], [(3, "has 1 field where 2 are due", None)]),
        (b"a,b\n1,x\n3,y,z\n4,w\n", [1, 4], [(3, "has 3 fields where 2 are due", None)]),
        (b"a,b\n1,x\n2,\xff\n3,y\n", [1, 3], [(3, "is not UTF-8", "b")]),
        (b"a,b\n1,x\n\xff\n3,y\n", [1, 3], [(3, "has 1 field where 2 are due", None)]),
        (b'a,b\n1,"open\n2,y\n3,z\n', [2, 3], [(2, "opens a quote that is not closed", None)]),
        (b'a,b\n1,"two\nlines"\nx\n3,y\n', [1, 3], [(4, "has 1 field where 2 are due", None)]),
        (b"a,b\n1,x\ry\n2,y\n", [2], [(2, "has a carriage return outside quotes", None)]),
        (
            b'a,b\n\r"1,7\n\r",9\n2,y\n',
            [2],
            [(2, "has a carriage return outside quotes", None), (3, "has a carriage return outside quotes", None)],
        ),
        (b"a,b\n1,x\n" + b"9" * 2_000 + b",y\n3,z\n", [1, 3], [(3, "is longer than a line may be", None)]),
        (b'a,b\n1,"x\n' + b"9" * 2_000 + b'",y\n3,z\n', [3], [(2, "is longer than a line may be", None)]),
    ],
)
def test_a_bad_csv_line_is_quarantined_and_its_neighbours_are_not(
    tmp_path: Path, data: bytes, good: list[int], faults: list[Any]
) -> None:
    connector = folder(tmp_path, {"t.csv": data}, max_line_bytes=1_024)
    _, rows, found = read(connector, Column("a", "bigint"), Column("b", "string"))
    assert ([row["a"] for row in rows], found) == (good, faults)


@pytest.mark.parametrize("line", [b'a"b,"c', b'"a,b', b"a", b"a,b,c", b"a\rb,c"])
def test_bad_lines_take_time_by_their_number_and_not_by_its_square(tmp_path: Path, line: bytes) -> None:
    count = 20_001
    connector = folder(tmp_path, {"t.csv": b"a,b\n" + (line + b"\n") * count})
    schema = connector.describe(SourceTable("t", columns=(Column("a", "string"), Column("b", "string"))))
    started = process_time()
    batches = list(connector.read(schema, WholeTable()))
    assert process_time() - started < 5  # by its square, minutes
    raw = b"".join(row["raw"].encode() for batch in batches for row in batch.to_pylist() if "raw" in row)
    assert raw.count(line) == sum(batch.num_rows for batch in batches if kind_of(batch) is BatchKind.QUARANTINED)
    assert raw.count(line) in (1, count)


def test_a_value_of_another_type_than_declared_is_quarantined(tmp_path: Path) -> None:
    data = b"id,price,day\n1,1.50,2024-01-02\n2,1.555,2024-01-02\n3,2.00,soon\n"
    connector = folder(tmp_path, {"t.csv": data})
    kinds, rows, faults = read(connector, Column("id", "int"), Column("price", "decimal(8,2)"), Column("day", "date"))
    assert kinds == {"id": "int32", "price": "decimal128(8, 2)", "day": "date32[day]"}
    assert rows == [{"id": 1, "price": Decimal("1.50"), "day": date(2024, 1, 2)}]
    assert [(line, column) for line, _, column in faults] == [(3, "price"), (4, "day")]


def test_a_quarantined_row_shows_what_was_found(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/x.csv": b'a,b\n1,x\n"two\n2",y\n'})
    schema = connector.describe(SourceTable("t", columns=(Column("a", "bigint"),)))
    bad = next(batch for batch in connector.read(schema, WholeTable()) if kind_of(batch) is BatchKind.QUARANTINED)
    (row,) = bad.to_pylist()
    assert (row["origin"], row["position"], row["raw"]) == ("t/x.csv", 3, '"two\n2",y')


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ("1 -2", "int64"),
        ("1 2.5", "double"),
        ("007 12", "string"),
        ("true false", "bool"),
        ("1 0", "int64"),
        ("2024-01-02 2024-12-31", "date32[day]"),
        ("2024-01-02T03:04:05 2024-01-02T03:04", "timestamp[us]"),
        ("2024-01-02T03:04:05Z 2024-01-02T03:04:05+01:00", "timestamp[us, tz=UTC]"),
        ("2024-02-30 2024-01-01", "string"),
        ("99999999999999999999 1", "string"),
        ("0.12345678901234567890 1", "string"),
        ("a 1", "string"),
    ],
)
def test_the_type_of_a_csv_column_is_the_narrowest_that_changes_nothing(tmp_path: Path, texts: str, kind: str) -> None:
    data = "x,y\n" + "".join(f"{text},\n" for text in texts.split())
    assert read(folder(tmp_path, {"t.csv": data.encode()}))[0] == {"x": kind, "y": "string"}


def test_a_file_without_a_header_takes_the_declared_names(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t.csv": b"1;x\n2;y\n"}, header=False, delimiter=";")
    assert read(connector, Column("a"), Column("b"))[1] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert list(read(connector)[0]) == ["column_1", "column_2"]


def test_a_first_line_that_is_no_row_is_quarantined_where_no_header_is_due(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t.csv": b'\n"open;x\n1;y\n'}, header=False, delimiter=";")
    _, rows, faults = read(connector)
    assert rows == [{"column_1": 1, "column_2": "y"}]
    assert faults == [(2, "opens a quote that is not closed", None)]


def test_a_floor_of_another_type_than_the_cursor_is_told(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t.csv": b"a\n1\n"})
    schema = connector.describe(SourceTable("t", cursor="a"))
    with pytest.raises(RequestWrong):
        list(connector.read(schema, WholeTable(), since="x"))


@pytest.mark.parametrize(("encoding", "bad"), [("latin-1", 0), ("utf-16", 0), ("cp1252", 1)])
def test_another_encoding_is_read_and_a_byte_outside_it_is_quarantined(tmp_path: Path, encoding: str, bad: int) -> None:
    data = "a,b\n1,\u00e9\n".encode(encoding) + (b"2,\x81\n" if bad else b"")
    _, rows, faults = read(folder(tmp_path, {"t.csv": data}, encoding=encoding))
    assert ([row["b"] for row in rows], len(faults)) == (["\u00e9"], bad)


@pytest.mark.parametrize("bad", [b"\x00\xd8", b"\x00\xdc"])
def test_half_a_pair_of_utf_16_is_quarantined_and_its_neighbours_are_not(tmp_path: Path, bad: bytes) -> None:
    rest = "\n3,y\n4,\U0001f600\n".encode("utf-16-le") + bad[:1]
    data = "a,b\n1,x\n2,".encode("utf-16-le") + bad + rest
    columns = Column("a", "string"), Column("b", "string")
    _, rows, faults = read(folder(tmp_path, {"t.csv": data}, encoding="utf-16-le"), *columns)
    assert [tuple(row.values()) for row in rows] == [("1", "x"), ("3", "y"), ("4", "\U0001f600")]
    assert sorted(line for line, _, _ in faults) == [3, 6]


def test_files_of_one_table_may_have_other_columns(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"a,b\n1,x\n", "t/2.csv": b"c,a\ntrue,2.5\n"})
    kinds, rows, _ = read(connector)
    assert kinds == {"a": "double", "b": "string", "c": "bool"}
    assert rows == [{"a": 1.0, "b": "x", "c": None}, {"a": 2.5, "b": None, "c": True}]


def test_a_column_that_came_after_the_description_is_not_lost(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"a\n1\n", "t/1.jsonl": b'{"a": 1}\n'})
    schema = connector.describe(SourceTable("t"))
    folder(tmp_path, {"t/2.csv": b"a,new\n2,2024-01-02\n", "t/2.jsonl": b'{"a": 3, "new": [1]}\n'})
    rows = [row for batch in connector.read(schema, WholeTable()) for row in batch.to_pylist()]
    assert [row.get("new") for row in rows] == [None, None, date(2024, 1, 2), [1]]


OLD = pa.struct([("street", pa.string())])
NEW = pa.struct([("street", pa.string()), ("city", pa.string())])
HOME = {"street": "a", "city": "b"}


@pytest.mark.parametrize(
    ("within", "value"),
    [
        (lambda kind: kind, HOME),
        (lambda kind: pa.struct([("home", kind)]), {"home": HOME}),
        (pa.list_, [HOME]),
        (lambda kind: pa.map_(pa.string(), kind), [("x", HOME)]),
    ],
    ids=["struct", "struct of struct", "list", "map"],
)
def test_a_member_that_only_an_unsampled_parquet_file_has_is_not_lost(
    tmp_path: Path, within: Callable[[pa.DataType], pa.DataType], value: Any
) -> None:
    (tmp_path / "t").mkdir()
    for number in range(40):
        column = pa.array([value], within(NEW)) if number == 1 else pa.array([None], within(OLD))
        parquet.write_table(pa.table({"x": column}), tmp_path / f"t/{number:02}.parquet")
    kinds, rows, faults = read(folder(tmp_path, {}))
    assert "city" not in kinds["x"]
    assert ([row["x"] for row in rows if row["x"]], faults) == ([value], [])


def test_a_member_that_a_json_file_has_behind_its_sample_is_not_lost(tmp_path: Path) -> None:
    line = b'{"a": {"b": 1}, "l": [{"b": 1}]}\n'
    new = b'{"a": {"b": 1, "c": {"d": true}}, "l": [{"b": 1}, {"c": 2}]}\n'
    kinds, rows, faults = read(folder(tmp_path, {"t.jsonl": line * 1_000 + new + line}, batch_rows=600))
    assert kinds == {"a": "struct<b: int64>", "l": "list<item: struct<b: int64>>"}
    assert rows[1_000] == {"a": {"b": 1, "c": {"d": True}}, "l": [{"b": 1, "c": None}, {"b": None, "c": 2}]}
    assert (len(rows), rows[1_001]["a"], faults) == (1_002, {"b": 1, "c": None}, [])


def test_a_member_that_a_declared_type_does_not_name_is_quarantined(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t.jsonl": b'{"a": {"b": 1}}\n{"a": {"b": 1, "c": 2}}\n'})
    parquet.write_table(pa.table({"a": [{"b": 1, "c": None}, {"b": 1, "c": 2}]}), tmp_path / "t.parquet")
    _, rows, faults = read(connector, Column("a", "struct<b:bigint>"))
    assert rows == [{"a": {"b": 1}}] * 2
    assert faults == [(2, "has a key its type does not know", "a")] * 2


def test_maps_of_several_files_hold_the_values_of_all(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        table = pa.table({"x": pa.array([[("k", 1)]], pa.map_(pa.string(), kind))})
        parquet.write_table(table, tmp_path / f"t/{name}.parquet")
    kinds, rows, _ = read(folder(tmp_path, {}))
    assert (kinds, rows) == ({"x": "map<string, int64>"}, [{"x": [("k", 1)]}] * 2)


@pytest.mark.parametrize("header", [b"a,a\n1,2\n", b"a,\n1,2\n", b'"a\n1,2\n', b"\xff,b\n1,2\n"])
def test_a_header_that_names_no_columns_is_an_error(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(BadValue):
        read(folder(tmp_path, {"t.csv": header}))


@pytest.mark.parametrize(
    ("columns", "name", "data", "header"),
    [
        (("id", "kind"), "t/2.csv", b"id;kind\n1;x\n", "id;kind"),
        (("id", "kind"), "t/2.csv", b"7,x\n8,y\n", "7, x"),
        (("id", "kind"), "t/2.jsonl", b'{"ID": 1}\n{}\n{"kind;": 2}\n', "ID, kind;"),
        ((), "t/2.csv", b"id;kind\n1;x\n", "id;kind"),
        ((), "t/2.csv", b"7,x\n8,y\n", "7, x"),
    ],
)
def test_a_file_with_none_of_the_columns_fails_and_shows_its_header(
    tmp_path: Path, columns: tuple[str, ...], name: str, data: bytes, header: str
) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"id,kind\n1,x\n"})
    table = SourceTable("t", columns=tuple(map(Column, columns)))
    schema = connector.describe(table)
    folder(tmp_path, {name: data})
    with pytest.raises(NoColumnFound, match=f"^{name} has none of the columns of `t`: its header is `{header}`$"):
        list(connector.read(schema, WholeTable()))
    if not columns:
        with pytest.raises(NoColumnFound):
            connector.describe(table)


def test_a_parquet_file_with_none_of_the_columns_fails_and_shows_them(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"id,kind\n1,x\n"})
    parquet.write_table(pa.table({"ID": [1]}), tmp_path / "t/2.parquet")
    with pytest.raises(NoColumnFound, match="its header is `ID`"):
        read(connector, Column("id"), Column("kind"))


def test_a_file_without_a_header_has_lines_of_the_declared_width_or_quarantined_ones(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"1,2,3\n1,x\n", "t/2.csv": b"7;x\n8;y\n"}, header=False)
    _, rows, faults = read(connector, Column("id", "int"), Column("kind", "string"))
    assert rows == [{"id": 1, "kind": "x"}]
    assert [(line, reason[:11]) for line, reason, _ in faults] == [
        (1, "has 3 field"),
        (1, "has 1 field"),
        (2, "has 1 field"),
    ]


def test_numbered_columns_of_a_file_without_a_header_can_be_declared(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t.csv": b"1,2,x\n"}, header=False)
    assert read(connector, Column("column_3", "string"), Column("column_1", "int"))[1] == [
        {"column_3": "x", "column_1": 1}
    ]


def test_lines_without_a_header_have_as_many_fields_as_the_table_was_described_with(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"1,x\n", "t/2.csv": b"7;x\n"}, header=False)
    schema = connector.describe(SourceTable("t"))
    assert read(connector)[1:] == ([{"column_1": "1", "column_2": "x"}], [(1, "has 1 field where 2 are due", None)])
    folder(tmp_path, {"t/2.csv": b"7,x,y\n8,z\n"})
    batches = list(connector.read(schema, WholeTable()))
    assert [kind_of(batch) for batch in batches] == [BatchKind.ROWS, BatchKind.QUARANTINED, BatchKind.ROWS]


def test_files_without_a_header_may_have_more_or_fewer_columns_than_others(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"1,x\n2,y\n", "t/2.csv": b"3,z,more\n"}, header=False)
    _, rows, faults = read(connector)
    assert rows == [
        {"column_1": 1, "column_2": "x", "column_3": None},
        {"column_1": 2, "column_2": "y", "column_3": None},
        {"column_1": 3, "column_2": "z", "column_3": "more"},
    ]
    assert not faults
    folder(tmp_path, {"t/3.csv": b"4,a,b,new\n"})
    batches = list(connector.read(connector.describe(SourceTable("t")), WholeTable()))
    assert [row.get("column_4") for batch in batches for row in batch.to_pylist()].count("new") == 1


def test_one_odd_first_line_without_a_header_does_not_decide_how_many_fields_are_due(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"made,by,hand\n1,x\n2,y\n", "t/2.csv": b"3,z\n"}, header=False)
    _, rows, faults = read(connector)
    assert [row["column_1"] for row in rows] == [1, 2, 3]
    assert faults == [(1, "has 3 fields where 2 are due", None)]


def test_a_line_without_a_declared_numbered_column_is_quarantined(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"1,2,x\n", "t/2.csv": b"7\n", "t/3.csv": b"8,y\n"}, header=False)
    _, rows, faults = read(connector, Column("column_1", "string"), Column("column_3", "string"))
    assert rows == [{"column_1": "1", "column_3": "x"}]
    assert faults == [(1, "has 1 field where 3 are due", None), (1, "has 2 fields where 3 are due", None)]


def test_a_numbered_column_that_no_file_has_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ColumnMissing, match="column_30"):
        read(folder(tmp_path, {"t.csv": b"1,2,x\n"}, header=False), Column("column_1"), Column("column_30"))


def test_objects_without_members_are_quarantined_where_there_is_no_column_for_them(tmp_path: Path) -> None:
    _, rows, faults = read(folder(tmp_path, {"t.jsonl": b"{}\n{}\n"}))
    assert rows == []
    assert faults == [(1, "is an object without members", None), (2, "is an object without members", None)]


def test_objects_without_members_are_quarantined_where_columns_are_declared(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.jsonl": b"{}\n{ }\n", "t/2.jsonl": b'{"a": 1}\n{}\n{"b": 2}\n'})
    _, rows, faults = read(connector, Column("a", "bigint"))
    assert rows == [{"a": 1}, {"a": None}]
    assert faults == [(line, "is an object without members", None) for line in (1, 2, 2)]


def test_an_object_without_members_is_a_row_of_nulls_where_other_lines_show_columns(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.jsonl": b"{}\n", "t/2.jsonl": b'{"a": 1}\n'})
    assert read(connector)[1:] == ([{"a": None}, {"a": 1}], [])


def test_files_without_a_row_lack_no_column(tmp_path: Path) -> None:
    described = folder(tmp_path, {"t/1.jsonl": b""}).describe(SourceTable("t", primary_key=("id",)))
    assert (described.names, described.primary_key) == ((), ("id",))
    with pytest.raises(ColumnMissing):
        folder(tmp_path, {"t/2.jsonl": b'{"no": 1}\n'}).describe(SourceTable("t", primary_key=("id",)))


def test_empty_files_have_no_rows(tmp_path: Path) -> None:
    files = {"t/a.csv": b"", "t/b.csv": b"a,b\n", "t/c.csv": b"\n\n", "t/d.csv": b"a,b\n1,x\n", "t/e.jsonl": b""}
    assert read(folder(tmp_path, files))[1:] == ([{"a": 1, "b": "x"}], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((text.encode(), reason) for text, reason in HOSTILE_TEXTS),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (b'{"a": "text"}', "cannot be read as int64"),
        (b'{"a": 1.5}', "is not a whole number"),
        (b'{"a": 9223372036854775808}', "is too large for int64"),
        (b'{"a": ' + b"1" * 2_000 + b"}", "is longer than a line may be"),
        (b'{"a": 1e999999999}', "is too large for int64"),
        (b'{"a": 1e1000}', "is too large for int64"),
        (b'{"a": 1e-999999999}', "is not a whole number"),
        (b'{"a": ' + b"1" * 1_000 + b"}", "is too large for int64"),
    ],
)
def test_a_bad_json_line_is_quarantined_and_its_neighbours_are_not(tmp_path: Path, line: bytes, reason: str) -> None:
    data = b'{"a": 1}\n\n' + line + b'\n{"a": 2}\r\n'
    connector = folder(tmp_path, {"t.jsonl": data}, max_line_bytes=1_024)
    _, rows, faults = read(connector, Column("a", "bigint"))
    assert [row["a"] for row in rows] == [1, 2]
    assert [(line, reason) for line, reason, _ in faults] == [(3, reason)]


SPELLED = "names the key `{}`, which differs in case alone from the column `{}`"


@pytest.mark.parametrize("batch_rows", [1, 50_000])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 3, "S": 1}', SPELLED.format("S", "s")),
        (b'{"a": 3, "s": {"X": 1}}', SPELLED.format("X", "x")),
        (b'{"a": 3, "l": [{"y": 1}, {"Y": 1}]}', SPELLED.format("Y", "y")),
        (b'{"a": 3, "new": 1, "New": 1}', SPELLED.format("New", "new")),
        (b'{"a": 3, "_hakiri_run_id": 1}', "names the key `_hakiri_run_id`, which is a column that Hakiri adds"),
        (b'{"a": 3, "_Hakiri_Op": 1}', "names the key `_Hakiri_Op`, which is a column that Hakiri adds"),
    ],
)
@pytest.mark.parametrize("names", [("t.jsonl",), ("t/1.jsonl", "t/2.jsonl")])
def test_a_json_line_with_a_key_that_is_no_column_of_its_own_is_quarantined(
    tmp_path: Path, line: bytes, reason: str, batch_rows: int, names: tuple[str, ...]
) -> None:
    first, last = b'{"a": 1, "s": {"x": 1}, "text": "A"}\n', b'\n{"a": 2, "text": {"A": 1, "a": 2}}\n'
    parts = [first + line + last] if len(names) == 1 else [first, line + last]
    connector = folder(tmp_path, dict(zip(names, parts, strict=True)), batch_rows=batch_rows)
    _, rows, faults = read(connector)
    assert [row["a"] for row in rows] == [1, 2]
    assert faults == [(2 if len(names) == 1 else 1, reason, None)]


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("a,b\0", "the name `b\\\\0` has a NUL in it"),
        ("a,b,A", "`a` and `A` differ in case alone"),
        ("a,_hakiri_hash", "`_hakiri_hash` is a column that Hakiri adds"),
    ],
)
def test_a_name_that_no_column_can_have_fails_its_file_by_name(tmp_path: Path, header: str, why: str) -> None:
    names = header.split(",")
    parquet.write_table(pa.table({name: [1] for name in names}), tmp_path / "u.parquet")
    connector = folder(tmp_path, {"t.csv": f"{header}\n1,2\n".encode()})
    for table, file in (("t", "t.csv"), ("u", "u.parquet")):
        with pytest.raises(BadValue, match=why) as caught:
            connector.describe(SourceTable(table))
        assert caught.value.where == file
        assert connector.describe(SourceTable(table, columns=(Column("a", "int"),))).names == ("a",)


def test_a_name_of_other_case_in_another_file_fails_that_file_and_the_others_are_read(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/1.csv": b"a,b\n1,2\n", "t/2.csv": b"a,B\n1,2\n"})
    schema = connector.describe(SourceTable("t"))
    first, second = (piece.span for piece in connector.survey(schema).pieces)
    assert [batch.to_pylist() for batch in connector.read(schema, first)] == [[{"a": 1, "b": 2}]]
    with pytest.raises(BadValue, match="`b` and `B`") as caught:
        list(connector.read(schema, second))
    assert caught.value.where == "t/2.csv"


@pytest.mark.parametrize("number", [b"1e999999999", b"-1e-999999999", b"1e9999999999999999999999", b"1" * 4_301])
@pytest.mark.parametrize(
    "kind", ["int", "double", "float", "decimal(38,10)", "array<bigint>", "struct<x:double>", None]
)
def test_a_number_no_type_holds_is_quarantined_by_all_of_them(tmp_path: Path, number: bytes, kind: str | None) -> None:
    within = {"array<bigint>": b"[%b]", "struct<x:double>": b'{"x": %b}'}.get(kind or "", b"%b")
    data = b"".join(b'{"a": %b}\n' % (within % one) for one in (b"1", number, b"2"))
    _, rows, faults = read(folder(tmp_path, {"t.jsonl": data}), Column("a", kind))
    assert (len(rows), [line for line, _, _ in faults]) == (2, [2])


def test_zero_with_any_exponent_is_zero(tmp_path: Path) -> None:
    data = b'{"a": 0e999999999}\n{"a": -0e-999999999}\n{"a": 1.20e1}\n'
    assert [row["a"] for row in read(folder(tmp_path, {"t.jsonl": data}), Column("a", "int"))[1]] == [0, 0, 12]


def test_json_values_keep_their_digits_and_shape(tmp_path: Path) -> None:
    data = b'{"n": 0.10, "s": {"x": [1, null]}, "m": 1.10, "e": {}}\n{"n": 12345678901234567.89, "m": "x", "s": null}\n'
    connector = folder(tmp_path, {"t.jsonl": data})
    kinds, rows, _ = read(connector, Column("n", "decimal(38,2)"), Column("s"), Column("m"), Column("e"))
    assert kinds["s"] == "struct<x: list<item: int64>>"
    assert rows[0] == {"n": Decimal("0.10"), "s": {"x": [1, None]}, "m": "1.10", "e": "{}"}
    assert rows[1] == {"n": Decimal("12345678901234567.89"), "s": None, "m": "x", "e": None}


NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (pa.array([1, None], pa.uint32()), "int64", [1, None]),
        (pa.array([2**64 - 1], pa.uint64()), "decimal128(20, 0)", [Decimal(2**64 - 1)]),
        (pa.array(["a"]).dictionary_encode(), "string", ["a"]),
        (pa.array([datetime(2024, 1, 2)], pa.timestamp("ns")), "timestamp[us]", [datetime(2024, 1, 2)]),
        (pa.array([NOON], pa.timestamp("ms", "Europe/Paris")), "timestamp[us, tz=UTC]", [NOON]),
        (pa.array([[1]], pa.large_list(pa.int8())), "list<item: int8>", [[1]]),
        (pa.array([3_600_000], pa.time32("ms")), "string", ["01:00:00.000"]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array([{"a": 1}], pa.struct([("a", pa.uint8())])), "struct<a: int16>", [{"a": 1}]),
    ],
)
def test_a_parquet_column_has_a_type_delta_holds(tmp_path: Path, column: pa.Array, kind: str, values: Any) -> None:
    parquet.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
    kinds, rows, faults = read(folder(tmp_path, {}))
    assert (kinds, faults) == ({"x": kind}, [])
    assert [row["x"] for row in rows] == values


def test_a_parquet_value_that_would_lose_digits_is_quarantined(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1_000, 1_001, None], pa.timestamp("ns"))})
    parquet.write_table(table, tmp_path / "t.parquet")
    _, rows, faults = read(folder(tmp_path, {}))
    assert (len(rows), faults) == (2, [(2, "cannot be read as timestamp[us]", "x")])


def test_a_parquet_value_that_its_declared_type_would_change_is_quarantined(tmp_path: Path) -> None:
    table = pa.table({"x": [1.55, 1.555], "y": [0.1, 0.1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    _, rows, faults = read(folder(tmp_path, {}), Column("x", "decimal(3,2)"), Column("y", "float"))
    assert [row["x"] for row in rows] == [Decimal("1.55")]
    assert [(row, column) for row, _, column in faults] == [(2, "x")]


INT96 = "2024-01-02T03:04:05.000001 0001-01-01 1500-06-07T08:09:10.111213 2262-04-11T23:47:16.9 9999-12-31T23:59:59"


def int96_file(path: Path, column: pa.Array) -> None:
    """Spark's and Hive's old times. Arrow itself writes none outside nanoseconds, so days are put in afterwards."""
    parquet.write_table(
        pa.table({"x": column}), path, use_deprecated_int96_timestamps=True, compression="none", use_dictionary=False
    )


def int96(text: str) -> bytes:
    moment = datetime.fromisoformat(text)
    since_midnight = moment - datetime(moment.year, moment.month, moment.day)
    nanoseconds = (since_midnight.seconds * 1_000_000 + since_midnight.microseconds) * 1_000
    return struct.pack("<QI", nanoseconds, moment.toordinal() + 1_721_425)


@pytest.mark.parametrize("within", [lambda kind: kind, pa.list_, lambda kind: pa.struct([("a.b", kind)])])
def test_a_time_of_int96_outside_nanoseconds_lands_as_microseconds(
    tmp_path: Path, within: Callable[[pa.DataType], pa.DataType]
) -> None:
    marks = [datetime(2000, 1, number + 1) for number in range(len(INT96.split()))]
    wrap: Callable[[Any], Any] = {pa.list_: lambda one: [one]}.get(within, lambda one: one)  # type: ignore[call-overload]
    kind = within(pa.timestamp("ns"))
    wrap = (lambda one: {"a.b": one}) if pa.types.is_struct(kind) else wrap
    int96_file(tmp_path / "t.parquet", pa.array([*map(wrap, marks), None], kind))
    data = (tmp_path / "t.parquet").read_bytes()
    for mark, text in zip(marks, INT96.split(), strict=True):
        assert data.count(int96(mark.isoformat())) == 1
        data = data.replace(int96(mark.isoformat()), int96(text))
    _, rows, faults = read(folder(tmp_path, {"t.parquet": data}))
    due = [*(wrap(datetime.fromisoformat(text)) for text in INT96.split()), None]
    assert ([row["x"] for row in rows], faults) == (due, [])


@pytest.mark.parametrize("day", ["2024-01-02", "9999-12-31"])
def test_a_time_of_int96_with_digits_below_the_microsecond_is_quarantined(tmp_path: Path, day: str) -> None:
    marks = [datetime(2000, 1, 1), datetime(2000, 1, 2), datetime(2000, 1, 3)]
    int96_file(tmp_path / "t.parquet", pa.array([[mark] for mark in marks], pa.list_(pa.timestamp("ns"))))
    exact = int96(day)
    data = (tmp_path / "t.parquet").read_bytes().replace(int96("2000-01-02"), struct.pack("<Q", 1) + exact[8:])
    data = data.replace(int96("2000-01-03"), exact)
    _, rows, faults = read(folder(tmp_path, {"t.parquet": data}))
    assert [row["x"] for row in rows] == [[marks[0]], [datetime.fromisoformat(day)]]
    assert [(row, column) for row, _, column in faults] == [(2, "x")]


def test_a_quarantined_parquet_row_is_shown_whatever_times_are_in_it(tmp_path: Path) -> None:
    far = pa.array([2**60, 2**60], pa.timestamp("us"))
    parquet.write_table(pa.table({"x": pa.array(["1", "no"]), "far": far}), tmp_path / "t.parquet")
    connector = folder(tmp_path, {})
    schema = connector.describe(SourceTable("t", columns=(Column("x", "int"), Column("far", "timestamp_ntz"))))
    (aside,) = connector.read(schema, WholeTable())
    assert (kind_of(aside), aside.num_rows) == (BatchKind.QUARANTINED, 2)
    assert aside.to_pylist()[1]["raw"].startswith('{"x": "no", "far": "')


def of_bytes(kind: pa.DataType, *values: bytes) -> pa.Array:
    """A column with these bytes in the place of values, whatever its type makes of them."""
    if kind == pa.string():
        stored = pa.array(values, pa.binary())
        return pa.Array.from_buffers(kind, len(values), stored.buffers())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(b"".join(values))])


def of_numbers(kind: pa.DataType, *values: int) -> pa.Array:
    return of_bytes(kind, *(value.to_bytes(kind.bit_width // 8, "little", signed=True) for value in values))


DAY = 86_400_000_000
YEARS = "lies outside the years 1 to 9999"
UNSOUND = [
    (of_bytes(pa.string(), b"ok", b"\xff\xfe", b"\xed\xa0\x80"), "is not UTF-8"),
    (of_numbers(pa.date32(), 0, 2_000_000_000, -2_000_000_000), YEARS),
    (of_numbers(pa.timestamp("us"), 0, 600_000_000_000_000_000, -100_000_000_000_000_000), YEARS),
    (of_numbers(pa.timestamp("us", "UTC"), 0, 2_932_897 * DAY, -719_163 * DAY), YEARS),
    (of_numbers(pa.timestamp("ms"), 0, 2_932_897 * DAY // 1_000, -719_163 * DAY // 1_000), YEARS),
    (of_numbers(pa.time64("us"), DAY - 1, DAY + 3_600_000_000, -1), "is no value of time64[us]"),
    (of_numbers(pa.decimal128(5, 2), 99_999, 1_048_576, -(10**20)), "is no value of decimal128(5, 2)"),
]
WITHIN = {
    "itself": lambda column: column,
    "struct": lambda column: pa.StructArray.from_arrays([column], ["a"]),
    "list": lambda column: pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column),
    "map": lambda column: pa.MapArray.from_arrays(
        pa.array(range(len(column) + 1), pa.int32()), pa.array(["k"] * len(column)), column
    ),
}


@pytest.mark.parametrize("declared", [None, "string"])
@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize(("column", "reason"), UNSOUND, ids=lambda one: str(getattr(one, "type", "")))
def test_a_parquet_value_that_is_none_of_its_type_is_quarantined(
    tmp_path: Path, column: pa.Array, reason: str, within: str, declared: str | None
) -> None:
    parquet.write_table(pa.table({"n": [1, 2, 3], "x": WITHIN[within](column)}), tmp_path / "t.parquet")
    shape = {"struct": "struct<a:{}>", "list": "array<{}>", "map": "map<string,{}>"}.get(within, "{}")
    columns = (Column("n", "int"), Column("x", shape.format(declared))) if declared else ()
    _, rows, faults = read(folder(tmp_path, {}), *columns)
    assert [row["n"] for row in rows] == [1]
    assert faults == [(2, reason, "x"), (3, reason, "x")]


def with_checksums(compression: str = "none") -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [f"value {number}" for number in range(1_000)]})
    parquet.write_table(table, sink, write_page_checksum=True, compression=compression, use_dictionary=False)
    return bytes(sink.getvalue())


def test_a_page_that_does_not_match_its_checksum_fails_its_file_by_name(tmp_path: Path) -> None:
    data = with_checksums().replace(b"value 500", b"value 5OO")
    with pytest.raises(BadValue, match=r"damaged: .*CRC checksum.*\(t.parquet\)"):
        read(folder(tmp_path, {"t.parquet": data}))


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys by doing nothing."""

    def __init__(self, _config: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, key: bytes, _master: str) -> bytes:
        return base64.b64decode(key)


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_parquet_file_is_named_as_such(tmp_path: Path, plaintext_footer: bool) -> None:
    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["x"]}, plaintext_footer=plaintext_footer
    )
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"x": [1], "y": [2]})
    with parquet.ParquetWriter(tmp_path / "t.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(BadValue, match=r"the file is encrypted: .*\(t.parquet\)"):
        read(folder(tmp_path, {}))


def test_a_parquet_file_that_names_a_column_twice_is_named(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(BadValue, match=r"named twice \(t.parquet\)"):
        read(folder(tmp_path, {}))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.parquet", b"PAR1 no parquet"),
        ("t.parquet", with_checksums("gzip")[:-300]),
        ("t.parquet", with_checksums("gzip")[:100] + b"?" * 400 + with_checksums("gzip")[500:]),
        ("t.csv.gz", b"no gzip"),
        ("t.csv.zst", b"no zstd"),
        ("t.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 9, mtime=0)[:-4]),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(BadValue) as caught:
        read(folder(tmp_path, {name: data}))
    assert caught.value.where == name


def test_a_file_without_its_byte_order_mark_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="byte order mark") as caught:
        read(folder(tmp_path, {"t.csv": "a\n1\n".encode("utf-16-le")}, encoding="utf-16"))
    assert caught.value.where == "t.csv"


def test_two_compressed_members_in_a_row_are_one_file(tmp_path: Path) -> None:
    data = gzip.compress(b"a\n1\n") + gzip.compress(b"2\n")
    assert read(folder(tmp_path, {"t.csv.gz": data}))[1] == [{"a": 1}, {"a": 2}]


def test_each_file_is_a_piece_and_a_changed_file_is_another(tmp_path: Path) -> None:
    connector = folder(tmp_path, {"t/b.csv": b"a\n1\n", "t/a.csv": b"a\n2\n", "t/_done": b"", "t/.x.csv": b"a\n3\n"})
    schema = connector.describe(SourceTable("t"))
    before = connector.survey(schema)
    assert [piece.span.path for piece in before.pieces] == ["t/a.csv", "t/b.csv"]  # type: ignore[union-attr]
    (tmp_path / "t/a.csv").write_bytes(b"a\n44\n")
    after = connector.survey(schema)
    assert [one == two for one, two in zip(before.pieces, after.pieces, strict=True)] == [False, True]
    with pytest.raises(SourceMoved):
        list(connector.read(schema, before.pieces[0].span))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{table}-*.csv", ["t-1.csv", "t-2.csv"]),
        ("**/{table}-?.csv", ["deep/er/t-3.csv", "t-1.csv", "t-2.csv"]),
        ("deep/**", ["deep/er/t-3.csv"]),
        ("*/{table}-3.csv", None),
    ],
)
def test_a_pattern_says_which_files_make_up_a_table(tmp_path: Path, pattern: str, found: list[str] | None) -> None:
    names = ["t-1.csv", "t-2.csv", "deep/er/t-3.csv", "u-1.csv"]
    connector = folder(tmp_path, dict.fromkeys(names, b"a\n1\n"), pattern=pattern)
    if found is None:
        with pytest.raises(TableMissing):
            connector.probe(SourceTable("t"))
        return
    pieces = connector.survey(connector.describe(SourceTable("t"))).pieces
    assert [piece.span.path for piece in pieces] == found  # type: ignore[union-attr]


def test_a_file_of_no_known_format_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        folder(tmp_path, {"t/a.csv": b"a\n1\n", "t/b.xls": b""}).describe(SourceTable("t"))
    assert caught.value.key == "format"


def test_an_unknown_encoding_or_key_is_told() -> None:
    problems = check_config("files", {"path": "x", "encoding": "klingon", "delimeter": ";"})
    assert {problem.key for problem in problems} == {"encoding", "delimeter"}


@pytest.mark.parametrize("name", ["rot13", "base64", "zlib_codec", "idna", "punycode", "undefined", "unicode_escape"])
def test_an_encoding_that_is_none_of_text_is_told_before_a_file_is_read(name: str) -> None:
    (problem,) = check_config("files", {"path": "x", "encoding": name})
    assert (problem.key, "encoding of text" in problem.reason) == ("encoding", True)


@pytest.mark.parametrize("name", ["UTF8", "utf-16", "utf-8-sig", "latin-1", "cp037", "shift_jis", "gb18030", "utf-7"])
def test_an_encoding_of_text_is_read(tmp_path: Path, name: str) -> None:
    assert read(folder(tmp_path, {"t.csv": "a,b\n1,x\n".encode(name)}, encoding=name))[1] == [{"a": 1, "b": "x"}]


def as_csv(rows: Iterable[Iterable[str | None]]) -> str:
    return "".join(
        ",".join("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows
    )


CELLS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text('",\r\n', max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS), max_size=8))
def test_whatever_is_quoted_comes_back(tmp_path: Path, rows: list[tuple[str | None, str | None]]) -> None:
    connector = folder(tmp_path, {"t.csv": ("a,b\n" + as_csv(rows)).encode()})
    _, found, faults = read(connector, Column("a", "string"), Column("b", "string"))
    assert ([tuple(row.values()) for row in found], faults) == (rows, [])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"w", b"\xff", b'""', b"\n\n", b"1,7\n"]), max_size=30))
def test_whatever_the_bytes_no_line_is_lost(tmp_path: Path, parts: list[bytes]) -> None:
    body = b"".join(parts)
    connector = folder(tmp_path, {"t.csv": b"a,b\n" + body})
    schema = connector.describe(SourceTable("t", columns=(Column("a", "string"), Column("b", "string"))))
    batches = list(connector.read(schema, WholeTable()))
    cells = ["raw" if kind_of(batch) is BatchKind.QUARANTINED else "a b" for batch in batches]
    texts = [
        text
        for batch, names in zip(batches, cells, strict=True)
        for name in names.split()
        for text in batch.column(name).to_pylist()
    ]
    for mark in ("w", "7"):
        assert sum(text.count(mark) for text in texts if text) == body.count(mark.encode())


@pytest.mark.parametrize(
    ("files", "is_refused"),
    [
        ({"t/1.csv": b"id,at\n1,9\n2,10\n3,x\n"}, True),
        ({"t/1.csv": b"id,at\n1,9\n", "t/2.csv": b"id,at\n2,x\n"}, True),
        ({"t/1.jsonl": b'{"id": 1, "at": 9}\n{"id": 2, "at": "10"}\n'}, True),
        ({"t/1.csv": b"id,at\n1,12345678901234567890123456789012345678901\n"}, True),
        ({"t/1.csv": b"id,at\n1,9\n2,10\n"}, False),
        ({"t/1.csv": b"id,at\n1,a9\n2,b10\n"}, False),
        ({"t/1.csv": b"id,at\n1,007\n2,010\n"}, False),
        ({"t/1.csv": b"id,at\n1,2026-01-01\n"}, False),
    ],
)
def test_a_cursor_of_text_with_numbers_in_it_is_none_unless_it_is_declared(
    tmp_path: Path, files: dict[str, bytes], is_refused: bool
) -> None:
    connector = folder(tmp_path, files)
    found = connector.describe(SourceTable("t", cursor="at"))
    assert bool(found.unordered) is is_refused
    assert "10 comes before 9" in found.unordered or not is_refused
    declared = (Column("id"), Column("at", "string"))
    assert not connector.describe(SourceTable("t", columns=declared, cursor="at")).unordered
    assert not connector.describe(SourceTable("t")).unordered
