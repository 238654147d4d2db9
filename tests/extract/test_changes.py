"""Whatever a feed calls its changes, each goes on as one of three operations, is set aside, or is counted as none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hakiri.errors import ChangesUnfit, ColumnReserved
from hakiri.extract.changes.feed import Feed, feed_of
from hakiri.extract.changes.told import Unwrapped
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.change import OP_COLUMN, UNAVAILABLE_COLUMN
from hakiri.model.span import WholeTable
from hakiri.model.table import SourceTable
from hakiri.spec.pipeline import PipelineSpec

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
    ],
)
def test_what_is_no_envelope_is_told_before_anything_is_read(schema: pa.Schema, why: str) -> None:
    with pytest.raises(ChangesUnfit, match=why):
        feed(changes={"format": "debezium"}).bind(schema)
