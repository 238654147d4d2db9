"""Whatever a feed calls its changes, each goes on as one of three operations, is set aside, or is counted as none."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from conformance.connector.hostile import HostileConnector, Mood
from extract.debezium import (
    ABOUT_NO_ROW,
    DECLARED,
    DESCRIBED,
    KAFKA,
    TIME,
    TYPES,
    damaged,
    encoded,
    envelope,
    number,
    random_feed,
    schema_of,
    wrapped,
)
from extract.hostile_json import HOSTILE_TEXTS
from hakiri.extract.changes.connect import UNCLEAR_DECIMAL, UNCLEAR_TIME
from hakiri.extract.changes.feed import Feed, described, feed_of
from hakiri.extract.changes.normalize import Unwrapped
from hakiri.extract.changes.placeholder import PLACEHOLDER
from hakiri.extract.chunk import ChunkRead, Extracted, extract_chunk
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.errors import ChangesUnfit, ColumnReserved
from hakiri.extract.provenance import Provenance
from hakiri.model.columns.change import OP_COLUMN, UNAVAILABLE_COLUMN
from hakiri.model.span import WholeTable
from hakiri.model.staged import Tally
from hakiri.model.table import SourceTable, TableSchema
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.quality import NotNullRule, RowFailure

COLUMNS = pa.schema([("id", pa.int64()), ("note", pa.string()), ("lsn", pa.int64()), ("op", pa.string())])


def feed(table: str | dict[str, Any] = "orders", **load: Any) -> Feed:
    spec = PipelineSpec.model_validate(
        {
            "id": "shop",
            "source": {"connector": "files"},
            "tables": [table],
            "load": {"mode": "cdc_mirror", "upsert_key": ["id"], **load},
        }
    )
    found = feed_of(spec, spec.tables[0])
    assert found is not None
    return found


def plain(**changes: Any) -> Feed:
    return feed(sequence_by="lsn", changes=changes)


def changes(found: Unwrapped) -> list[tuple[Any, ...]]:
    """The rows with their operations; what they do not bring is told by `unavailable`."""
    assert found.rows.schema.names[-1] == OP_COLUMN
    names = [name for name in found.rows.schema.names if name != UNAVAILABLE_COLUMN]
    return [tuple(row.values()) for row in found.rows.select(names).to_pylist()]


def reasons(found: Unwrapped) -> list[tuple[str, str]]:
    return [(row["column"], row["reason"]) for batch in found.aside for row in batch.to_pylist()]


def batch(*rows: tuple[Any, ...], schema: pa.Schema = COLUMNS) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


@pytest.mark.parametrize(
    ("word", "op"),
    [
        *((word, "upsert") for word in ("insert", "UPDATE", "Upsert", "c", "u", "r", "I", " U ")),
        *((word, "delete") for word in ("delete", "DELETE", "d", "D")),
        *((word, "clear") for word in ("truncate", "t", "T")),
    ],
)
def test_an_operation_has_several_names(word: str, op: str) -> None:
    (found,) = changes(plain()(batch((1, "a", 5, word))))
    assert found == {"upsert": (1, "a", 5, op), "delete": (1, None, 5, op), "clear": (None, None, 5, op)}[op]


def test_what_is_no_change_is_set_aside_and_counted_once() -> None:
    found = plain()(
        batch(
            (1, "a", 1, "c"),
            (2, "b", 2, "?"),
            (3, "c", 3, None),
            (None, "d", 4, "u"),
            (5, "e", None, "d"),
            (None, "f", 6, "t"),
        )
    )
    assert changes(found) == [(1, "a", 1, "upsert"), (None, None, 6, "clear")]
    assert reasons(found) == [
        ("op", "the operation is none that is known"),
        ("op", "the operation is none that is known"),
        ("id", "the key is NULL"),
        ("lsn", "the sequence is NULL"),
    ]
    assert (found.filtered, found.added) == (0, 0)


def test_a_row_whose_key_changed_is_deleted_under_the_old_one() -> None:
    schema = COLUMNS.append(pa.field("was", pa.int32()))
    found = plain(old_key="was")(
        batch(
            (2, "moved", 7, "u", 1),
            (3, "stayed", 8, "u", 3),
            (4, "new", 9, "c", None),
            (5, "gone", 9, "d", 6),
            schema=schema,
        )
    )
    assert changes(found) == [
        (2, "moved", 7, "upsert"),
        (3, "stayed", 8, "upsert"),
        (4, "new", 9, "upsert"),
        (5, None, 9, "delete"),
        (1, None, 7, "delete"),
    ]
    assert found.added == 1


def test_columns_that_the_manifest_names_have_to_be_there() -> None:
    with pytest.raises(ChangesUnfit, match="no column `action`"):
        plain(op="action").bind(COLUMNS)
    with pytest.raises(ChangesUnfit, match="no column `id_`") as caught:
        feed(upsert_key="id_", sequence_by="lsn").bind(COLUMNS)
    assert caught.value.guess == "id"
    with pytest.raises(ChangesUnfit, match="no column `seq`"):
        feed(sequence_by="seq").bind(COLUMNS)
    with pytest.raises(ColumnReserved, match="_hakiri_Deleted"):
        plain().bind(COLUMNS.append(pa.field("_hakiri_Deleted", pa.bool_())))


ROW = pa.struct([("id", pa.int64()), ("note", pa.string())])
ENVELOPES = pa.schema(
    [
        ("before", ROW),
        ("after", ROW),
        ("op", pa.string()),
        ("source", pa.struct([("lsn", pa.int64()), ("ts_ms", pa.int64())])),
    ]
)


def row(key: int | None, note: str | None = "a") -> dict[str, Any]:
    return {"id": key, "note": note}


def at(lsn: int | None) -> dict[str, Any]:
    return {"lsn": lsn, "ts_ms": 1}


ENVELOPED = [
    (None, row(1), "r", at(5)),
    (row(1), row(1, "b"), "u", at(6)),
    (row(1), row(2, "moved"), "u", at(7)),
    (row(3), None, "d", at(8)),
    (None, None, "t", at(9)),
    (None, None, None, None),
    (None, None, "m", at(9)),
    (None, None, "c", at(10)),
    (None, row(4), "d", at(11)),
    (None, row(None), "c", at(12)),
    (None, row(4), "c", None),
    (None, row(4), "z", at(13)),
    (None, row(4), None, at(14)),
]
TOLD = [
    (1, "a", 5, "upsert"),
    (1, "b", 6, "upsert"),
    (2, "moved", 7, "upsert"),
    (3, None, 8, "delete"),
    (None, None, 9, "clear"),
    (1, None, 7, "delete"),
]
UNTOLD = {
    ("after", "there is no row after the change"): 1,
    ("before", "nothing tells which row was deleted"): 1,
    ("id", "the key is NULL"): 1,
    ("_hakiri_lsn", "the sequence is NULL"): 1,
    ("op", "the operation is none that is known"): 2,
}


def test_an_envelope_tells_its_change() -> None:
    found = feed(changes={"format": "debezium"})(batch(*ENVELOPED, schema=ENVELOPES))
    assert found.rows.schema.names == ["id", "note", "_hakiri_lsn", UNAVAILABLE_COLUMN, OP_COLUMN]
    assert changes(found) == TOLD
    assert {one: reasons(found).count(one) for one in reasons(found)} == UNTOLD
    assert (found.filtered, found.added) == (2, 1)


def test_envelopes_may_be_texts() -> None:
    def text(value: Any) -> Any:
        return json.dumps({**value, "more": [1]}) if isinstance(value, dict) else value

    typed = {"name": "orders", "columns": [{"name": "id", "type": "bigint"}, {"name": "note", "type": "string"}]}
    asked = feed(typed, sequence_by="lsn", changes={"format": "debezium"})
    schema = pa.schema([(name, pa.string()) for name in ENVELOPES.names])
    lines = [tuple(map(text, one)) for one in ENVELOPED]
    found = asked(batch(*lines, schema=schema))
    assert changes(found) == TOLD
    assert {one: reasons(found).count(one) for one in reasons(found)} == UNTOLD
    found = asked(batch((None, '{"id": "x"}', "c", '{"lsn": 1}'), (None, "{", "c", "[]"), schema=schema))
    assert changes(found) == []
    assert reasons(found) == [("source", "is not an object"), ("after.id", "cannot be read as int64")]


def test_a_column_that_comes_behind_the_first_envelopes_is_a_column_of_the_changes(tmp_path: Path) -> None:
    line = {"before": None, "op": "c", "source": {"lsn": 1}}
    old, new = {"id": 1, "note": "a"}, {"id": 2, "note": "b", "colour": "red"}
    texts = [json.dumps({**line, "after": after}) for after in (*[old] * 1_000, new)]
    (tmp_path / "orders.jsonl").write_text("\n".join(texts))
    connector = open_connector("files", {"path": str(tmp_path), "batch_rows": 1_000})
    schema = connector.describe(SourceTable("orders"))
    first, second = map(feed(changes={"format": "debezium"}), connector.read(schema, WholeTable()))
    assert first.rows.schema.names == ["id", "note", "_hakiri_lsn", UNAVAILABLE_COLUMN, OP_COLUMN]
    assert changes(second) == [(2, "b", "red", 1, "upsert")]


def test_a_binlog_orders_by_the_number_of_its_file() -> None:
    source = pa.struct([("file", pa.string()), ("pos", pa.int64()), ("row", pa.int32())])
    schema = pa.schema([("after", ROW), ("op", pa.string()), ("source", source)])
    asked = feed(changes={"format": "debezium"})
    found = asked(
        batch(
            (row(1), "c", {"file": "binlog.000009", "pos": 4, "row": 0}),
            (row(1), "u", {"file": "binlog.1000000", "pos": 4, "row": 1}),
            (row(1), "u", {"file": "binlog", "pos": 4, "row": 1}),
            schema=schema,
        )
    )
    assert found.rows.schema.names[2:] == ["_hakiri_file", "_hakiri_pos", "_hakiri_row", UNAVAILABLE_COLUMN, OP_COLUMN]
    assert changes(found) == [(1, "a", 9, 4, 0, "upsert"), (1, "a", 1_000_000, 4, 1, "upsert")]
    assert reasons(found) == [("_hakiri_file", "the sequence is NULL")]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (pa.schema([("after", ROW), ("op", pa.string())]), "a column `source`"),
        (ENVELOPES.set(3, pa.field("source", pa.struct([("ts_ms", pa.int64())]))), "neither `lsn` nor"),
        (pa.schema([(name, pa.string()) for name in ENVELOPES.names]), "declare them under `columns`"),
        (ENVELOPES.set(1, pa.field("after", pa.struct([("key", pa.int64())]))).remove(0), "no column `id`"),
        (ENVELOPES.set(1, pa.field("after", pa.struct([("id", ROW)]))).remove(0), "`id` is struct.* no order"),
    ],
)
def test_what_is_no_envelope_is_told_before_anything_is_read(schema: pa.Schema, why: str) -> None:
    with pytest.raises(ChangesUnfit, match=why):
        feed(changes={"format": "debezium"}).bind(schema)


@pytest.mark.parametrize("member", ["before", "after", "source", "payload"])
@pytest.mark.parametrize(("text", "reason"), HOSTILE_TEXTS)
def test_a_hostile_text_in_any_member_is_set_aside_with_its_reason(member: str, text: str, reason: str) -> None:
    schema = pa.schema([(name, pa.string()) for name in (*ENVELOPES.names, "payload")])
    good = {"after": '{"id": 1}', "op": "c", "source": '{"lsn": 1}'}
    bad = {"payload": text} if member == "payload" else {**good, member: text}
    asked = feed({"name": "orders", "columns": DECLARED}, sequence_by="lsn", changes={"format": "debezium"})
    found = asked(pa.RecordBatch.from_pylist([good, bad, good], schema=schema))
    assert found.rows.num_rows == 2
    assert reasons(found) == [(member, reason)]


@pytest.mark.parametrize("columns", [DECLARED, []], ids=["declared", "undeclared"])
@pytest.mark.parametrize("member", ["before", "after"])
@pytest.mark.parametrize(("text", "reason"), HOSTILE_TEXTS)
def test_a_hostile_text_in_a_file_is_set_aside_and_its_neighbours_are_not(
    tmp_path: Path, member: str, text: str, reason: str, columns: list[Any]
) -> None:
    first, bad, last = (envelope("c", lsn, None, {"id": lsn}) for lsn in range(3))
    sink, found = read_feed(file_of(tmp_path / "o", first, {**bad, member: text}, last), columns)
    assert [row["id"] for row in sink.rows] == [0, 2]
    assert [(row["column"], row["reason"]) for row in sink.aside] == [(member, reason)]
    assert found.tally == Tally(read=3, staged=2, quarantined=1)


@pytest.mark.parametrize("name", ["\ud800", "b\0", ""])
def test_a_schema_describes_no_column_that_no_table_can_have(name: str) -> None:
    text = json.dumps(schema_of({"id": {"type": "int64"}, name: {"type": "string"}}))
    payload = json.dumps(envelope("c", 1, None, {"id": 1}))
    schema = pa.schema([("schema", pa.string()), ("payload", pa.string())])
    found = feed(sequence_by="lsn", changes={"format": "debezium"})(batch((text, payload), schema=schema))
    assert found.rows.schema.names == ["id", "_hakiri_lsn", UNAVAILABLE_COLUMN, OP_COLUMN]
    assert changes(found) == [(1, 1, "upsert")]


ROWS = {"id": {"type": "int64"}, "v": {}}
MOMENT = 1_767_600_023_540_123


def file_of(folder: Path, *lines: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "orders.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


@dataclass
class Kept:
    """A sink that remembers."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    aside: list[dict[str, Any]] = field(default_factory=list)

    def accept(self, kept: pa.RecordBatch) -> None:
        self.rows += kept.to_pylist()

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        self.aside += rows.to_pylist()


