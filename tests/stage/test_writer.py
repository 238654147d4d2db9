"""What is accepted is what lies in the files, in memory bounded by a row group."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hakiri.model.staged import StagedChunk, Tally
from hakiri.stage.errors import AttemptTaken, ColumnUnholdable, SchemaDrifted
from hakiri.stage.local import LocalFiles
from hakiri.stage.port import Files
from hakiri.stage.seal import seal
from hakiri.stage.writer import AttemptWriter, Sizes
from stage.attempts import ATTEMPT, batch, quarantined, stage


def staged(writer: AttemptWriter) -> StagedChunk:
    rows, aside = writer.staged_rows, writer.set_aside_rows
    return seal(writer, Tally(read=rows + aside, staged=rows, quarantined=aside))


def tables(files: Files, chunk: StagedChunk) -> Iterator[pa.Table]:
    for file in chunk.files:
        with files.open(file.path) as opened:
            yield pq.read_table(pa.BufferReader(opened.read()))


def rows(files: Files, chunk: StagedChunk) -> list[dict[str, object]]:
    return [row for table in tables(files, chunk) for row in table.to_pylist()]


def test_every_row_is_staged_in_order(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    for first in range(0, 100, 7):
        writer.accept(batch(first, 7))
    assert [row["id"] for row in rows(files, staged(writer))] == list(range(105))


def test_small_batches_share_a_row_group(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    for first in range(100):
        writer.accept(batch(first, 1))
    (file,) = staged(writer).files
    with files.open(file.path) as opened:
        assert pq.ParquetFile(pa.BufferReader(opened.read())).num_row_groups == 1


def test_a_large_chunk_becomes_several_files(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT, sizes=Sizes(row_group_bytes=1_000, file_bytes=2_000))
    for first in range(0, 1_000, 100):
        writer.accept(batch(first, 100))
    chunk = staged(writer)
    assert [Path(file.path).name for file in chunk.files][:2] == ["part-00000.parquet", "part-00001.parquet"]
    assert sum(file.rows for file in chunk.files) == 1_000
    assert len({row["id"] for row in rows(files, chunk)}) == 1_000


def test_a_chunk_without_rows_has_no_file(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept(batch().slice(0, 0))
    chunk = staged(writer)
    assert chunk.files == ()
    assert chunk.schema.names == ["id", "note"]


def test_a_column_that_comes_later_begins_a_new_file(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept(batch(0, 2))
    writer.accept(batch(2, 2, colour=["red", None]))
    writer.accept(batch(4, 1, colour=["blue"]))
    chunk = staged(writer)
    assert chunk.schema.names == ["id", "note", "colour"]
    assert [table.column_names for table in tables(files, chunk)] == [["id", "note"], ["id", "note", "colour"]]
    assert [row.get("colour") for row in rows(files, chunk)] == [None, None, "red", None, "blue"]


def test_a_member_that_comes_later_begins_a_new_file(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    for value in ({"a": 1}, {"b": {"c": 2}, "a": 1}, {"a": 3, "b": {"c": 4}}):
        writer.accept(pa.RecordBatch.from_pylist([{"nested": [value]}]))
    chunk = staged(writer)
    assert str(chunk.schema.field("nested").type) == "list<element: struct<a: int64, b: struct<c: int64>>>"
    assert [[row["nested"] for row in table.to_pylist()] for table in tables(files, chunk)] == [
        [[{"a": 1}]],
        [[{"a": 1, "b": {"c": 2}}], [{"a": 3, "b": {"c": 4}}]],
    ]


@pytest.mark.parametrize("later", [{"b": 1}, {"a": "1"}], ids=["gone", "retyped"])
def test_a_member_that_is_gone_or_has_another_type_is_refused(files: Files, later: dict[str, object]) -> None:
    with AttemptWriter(files, ATTEMPT) as writer:
        writer.accept(pa.RecordBatch.from_pylist([{"nested": {"a": 1}}]))
        with pytest.raises(SchemaDrifted, match="`nested`"):
            writer.accept(pa.RecordBatch.from_pylist([{"nested": later}]))
        writer.abandon()


def test_the_order_of_columns_does_not_matter(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept(batch(0, 2))
    writer.accept(batch(2, 2).select(["note", "id"]))
    assert [row["id"] for row in rows(files, staged(writer))] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("later", "column", "reason"),
    [
        (batch().select(["id"]), "note", "no longer there"),
        (batch().set_column(0, "id", pa.array(map(str, range(10)))), "id", "was int64, and is string"),
        (batch(ID=list(range(10))), "ID", "another column"),
        (batch(at=pa.array([1] * 10, pa.timestamp("ns"))), "at", "Delta has no timestamp"),
    ],
    ids=["gone", "retyped", "doubled", "unholdable"],
)
def test_a_batch_that_does_not_go_with_the_others_is_refused(
    files: Files, later: pa.RecordBatch, column: str, reason: str
) -> None:
    with AttemptWriter(files, ATTEMPT) as writer:
        writer.accept(batch())
        with pytest.raises((SchemaDrifted, ColumnUnholdable)) as raised:
            writer.accept(later)
        writer.abandon()
    assert raised.value.column == column
    assert reason in raised.value.message()


@pytest.mark.parametrize(
    "kind",
    [
        pa.uint8(),
        pa.uint64(),
        pa.large_string(),
        pa.large_list(pa.int8()),
        pa.dictionary(pa.int32(), pa.string()),
        pa.timestamp("ms"),
        pa.timestamp("us", tz="Europe/Paris"),
        pa.time64("us"),
        pa.null(),
        pa.decimal256(40, 2),
        pa.list_(pa.uint8()),
        pa.struct([("a", pa.time32("s"))]),
        pa.map_(pa.string(), pa.duration("us")),
        pa.struct([]),
    ],
    ids=str,
)
def test_a_type_that_delta_cannot_hold_is_refused_by_name(files: Files, kind: pa.DataType) -> None:
    with AttemptWriter(files, ATTEMPT) as writer, pytest.raises(ColumnUnholdable, match="`odd`"):
        writer.accept(pa.RecordBatch.from_arrays([pa.nulls(1, kind)], names=["odd"]))


def test_an_attempt_is_never_written_into_twice(files: Files) -> None:
    stage(files)
    with pytest.raises(AttemptTaken):
        AttemptWriter(files, ATTEMPT)


def test_rows_that_are_also_staged_are_not_counted_as_set_aside(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept_quarantined(quarantined(3))
    writer.accept_quarantined(quarantined(2, is_kept=True))
    chunk = staged(writer)
    assert chunk.tally.quarantined == 3
    assert [file.rows for file in chunk.quarantine] == [5]


def test_a_dictionary_is_made_only_where_values_repeat(files: Files) -> None:
    writer = AttemptWriter(files, ATTEMPT)
    writer.accept(batch(rows=1_000, flag=["yes", "no"] * 500))
    (file,) = staged(writer).files
    with files.open(file.path) as opened:
        group = pq.ParquetFile(pa.BufferReader(opened.read())).metadata.row_group(0)
    assert [group.column(index).has_dictionary_page for index in range(3)] == [False, False, True]


FULL = """
import resource, sys
from pathlib import Path
import pyarrow as pa
from hakiri.model.errors import NotWritable
from hakiri.stage.local import LocalFiles
from hakiri.stage.writer import Sizes
from stage.attempts import ATTEMPT, batch
from hakiri.stage.writer import AttemptWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with AttemptWriter(LocalFiles(Path(sys.argv[1])), ATTEMPT, sizes=Sizes(row_group_bytes=1_000)) as writer:
        for first in range(0, 1_000_000, 1_000):
            writer.accept(batch(first, 1_000))
except NotWritable as refused:
    sys.exit(refused.code)
"""


def test_a_full_disk_is_an_error_of_ours(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "orders")]
    ended = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert ended.stderr.strip() == "HK501"


def test_memory_is_bounded_by_a_row_group(tmp_path: Path) -> None:
    def written(batches: int) -> int:
        files = LocalFiles(tmp_path / f"{batches}")
        with AttemptWriter(files, ATTEMPT, sizes=Sizes(row_group_bytes=4 << 20, file_bytes=8 << 20)) as writer:
            for first in range(batches):
                writer.accept(batch(first * 50_000, 50_000))
            writer.close()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    few = written(10)
    assert written(100) - few < 64 << 10  # kibibytes; the ninety more batches are 150 MB
