"""A chunk arrives whole: every row of the source is staged, set aside or filtered, and counted once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.connector.hostile import HostileConnector, Mood
from conformance.connector.stands import CURSOR, rows
from extract.transform.operations import reshape_of
from hakiri.extract.chunk import ChunkRead, Extracted, extract_chunk
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.quarantine import BatchKind, Fault, fault_batch
from hakiri.extract.errors import ChunkTooLarge, ColumnReserved, SourceFailed, TransformFailed, TypeUnlandable
from hakiri.extract.provenance import Provenance
from hakiri.model.chunk import ChunkKey
from hakiri.model.span import WholeTable
from hakiri.model.staged import PROVENANCE, Tally
from hakiri.model.table import SourceTable, TableSchema
from hakiri.spec.quality import NotNullRule, RowFailure
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.seal import seal, verify
from hakiri.stage.writer import AttemptWriter

TABLE = SourceTable("things", cursor=CURSOR)
PROVENANCE_OF_TEST = Provenance(
    pipeline="shop", run="run-1", node="n1", chunk="all", ingested_at=datetime(2026, 1, 5, 7, 30, tzinfo=UTC)
)
NOT_NULL = NotNullRule(type="not_null", field="note", on_fail=RowFailure.SKIP)
WARN = NotNullRule(type="not_null", field="amount", on_fail=RowFailure.WARN)


@dataclass
class Kept:
    """A sink that remembers."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    aside: list[pa.RecordBatch] = field(default_factory=list)

    def accept(self, kept: pa.RecordBatch) -> None:
        self.batches.append(kept)

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        self.aside.append(rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch.to_pylist()]


class Broken(Kept):
    """A sink with a bug in it."""

    def accept(self, kept: pa.RecordBatch) -> None:
        raise ZeroDivisionError(kept.num_rows)


@dataclass(frozen=True)
class Scripted(HostileConnector):
    """Says the batches it is given, then fails with what it is given."""

    mood: Mood = Mood.PLAIN
    batches: tuple[pa.RecordBatch, ...] = ()
    failure: Exception | None = None
    closed: list[bool] = field(default_factory=list)

    def read(self, *_: Any, **__: Any) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.batches
            if self.failure:
                raise self.failure
        finally:
            self.closed.append(True)


def extracted(connector: Connector, sink: Kept, **options: Any) -> Extracted:
    schema = HostileConnector(Mood.PLAIN).describe(TABLE)
    return extract_chunk(connector, ChunkRead(schema, WholeTable()), sink, provenance=PROVENANCE_OF_TEST, **options)


def things(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_every_row_arrives_with_where_it_came_from() -> None:
    sink = Kept()
    found = extracted(HostileConnector(Mood.PLAIN), sink)
    assert [{k: v for k, v in row.items() if k not in PROVENANCE} for row in sink.rows] == rows()
    assert found.tally == Tally(read=300, staged=300)
    first = sink.rows[0]
    assert [first[name] for name in PROVENANCE[:3]] == ["run-1", "all", PROVENANCE_OF_TEST.ingested_at]
    assert len({row["_hakiri_hash"] for row in sink.rows}) == 300


def test_the_cursor_reaches_from_the_least_to_the_greatest_value() -> None:
    found = extracted(HostileConnector(Mood.PLAIN), Kept())
    seen = [row[CURSOR] for row in rows() if row[CURSOR] is not None]
    assert (found.cursor_low, found.cursor_high) == (min(seen), max(seen))


def test_a_cursor_in_any_zone_is_told_in_utc() -> None:
    at = datetime(2026, 1, 5, 7, 30, tzinfo=UTC)
    batch = pa.RecordBatch.from_arrays([pa.array([at], pa.timestamp("us", tz="Asia/Tokyo"))], names=[CURSOR])
    found = extracted(Scripted(batches=(batch,)), Kept())
    assert isinstance(found.cursor_low, datetime)
    assert (found.cursor_low, found.cursor_low.tzinfo) == (at, UTC)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32()])
