"""A chunk of a file reads the bytes that were surveyed, or nothing."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from hakiri.errors import Recovery
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.errors import FileChanged, SourceMoved
from hakiri.model.span import OneFile, from_json, to_json
from hakiri.model.table import Column, SourceTable, TableSchema

ROWS = 40_000
LINES = b"".join(b"%08d,%s\n" % (number, b"x" * 60) for number in range(ROWS))


def surveyed(path: Path, data: bytes, name: str = "t.csv", **config: Any) -> tuple[Connector, TableSchema, OneFile]:
    (path / name).write_bytes(data)
    connector = open_connector("files", {"path": str(path), "batch_rows": 1_000, **config})
    schema = connector.describe(SourceTable("t", columns=(Column("a", "string"), Column("b", "string"))))
    (piece,) = connector.survey(schema).pieces
    assert isinstance(piece.span, OneFile)
    return connector, schema, piece.span


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[Any]:
    found = list(batches)
    assert all(kind_of(batch) is BatchKind.ROWS for batch in found)
    return [row["a"] for batch in found for row in batch.to_pylist()]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        (b"a,b\n1,x\n", b"2,y\n", ["1"]),
        (b"a,b\n1,x\n2,hel", b"lo\n", ["1"]),
        (b"a,b\n1,x\n2", b",y\n", ["1"]),
        (b"a,b\n1,x\n2,y", b"\n3,z\n", ["1"]),
        (b"a,b\n", b"1,x\n", []),
        (b"", b"a,b\n1,x\n", []),
        (b"a,b\n1,x\n2,\xc3", b"\xa9\n", ["1"]),
    ],
)
def test_a_file_that_only_grew_is_read_up_to_the_last_whole_line_that_was_surveyed(
    tmp_path: Path, before: bytes, after: bytes, rows: list[str]
) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/0.csv").write_bytes(b"a,b\n")  # so that there are columns in any case
    connector = open_connector("files", {"path": str(tmp_path)})
    (tmp_path / "t/1.csv").write_bytes(before)
    schema = connector.describe(SourceTable("t", columns=(Column("a", "string"), Column("b", "string"))))
    span = from_json(to_json(connector.survey(schema).pieces[1].span))
    append(tmp_path / "t/1.csv", after)
    assert rows_of(connector.read(schema, span)) == rows
    grown = connector.survey(schema).pieces[1].span
    assert grown != span
    assert len(rows_of(connector.read(schema, grown))) == (before + after).count(b"\n") - 1


def test_any_number_of_files_may_grow_while_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    paths = [tmp_path / f"t/{number:03}.csv" for number in range(100)]
    for path in paths:
        path.write_bytes(b"a,b\n1,x\n")
    old = tmp_path / "t/old.csv"
    old.write_bytes(b"a,b\n1,x\n")
    os.utime(old, (1, 1))
    connector = open_connector("files", {"path": str(tmp_path)})
    schema = connector.describe(SourceTable("t", columns=(Column("a", "string"), Column("b", "string"))))
    spans = [piece.span for piece in connector.survey(schema).pieces if isinstance(piece.span, OneFile)]
    for path in paths:
        append(path, b"2,y\n")
    assert [rows_of(connector.read(schema, span)) for span in spans] == [["1"]] * 101
    assert [span.path for span in spans if not span.tail] == ["t/old.csv"], "nobody is writing to it"


def test_half_a_character_at_the_end_of_a_file_that_grew_is_left_for_later(tmp_path: Path) -> None:
    text = "a,b\n1,x\n2,\U0001f600".encode("utf-16-le")
    connector, schema, span = surveyed(tmp_path, text[:-2], encoding="utf-16-le")
    append(tmp_path / "t.csv", text[-2:])
    assert rows_of(connector.read(schema, span)) == ["1"]


def test_a_last_line_without_its_end_is_a_row_where_the_file_is_as_it_was(tmp_path: Path) -> None:
    connector, schema, span = surveyed(tmp_path, b"a,b\n1,x\n2,y")
    assert rows_of(connector.read(schema, span)) == ["1", "2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"a,b\n9,z\n9,z\n9,z\n"),  # longer, and the line ends where the old one did
        lambda path: path.write_bytes(b"a,b\n9,z\n"),
        lambda path: path.write_bytes(b"a,b\n"),
        lambda path: path.unlink(),
        lambda path: path.rename(path.with_name("_t.csv")),
    ],
    ids=["longer", "as long", "shorter", "removed", "renamed"],
)
def test_a_file_that_changed_since_its_survey_is_not_read(tmp_path: Path, change: Callable[[Path], Any]) -> None:
    connector, schema, span = surveyed(tmp_path, b"a,b\n1,x\n")
    change(tmp_path / "t.csv")
    with pytest.raises(SourceMoved):
        list(connector.read(schema, span))


def test_a_compressed_file_that_grew_is_not_read(tmp_path: Path) -> None:
    connector, schema, span = surveyed(tmp_path, gzip.compress(b"a,b\n1,x\n"), "t.csv.gz")
    append(tmp_path / "t.csv.gz", gzip.compress(b"2,y\n"))
    with pytest.raises(SourceMoved):
        list(connector.read(schema, span))


def overwritten(path: Path) -> None:
    """The same size in the same file, within its second half."""
    told = path.stat()
    with path.open("r+b") as file:
        file.seek(told.st_size // 2)
        file.write(b"y" * 100)
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns + 1))


def swapped(path: Path) -> None:
    """Another file under the name, of the same size and time."""
    told = path.stat()
    path.with_name("_new").write_bytes(b"a,b\n" + LINES[::-1][1:] + b"\n")
    os.utime(path.with_name("_new"), ns=(told.st_atime_ns, told.st_mtime_ns))
    path.with_name("_new").rename(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (told.st_size, told.st_mtime_ns)


@pytest.mark.parametrize(
    "change",
    [
        overwritten,
        swapped,
        lambda path: path.write_bytes(b"a,b\n" + LINES[::-1] * 2),
        lambda path: path.write_bytes(b"a,b\n"),
        lambda path: path.unlink(),
    ],
    ids=["overwritten", "swapped", "written anew", "cut", "removed"],
)
def test_a_file_that_changes_while_it_is_read_fails_the_attempt_and_the_next_one_reads_nothing(
    tmp_path: Path, change: Callable[[Path], Any]
) -> None:
    connector, schema, span = surveyed(tmp_path, b"a,b\n" + LINES)
    batches = connector.read(schema, span)
    next(batches)
    change(tmp_path / "t.csv")
    with pytest.raises(FileChanged) as caught:
        list(batches)
    assert (caught.value.file, caught.value.recovery) == ("t.csv", Recovery.RETRY)
    if change is not swapped:
        with pytest.raises(SourceMoved):
            list(connector.read(schema, span))


def test_a_file_that_grows_while_it_is_read_is_read_to_its_surveyed_end(tmp_path: Path) -> None:
    connector, schema, span = surveyed(tmp_path, b"a,b\n" + LINES)
    batches = connector.read(schema, span)
    first = next(batches)
    append(tmp_path / "t.csv", b"9,half a l")
    assert first.num_rows + len(rows_of(batches)) == ROWS


def test_a_line_that_grows_just_after_it_was_taken_for_whole_fails_the_attempt(tmp_path: Path) -> None:
    connector, schema, span = surveyed(tmp_path, b"a,b\n1,x\n2,hel")
    batches = connector.read(schema, span)
    assert next(batches).num_rows == 2
    append(tmp_path / "t.csv", b"lo\n")
    with pytest.raises(FileChanged):
        list(batches)
    assert rows_of(connector.read(schema, span)) == ["1"]


def test_a_parquet_file_that_is_replaced_while_it_is_read_is_changed_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [str(number) for number in range(ROWS)], "b": ["x"] * ROWS})
    parquet.write_table(table, path, row_group_size=1_000, compression="none")
    connector, schema, span = surveyed(tmp_path, path.read_bytes(), "t.parquet")
    batches = connector.read(schema, span)
    next(batches)
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(FileChanged):
        list(batches)


def test_the_same_survey_is_the_same_span_whether_or_not_the_tail_was_looked_at() -> None:
    assert OneFile("a", "1-2", "tail") == OneFile("a", "1-2")
    assert from_json(to_json(OneFile("a", "1-2", "tail"))).tail == "tail"  # type: ignore[union-attr]
    assert from_json('{"file":"a","version":"1-2"}') == OneFile("a", "1-2")


def test_an_object_of_the_same_size_and_second_is_another_version(s3_endpoint: str) -> None:
    account = {"access_key": "someone", "secret_key": "secret", "region": "us-east-1"}
    store = fs.S3FileSystem(endpoint_override=s3_endpoint, allow_bucket_creation=True, **account)
    store.create_dir("moving")

    def put(data: bytes) -> None:
        with store.open_output_stream("moving/t.csv", compression=None) as file:
            file.write(data)

    put(b"a,b\n" + LINES)
    connector = open_connector(
        "files", {"path": "s3://moving", "endpoint": s3_endpoint, "batch_rows": 1_000, **account}
    )
    schema = connector.describe(SourceTable("t"))
    (before,) = connector.survey(schema).pieces
    batches = connector.read(schema, before.span)
    next(batches)
    put(b"a,b\n" + LINES[::-1][1:] + b"\n")
    with pytest.raises(FileChanged):
        list(batches)
    with pytest.raises(SourceMoved):
        list(connector.read(schema, before.span))
    assert connector.survey(schema).pieces != (before,)
    put(b"a,b\n" + LINES)
    assert connector.survey(schema).pieces == (before,)