def read_feed(folder: Path, columns: Sequence[Mapping[str, Any]] = (), **options: Any) -> tuple[Kept, Extracted]:
    """What a run reads of a folder of messages."""
    spec = PipelineSpec.model_validate(
        {
            "id": "shop",
            "source": {"connector": "files"},
            "tables": [{"name": "orders", "columns": columns}],
            "load": {"mode": "cdc_mirror", "upsert_key": ["id"], "changes": {"format": "debezium"}},
        }
    )
    connector = open_connector("files", {"path": str(folder), **options})
    schema, sink = described(connector, spec, spec.tables[0]), Kept()
    at = datetime(2026, 1, 5, tzinfo=UTC)
    provenance = Provenance(pipeline="shop", run="r", node="n", chunk="c", ingested_at=at)
    asked = ChunkRead(schema, WholeTable())
    return sink, extract_chunk(connector, asked, sink, provenance=provenance, feed=feed_of(spec, spec.tables[0]))


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("message", ABOUT_NO_ROW.values(), ids=ABOUT_NO_ROW)
def test_messages_about_no_row_are_filtered_and_others_are_not(tmp_path: Path, message: Any, is_wrapped: bool) -> None:
    lines = [envelope("c", 1, None, {"id": 1}), message, {"id": 2, "name": "flattened", "__deleted": "false"}]
    sink, found = read_feed(file_of(tmp_path / "o", *(map(wrapped, lines) if is_wrapped else lines)))
    assert found.tally == Tally(read=3, staged=1, filtered=1, quarantined=1)
    assert [row["reason"] for row in sink.aside] == ["is no message of Debezium"]