def test_a_year_that_python_has_no_name_for_moves_no_cursor(kind: pa.DataType) -> None:
    far = [-(2**31 - 1), 0, 2**31 - 1] if pa.types.is_date(kind) else [-(2**60), 0, 2**60]
    found = extracted(Scripted(batches=(things(**{CURSOR: pa.array(far, kind)}),)), Kept())
    assert (found.tally.staged, found.cursor_low) == (3, found.cursor_high)
    assert found.cursor_low == pa.scalar(0, kind).as_py()


def test_rules_set_rows_aside_and_the_tally_knows() -> None:
    sink = Kept()
    found = extracted(HostileConnector(Mood.PLAIN), sink, rules=(NOT_NULL, WARN))
    without_note = sum(row["note"] is None for row in rows())
    assert found.tally == Tally(read=300, staged=300 - without_note, quarantined=without_note)
    assert found.tally.is_balanced
    assert found.broken["not_null:note"] == without_note
    aside = [row for batch in sink.aside for row in batch.to_pylist()]
    assert sum(not row["is_kept"] for row in aside) == without_note


def test_what_a_transform_drops_is_counted_as_filtered() -> None:
    sink = Kept()
    found = extracted(HostileConnector(Mood.PLAIN), sink, reshape=reshape_of('df.filter(pl.col("id") < 100)'))
    assert found.tally == Tally(read=300, staged=100, filtered=200)
    assert len(sink.rows) == 100


def test_what_a_transform_makes_is_landed_in_types_of_delta() -> None:
    sink = Kept()
    extracted(HostileConnector(Mood.PLAIN), sink, reshape=reshape_of('df.select(pl.col("id").cast(pl.UInt64))'))
    assert sink.batches[0].schema.field("id").type == pa.decimal128(20, 0)


def test_rows_that_a_transform_multiplies_and_leaves_out_are_both_counted() -> None:
    batch = things(names=[["a", "b", "c"], [], ["d"]])
    sink = Kept()
    found = extracted(Scripted(batches=(batch, batch)), sink, reshape=reshape_of('df.explode("names")'))
    assert found.tally == Tally(read=6, staged=8, filtered=2, added=4)
    assert found.tally.is_balanced
    assert [row["names"] for row in sink.rows] == ["a", "b", "c", "d"] * 2


def test_a_transform_that_has_to_see_a_chunk_sees_all_batches_at_once() -> None:
    sink = Kept()
    batches = (things(seen=[3, 1]), things(seen=[2, 1]))
    found = extracted(Scripted(batches=batches), sink, reshape=reshape_of('df.unique("seen").sort("seen")'))
    assert [row["seen"] for row in sink.rows] == [1, 2, 3]
    assert found.tally == Tally(read=4, staged=3, merged=1)


def test_a_chunk_that_is_too_large_to_be_seen_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hakiri.extract.chunk.CHUNK_BYTES", 20)
    with pytest.raises(ChunkTooLarge):
        extracted(Scripted(batches=(things(seen=[1, 2, 3]),)), Kept(), reshape=reshape_of('df.sort("seen")'))


def test_a_value_that_a_transform_cannot_take_fails_the_chunk_and_is_not_quoted() -> None:
    batch = things(seen=["1", "secret"])
    with pytest.raises(TransformFailed) as failed:
        extracted(Scripted(batches=(batch,)), Kept(), reshape=reshape_of('df.cast({"seen": pl.Int64})'))
    assert "step 1 (`cast`)" in failed.value.message()
    assert "secret" not in failed.value.message()


def test_what_a_connector_could_not_read_is_set_aside_and_counted() -> None:
    unread = fault_batch(BatchKind.QUARANTINED, [Fault("a.csv", 7, "has 3 cells of 2", raw="1,2,3")])
    remark = fault_batch(BatchKind.REMARKS, [Fault("a.csv", 8, "is out of range", column="at")])
    sink = Kept()
    found = extracted(Scripted(batches=(unread, things(seen=[1, 2]), remark)), sink)
    assert found.tally == Tally(read=3, staged=2, quarantined=1)
    told = [row for batch in sink.aside for row in batch.to_pylist()]
    assert [(row["rule_id"], row["line"], row["is_kept"]) for row in told] == [
        ("unreadable", 7, False),
        ("remark", 8, True),
    ]
    assert told[0]["row"] == "1,2,3"


