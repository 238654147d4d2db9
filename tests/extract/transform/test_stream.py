"""What a component answers with is rows of the schema it announced, or a failure, whatever the bytes are."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hakiri.extract.transform import stream
from hakiri.extract.transform.guest import Excess, Failure
from hakiri.extract.transform.stream import rows_of, schema_of, to_stream

ROWS = pa.table(
    {
        "i": pa.array([1, None, 3]),
        "s": pa.array(["a", None, "ccc"]),
        "d": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
        "l": pa.array([[1, 2], None, []], pa.list_(pa.int64())),
        "st": pa.array([{"x": 1, "y": "u"}, None, {"x": None, "y": "v"}]),
    }
)
(BATCH,) = ROWS.to_batches()
STREAM = to_stream(ROWS.schema, BATCH)


def written(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def test_rows_come_back_as_they_went() -> None:
    assert schema_of(to_stream(ROWS.schema)) == ROWS.schema
    assert rows_of(STREAM, ROWS.schema).equals(ROWS)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_rows_are_not_unpacked(codec: str) -> None:
    rows = pa.RecordBatch.from_pydict({"s": ["x" * 100_000]})
    with pytest.raises(Failure, match="is compressed"):
        rows_of(written(rows, pa.ipc.IpcWriteOptions(compression=codec)), rows.schema)


def test_compression_of_the_old_kind_is_not_unpacked_either() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, BATCH.schema) as writer:
        writer.write_batch(BATCH, custom_metadata={"ARROW:experimental_compression": "ZSTD"})
    with pytest.raises(Failure, match="more in it than rows"):
        rows_of(bytes(sink.getvalue()), BATCH.schema)


def test_an_answer_that_stands_for_more_than_it_is_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_ANSWER_BYTES", BATCH.nbytes - 1)
    with pytest.raises(Excess):
        rows_of(STREAM, ROWS.schema)


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([]),
        pa.schema([("a", pa.int64()), ("a", pa.string())]),
        pa.schema([("a", pa.dictionary(pa.int32(), pa.string()))]),
        pa.schema([("a", pa.string_view())]),
        pa.schema([("a", pa.null())]),
        pa.schema([("a", pa.struct([]))]),
        pa.schema([("a", pa.timestamp("ns"))]),
        pa.schema([("a", pa.list_(pa.uint64()))]),
        pa.schema([(f"c{number}", pa.int8()) for number in range(10_001)]),
    ],
    ids=lambda schema: str(schema)[:40],
)
def test_a_schema_that_could_not_land_is_not_announced(schema: pa.Schema) -> None:
    with pytest.raises(Failure):
        schema_of(to_stream(schema))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STREAM) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(STREAM)),
)
@example([(228, 12)], 0)  # a name that is no UTF-8
def test_a_changed_answer_is_rows_of_that_schema_or_a_failure(changes: list[tuple[int, int]], length: int) -> None:
    changed = bytearray(STREAM)
    for at, byte in changes:
        changed[at] = byte
    for raw in (bytes(changed), bytes(changed[:length])):
        with suppress(Failure):
            found = rows_of(raw, ROWS.schema)
            found.validate(full=True)
            assert found.schema == ROWS.schema
        with suppress(Failure):
            schema_of(raw)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_failure(raw: bytes) -> None:
    with pytest.raises(Failure):
        rows_of(raw, ROWS.schema)