def test_both_shapes_in_one_file_land_alike_and_nothing_is_dropped(tmp_path: Path) -> None:
    """The sample shows bare messages alone."""
    bare = [envelope("c", lsn, None, {"id": lsn, "price": "0.25"}) for lsn in range(1, 1_200)]
    late = [wrapped(envelope("c", 5_000, None, {"id": 7, "price": number(Decimal("12.50"))})), wrapped(None)]
    folder = file_of(tmp_path / "o", *bare, *late)
    columns = [{"name": "id", "type": "bigint"}, {"name": "price", "type": "decimal(10,2)"}]
    sink, found = read_feed(folder, columns, batch_rows=500)
    assert found.tally == Tally(read=1_201, staged=1_200, filtered=1)
    assert (sink.rows[0]["price"], sink.rows[-1]["price"]) == (Decimal("0.25"), Decimal("12.50"))


@pytest.mark.parametrize(
    ("kind", "value", "landed"),
    [
        ({"type": "int32", "name": f"{TIME}.Date"}, 20_458, date(2026, 1, 5)),
        ({"type": "int32", "name": f"{KAFKA}.Date"}, -1, date(1969, 12, 31)),
        ({"type": "int64", "name": f"{TIME}.Timestamp"}, 1_767_600_023_540, datetime(2026, 1, 5, 8, 0, 23, 540_000)),
        ({"type": "int64", "name": f"{KAFKA}.Timestamp"}, -1, datetime(1969, 12, 31, 23, 59, 59, 999_000)),
        ({"type": "int64", "name": f"{TIME}.MicroTimestamp"}, MOMENT, datetime(2026, 1, 5, 8, 0, 23, 540_123)),
        ({"type": "int64", "name": f"{TIME}.NanoTimestamp"}, MOMENT * 1_000, datetime(2026, 1, 5, 8, 0, 23, 540_123)),
        (
            {"type": "string", "name": f"{TIME}.ZonedTimestamp"},
            "2026-01-05T08:00:23Z",
            datetime(2026, 1, 5, 8, 0, 23, tzinfo=UTC),
        ),
        ({"type": "int32", "name": f"{TIME}.Time"}, 3_723_004, "01:02:03.004000"),
        ({"type": "int64", "name": f"{TIME}.MicroTime"}, 86_400_000_000, "24:00:00"),
        ({"type": "int64", "name": f"{TIME}.NanoTime"}, 1_000, "00:00:00.000001"),
        ({"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "2"}}, "BOI=", Decimal("12.50")),
        ({"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "2"}}, "/w==", Decimal("-0.01")),
        ({"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "2"}}, 12.5, Decimal("12.50")),
        ({"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "-2"}}, "AQ==", "100"),
        ({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}, {"scale": 3, "value": "AQ=="}, "0.001"),
        ({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}, {"scale": -3, "value": "AQ=="}, "1000"),
        ({"type": "bytes"}, "AP8=", b"\x00\xff"),
        ({"type": "array", "items": {"type": "int32", "name": f"{TIME}.Date"}}, [0, None], [date(1970, 1, 1), None]),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "bytes"}}, {"a": "AQ=="}, [("a", b"\x01")]),
        ({"type": "struct", "fields": [{"type": "bytes", "field": "wkb"}]}, {"wkb": "AQ=="}, {"wkb": b"\x01"}),
        ({"type": "int8"}, 5, 5),
        ({"type": "double"}, 1.5, 1.5),
        ({"type": "string", "name": "io.debezium.data.Json"}, '{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_value_lands_as_its_schema_describes_it(tmp_path: Path, kind: Any, value: Any, landed: Any) -> None:
    message = wrapped(envelope("c", 1, None, {"id": 1, "v": value}), ROWS | {"v": kind})
    sink, found = read_feed(file_of(tmp_path / "o", message))
    assert found.tally == Tally(read=1, staged=1), sink.aside
    assert sink.rows[0]["v"] == landed


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ({"type": "int64", "name": f"{TIME}.NanoTimestamp"}, MOMENT * 1_000 + 1, "is finer than a microsecond"),
        ({"type": "int64", "name": f"{TIME}.MicroTimestamp"}, 10**18, "lies outside the years 1 to 9999"),
        ({"type": "int32", "name": f"{TIME}.Date"}, 10**8, "lies outside the years 1 to 9999"),
        ({"type": "int32", "name": f"{TIME}.Time"}, -1, "is no time of a day"),
        ({"type": "bytes"}, "?", "is not base64"),
        ({"type": "bytes", "name": f"{KAFKA}.Decimal"}, "AQ==", "is a decimal whose schema tells no scale"),
        (
            {"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "0"}},
            "A" * 2_000,
            "has more digits than any column",
        ),
        (
            {"type": "bytes", "name": f"{KAFKA}.Decimal", "parameters": {"scale": "0"}},
            "f" * 24,
            "cannot be held exactly by decimal128(38, 0)",
        ),
    ],
)
def test_a_value_that_its_schema_does_not_fit_is_set_aside(tmp_path: Path, kind: Any, value: Any, reason: str) -> None:
    message = wrapped(envelope("c", 1, None, {"id": 1, "v": value}), ROWS | {"v": kind})
    sink, found = read_feed(file_of(tmp_path / "o", message))
    assert found.tally == Tally(read=1, quarantined=1)
    assert [(row["column"], row["reason"]) for row in sink.aside] == [("after.v", reason)]


@pytest.mark.parametrize(
    ("kind", "values", "landed"),
    [
        ("date", [0, "2026-01-05"], [date(1970, 1, 1), date(2026, 1, 5)]),
        ("timestamp", ["2026-01-05T00:00:00Z", MOMENT], [datetime(2026, 1, 5, tzinfo=UTC), UNCLEAR_TIME]),
        ("timestamp_ntz", [MOMENT // 1_000], [UNCLEAR_TIME]),
        (
            "decimal(10,2)",
            ["12.50", "BOI=", "1234", "-3"],
            [Decimal("12.50"), Decimal("12.50"), UNCLEAR_DECIMAL, Decimal(-3)],
        ),
        ("decimal(5,0)", ["1234", "12"], [Decimal(1234), Decimal(12)]),
        ("decimal(10,0)", ["1234", "12"], [UNCLEAR_DECIMAL, Decimal(12)]),
        ("decimal(10,0)", ["1234", "BOI="], [UNCLEAR_DECIMAL, Decimal(1250)]),
        ("decimal(10,0)", ["1234"], [UNCLEAR_DECIMAL]),
        ("decimal(10,0)", ["12345678", "1E+3"], [Decimal(12345678), UNCLEAR_DECIMAL]),
        ("array<decimal(10,0)>", [["12"], ["12", "1234"]], [[Decimal(12)], UNCLEAR_DECIMAL]),
        ("decimal(10,2)", [{"scale": 2, "value": "BOI="}], [Decimal("12.50")]),
        ("binary", ["AP8=", "?"], [b"\x00\xff", "is not base64"]),
        ("bigint", [MOMENT], [MOMENT]),
        ("map<string,string>", [{"a": "b"}], [[("a", "b")]]),
    ],
)
def test_without_a_schema_a_value_is_read_by_its_declared_type_or_set_aside(
    tmp_path: Path, kind: str, values: list[Any], landed: list[Any]
) -> None:
    lines = [envelope("c", lsn, None, {"id": 1, "v": value}) for lsn, value in enumerate(values)]
    columns = [{"name": "id", "type": "bigint"}, {"name": "v", "type": kind}]
    sink, found = read_feed(file_of(tmp_path / "o", *lines), columns)
    assert [row["v"] for row in sink.rows] == [one for one in landed if not _is_reason(one)]
    assert [row["reason"] for row in sink.aside] == [one for one in landed if _is_reason(one)]
    assert found.tally.is_balanced


def _is_reason(value: Any) -> bool:
    return value in (UNCLEAR_TIME, UNCLEAR_DECIMAL, "is not base64")


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("columns", [DECLARED[:2], []])
def test_a_position_is_a_number_whatever_else_a_file_has_in_its_place(
    tmp_path: Path, columns: list[Any], is_wrapped: bool
) -> None:
    rows = [(9, {"id": 1, "body": "old"}), (10, {"id": 1, "body": "new"}), ("oops", {"id": 2, "body": "x"})]
    lines = [envelope("c", lsn, None, row) for lsn, row in rows]  # type: ignore[arg-type]
    sink, found = read_feed(file_of(tmp_path / "o", *(map(wrapped, lines) if is_wrapped else lines)), columns)
    assert [(row["_hakiri_lsn"], row["body"]) for row in sink.rows] == [(9, "old"), (10, "new")]
    ((column, reason),) = [(row["column"], row["reason"]) for row in sink.aside]
    assert column in ("source", "source.lsn", "payload")
    assert "int64" in reason
    assert found.tally == Tally(read=3, staged=2, quarantined=1)


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_change_that_is_set_aside_is_found_by_its_file_its_line_and_its_key(tmp_path: Path, is_wrapped: bool) -> None:
    lines = [
        envelope("c", 1, None, {"id": 1, "body": "a"}),
        envelope("?", 2, None, {"id": 7, "body": "b"}),
        envelope("c", 3, None, {"id": 2, "body": "c"}),
        envelope("d", None, {"id": 8, "body": None}, None),  # type: ignore[arg-type]
        envelope("d", 5, None, None),
    ]
    path = file_of(tmp_path / "o", *(map(wrapped, lines) if is_wrapped else lines))
    sink, _ = read_feed(path, DECLARED[:2])
    found = {row["line"]: (row["origin"], row["key"]) for row in sink.aside}
    assert found == {2: ("orders.jsonl", '{"id": 7}'), 4: ("orders.jsonl", '{"id": 8}'), 5: ("orders.jsonl", None)}
    assert all("_hakiri_line" not in row["row"] for row in sink.aside)


@pytest.mark.parametrize("name", ["_hakiri_op", "_Hakiri_Hash", "_hakiri_lsn"])
def test_a_message_with_a_column_of_a_name_that_hakiri_uses_is_set_aside(tmp_path: Path, name: str) -> None:
    rows = [{"id": 1, "body": "a"}, {"id": 2, "body": "b", name: 5}, {"id": 3, "body": "c"}]
    lines = [envelope("c", lsn, None, row) for lsn, row in enumerate(rows)]
    sink, found = read_feed(file_of(tmp_path / "o", *lines))
    assert [(row["id"], row["_hakiri_lsn"]) for row in sink.rows] == [(1, 0), (3, 2)]
    assert [(row["column"], row["line"]) for row in sink.aside] == [(f"after.{name}", 2)]
    assert found.tally == Tally(read=3, staged=2, quarantined=1)


def test_a_text_with_numbers_in_it_orders_nothing_unless_it_is_declared() -> None:
    schema = COLUMNS.set(2, pa.field("lsn", pa.string()))
    codes = batch((1, "a", "0009", "c"), (1, "b", "0010", "u"), (2, "c", "00000027:00000ac0", "c"), schema=schema)
    assert len(changes(plain()(codes))) == 3
    mixed = batch((1, "a", "9", "c"), (1, "b", "10", "u"), (2, "c", "oops", "c"), schema=schema)
    with pytest.raises(ChangesUnfit, match="`lsn` orders them and is text with numbers in it"):
        plain()(mixed)
    declared = [{"name": field.name, "type": "string"} for field in schema]
    assert len(changes(feed({"name": "orders", "columns": declared}, sequence_by="lsn")(mixed))) == 3


def test_a_schema_outranks_nothing_that_is_declared(tmp_path: Path) -> None:
    """A count stays a count where the column is declared as one, and becomes UTC where that is declared."""
    row = {"id": 1, "seen": MOMENT, "n": MOMENT}
    message = wrapped(envelope("c", 1, None, row), {"id": {}, "seen": DESCRIBED["seen"], "n": DESCRIBED["seen"]})
    columns = [{"name": "id", "type": "bigint"}, {"name": "seen", "type": "timestamp"}, {"name": "n", "type": "bigint"}]
    sink, _ = read_feed(file_of(tmp_path / "o", message), columns)
    assert sink.rows[0]["seen"] == datetime(2026, 1, 5, 8, 0, 23, 540_123, tzinfo=UTC)
    assert sink.rows[0]["n"] == MOMENT


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize(
    ("kind", "described_as", "value"),
    [
        ("string", {"type": "string"}, PLACEHOLDER),
        ("binary", {"type": "bytes"}, base64.b64encode(PLACEHOLDER.encode()).decode()),
        ("string", {"type": "string"}, PLACEHOLDER.encode().hex()),
        ("array<string>", {"type": "array", "items": {"type": "string"}}, [PLACEHOLDER]),
        (
            "array<binary>",
            {"type": "array", "items": {"type": "bytes"}},
            [base64.b64encode(PLACEHOLDER.encode()).decode()],
        ),
        ("array<bigint>", {"type": "array", "items": {"type": "int64"}}, list(PLACEHOLDER.encode())),
        ("array<string>", {"type": "array", "items": {"type": "string"}}, ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
        ("map<string,string>", {"type": "map", "values": {"type": "string"}}, {PLACEHOLDER: PLACEHOLDER}),
        ("string", {"type": "string"}, json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":"))),
    ],
)
def test_a_placeholder_of_any_type_is_no_value(
    tmp_path: Path, kind: str, described_as: Any, value: Any, is_wrapped: bool
) -> None:
    message = envelope("u", 1, None, {"id": 1, "v": value})
    lines = [wrapped(message, ROWS | {"v": described_as}) if is_wrapped else message]
    for columns in ([], [{"name": "id", "type": "bigint"}, {"name": "v", "type": kind}]):
        sink, _ = read_feed(file_of(tmp_path / "o", *lines), columns)
        assert [(row["v"], row[UNAVAILABLE_COLUMN]) for row in sink.rows] == [(None, ["v"])], sink.aside


def test_rules_do_not_judge_a_value_that_was_not_sent() -> None:
    rules = (NotNullRule(type="not_null", field="note", on_fail=RowFailure.SKIP),)
    envelopes = batch(
        (None, row(1, PLACEHOLDER), "u", at(1)),
        (None, row(2, None), "u", at(2)),
        (row(3), None, "d", at(3)),
        schema=ENVELOPES,
    )
    sink = Kept()
    schema = TableSchema(SourceTable("orders"), ENVELOPES)
    provenance = Provenance(pipeline="p", run="r", node="n", chunk="c", ingested_at=datetime(2026, 1, 5, tzinfo=UTC))

    @dataclass(frozen=True)
    class One(HostileConnector):
        def read(self, *_: Any, **__: Any) -> Iterator[pa.RecordBatch]:
            yield envelopes

    found = extract_chunk(
        One(Mood.PLAIN),
        ChunkRead(schema, WholeTable()),
        sink,
        provenance=provenance,
        rules=rules,
        feed=feed(changes={"format": "debezium"}),
    )
    assert found.tally == Tally(read=3, staged=2, quarantined=1)
    assert found.broken == {"not_null:note": 1}


@pytest.mark.parametrize(
    ("columns", "shapes"),
    [
        pytest.param(DECLARED, ("bare", "wrapped"), id="mixed"),
        pytest.param(DECLARED, ("bare",), id="bare"),
        pytest.param((), ("wrapped",), id="described"),
    ],
)
def test_random_feeds_tell_what_their_sources_did(tmp_path: Path, columns: Any, shapes: tuple[str, ...]) -> None:
    random = Random(str(shapes))  # noqa: S311 the same on every run
    for count in range(70):
        told = random_feed(random, shapes)
        # One row of every column comes first, so that a file without a change has columns, too.
        first = envelope("c", 0, None, encoded(dict.fromkeys(TYPES) | {"id": 9}))
        folder = file_of(tmp_path / str(count), wrapped(first) if "bare" not in shapes else first)
        with (folder / "orders.jsonl").open("a") as opened:
            opened.write("\n".join(told.lines))
        sink, found = read_feed(folder, columns)
        assert found.tally == Tally(
            read=len(told.lines) + 1,
            staged=len(told.changes) + 1,
            filtered=told.filtered,
            quarantined=told.quarantined,
            added=told.added,
        ), sink.aside
        landed = [
            (
                row["_hakiri_lsn"],
                row[OP_COLUMN],
                {name: row[name] for name in TYPES},
                tuple(row[UNAVAILABLE_COLUMN] or ()),
            )
            for row in sink.rows
            if row["_hakiri_lsn"]
        ]
        wanted = [(lsn, op, dict.fromkeys(TYPES) | one, lacks) for lsn, op, one, lacks in told.changes]
        assert sorted(landed, key=_place) == sorted(wanted, key=_place)


@pytest.mark.parametrize("feeds", [25, pytest.param(1_000, marks=pytest.mark.exhaustive)])
def test_damaged_messages_are_counted_or_refused_with_a_reason(tmp_path: Path, feeds: int) -> None:
    random = Random("damaged")  # noqa: S311 the same on every run
    read = 0
    for count in range(feeds):
        lines = [json.loads(line) for line in random_feed(random, ("bare", "wrapped")).lines]
        folder = file_of(tmp_path / str(count), *(damaged(random, line) for line in lines))
        for columns in (DECLARED, ()):
            try:
                _, found = read_feed(folder, columns)
            except ChangesUnfit:
                continue
            assert found.tally.is_balanced
            assert found.tally.read == len(lines)
            read += 1
    assert read


def _place(change: tuple[Any, ...]) -> tuple[int, str]:
    return change[0], change[1]