def test_a_row_that_is_set_aside_tells_who_did_it_when_and_which_row_it_is() -> None:
    unread = fault_batch(BatchKind.QUARANTINED, [Fault("t", 7, "is no date", raw="{}", key='{"id": 4}')])
    sink = Kept()
    schema = replace(HostileConnector(Mood.PLAIN).describe(TABLE), primary_key=("id",))
    extract_chunk(
        Scripted(batches=(unread, things(id=[5], note=pa.array([None], pa.string())))),
        ChunkRead(schema, WholeTable()),
        sink,
        provenance=PROVENANCE_OF_TEST,
        rules=(NOT_NULL,),
    )
    told = [row for batch in sink.aside for row in batch.to_pylist()]
    assert [(row["key"], row["line"], row["origin"]) for row in told] == [
        ('{"id": 4}', None, "t"),
        ('{"id": 5}', None, TABLE.name),
    ]
    stamps = {(row["pipeline_id"], row["run_id"], row["node_id"], row["created_at"]) for row in told}
    assert stamps == {("shop", "run-1", "n1", PROVENANCE_OF_TEST.ingested_at)}


def test_a_chunk_without_rows_still_has_columns() -> None:
    sink = Kept()
    found = extracted(Scripted(), sink, rules=(NOT_NULL,))
    assert found.tally == Tally()
    assert sink.batches[0].schema.names[-4:] == list(PROVENANCE)


def test_a_failure_of_the_driver_is_classified_and_the_connection_closed() -> None:
    connector = Scripted(batches=(things(seen=[1]),), failure=OSError("gone"))
    with pytest.raises(SourceFailed):
        extracted(connector, Kept())
    assert connector.closed == [True]


def test_a_failure_of_the_source_arrives_as_it_is() -> None:
    with pytest.raises(SourceFailed, match="changed its mind"):
        extracted(HostileConnector(Mood.BREAKING), Kept())


def test_a_failure_of_ours_is_not_blamed_on_the_source() -> None:
    connector = Scripted(batches=(things(seen=[1]),))
    with pytest.raises(ZeroDivisionError):
        extracted(connector, Broken())
    assert connector.closed == [True]


def test_a_column_of_ours_cannot_come_from_a_source() -> None:
    with pytest.raises(ColumnReserved, match="_HAKIRI_hash"):
        extracted(Scripted(batches=(things(_HAKIRI_hash=["x"]),)), Kept())


def test_a_type_that_cannot_land_stops_the_chunk() -> None:
    batch = pa.RecordBatch.from_arrays([pa.nulls(1, pa.duration("s"))], names=["odd"])
    with pytest.raises(TypeUnlandable):
        extracted(Scripted(batches=(batch,)), Kept())


def test_a_growing_source_is_staged_whole_and_its_seal_holds(tmp_path: Path) -> None:
    """Extract and stage know nothing of each other; what one hands over, the other seals."""
    files = LocalFiles(tmp_path)
    schema = TableSchema(TABLE, HostileConnector(Mood.GROWING).describe(TABLE).columns)
    with AttemptWriter(files, Attempt("run-1", "node-a", ChunkKey("p", "things", "all"), 1)) as writer:
        found = extract_chunk(
            HostileConnector(Mood.GROWING),
            ChunkRead(schema, WholeTable()),
            writer,
            provenance=PROVENANCE_OF_TEST,
            rules=(NOT_NULL,),
        )
        staged = seal(writer, found.tally, cursor_low=found.cursor_low, cursor_high=found.cursor_high)
    verify(files, staged)
    assert len(staged.files) == 2
    assert "new since" in staged.schema.names
    assert sum(file.rows for file in staged.files) == found.tally.staged
