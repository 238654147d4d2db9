"""Messages as Debezium writes them, in both shapes of Kafka Connect's JSON converter, and what they tell."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from hakiri.extract.changes.placeholder import PLACEHOLDER

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KAFKA = "org.apache.kafka.connect.data"
TIME = "io.debezium.time"

TYPES = {
    "id": "bigint",
    "body": "string",
    "price": "decimal(10,2)",
    "seen": "timestamp_ntz",
    "at": "timestamp",
    "day": "date",
    "blob": "binary",
    "tags": "array<string>",
}
DECLARED = [{"name": name, "type": kind} for name, kind in TYPES.items()]
DESCRIBED: dict[str, dict[str, Any]] = {
    "id": {"type": "int64"},
    "body": {"type": "string"},
    "price": {
        "type": "bytes",
        "name": f"{KAFKA}.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    },
    "seen": {"type": "int64", "name": f"{TIME}.MicroTimestamp"},
    "at": {"type": "string", "name": f"{TIME}.ZonedTimestamp"},
    "day": {"type": "int32", "name": f"{TIME}.Date"},
    "blob": {"type": "bytes"},
    "tags": {"type": "array", "items": {"type": "string"}},
}
PLACEHOLDERS = {"body": PLACEHOLDER, "blob": base64.b64encode(PLACEHOLDER.encode()).decode(), "tags": [PLACEHOLDER]}

Row = dict[str, Any]


def number(value: Decimal, scale: int = 2) -> str:
    """A decimal as `decimal.handling.mode=precise` writes it."""
    unscaled = int(value.scaleb(scale))
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)).decode()


ENCODED: dict[str, Callable[[Any], Any]] = {
    "price": number,
    "seen": lambda value: (value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1),
    "at": lambda value: value.isoformat().replace("+00:00", "Z"),
    "day": lambda value: (value - EPOCH.date()).days,
    "blob": lambda value: base64.b64encode(value).decode(),
}


def encoded(row: Row | None) -> Row | None:
    if row is None:
        return None
    return {
        name: ENCODED.get(name, lambda one: one)(value) if value is not None else None for name, value in row.items()
    }


def schema_of(described: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The schema of an envelope around rows with these columns."""
    fields = [{**kind, "optional": True, "field": name} for name, kind in described.items()]
    rows = [{"type": "struct", "fields": fields, "optional": True, "field": side} for side in ("before", "after")]
    source = {"type": "struct", "fields": [{"type": "int64", "field": "lsn"}], "field": "source"}
    op = {"type": "string", "optional": False, "field": "op"}
    return {"type": "struct", "fields": [*rows, source, op], "optional": False, "name": "shop.public.orders.Envelope"}


def wrapped(payload: Any, described: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """A message with its schema, as `schemas.enable=true` has it."""
    return {"schema": schema_of(DESCRIBED if described is None else described), "payload": payload}


TRANSACTION_OF_ROW = {"id": "571", "total_order": 1, "data_collection_order": 1}


def envelope(
    op: str, lsn: int, before: Row | None, after: Row | None, transaction: dict[str, Any] | None = None
) -> dict[str, Any]:
    source = {"version": "3.2.0.Final", "connector": "postgresql", "lsn": lsn, "ts_ms": 1, "snapshot": "false"}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 2, "transaction": transaction}


TRANSACTION = {"status": "BEGIN", "id": "571:53195829", "ts_ms": 1, "event_count": None, "data_collections": None}
SCHEMA_CHANGE = {
    "source": {"lsn": 5, "ts_ms": 1},
    "ts_ms": 1,
    "databaseName": "shop",
    "schemaName": None,
    "ddl": "ALTER TABLE orders ADD note text",
    "tableChanges": [{"type": "ALTER", "id": '"shop"."orders"'}],
}
ABOUT_NO_ROW: dict[str, Any] = {
    "a tombstone": None,
    "an empty message": {},
    "a heartbeat": {"ts_ms": 1767600023540},
    "the begin of a transaction": TRANSACTION,
    "the end of a transaction": {**TRANSACTION, "status": "END", "event_count": 1, "data_collections": [{"a": 1}]},
    "a change of the schema": SCHEMA_CHANGE,
    "what an application wrote": {
        "op": "m",
        "ts_ms": 1,
        "source": {"lsn": 5},
        "message": {"prefix": "p", "content": "eA=="},
    },
}


@dataclass
class Told:
    """Lines of a file, and what becomes of each."""

    lines: list[str] = field(default_factory=list)
    changes: list[tuple[int, str, Row, tuple[str, ...]]] = field(default_factory=list)
    """Position, operation, row, and the columns that it does not bring."""
    filtered: int = 0
    quarantined: int = 0
    added: int = 0


def random_feed(random: Random, shapes: tuple[str, ...]) -> Told:
    """A dozen messages, each in one of these shapes."""
    told = Told()
    for lsn in range(1, random.randint(3, 12)):
        shape = random.choice(shapes)
        _tell(random, told, lsn, is_wrapped=shape == "wrapped")
    return told


def _tell(random: Random, told: Told, lsn: int, *, is_wrapped: bool) -> None:
    op = random.choice(("c", "r", "u", "u", "u", "d", "t", "none", "strange"))
    before, after = _row(random, is_wrapped=is_wrapped), _row(random, is_wrapped=is_wrapped)
    transaction = random.choice((None, TRANSACTION_OF_ROW))
    lacks = tuple(name for name in PLACEHOLDERS if op == "u" and random.random() < 0.3)
    match op:
        case "none":
            message = random.choice(list(ABOUT_NO_ROW.values()))
            told.filtered += 1
        case "strange":
            message = random.choice(({"id": 1, "body": "flat"}, {"op": "?", "source": {"lsn": lsn}}))
            told.quarantined += 1
        case "d":
            message = envelope("d", lsn, encoded({"id": before["id"]}), None, transaction)
            told.changes.append((lsn, "delete", {"id": before["id"]}, ()))
        case "t":
            message = envelope("t", lsn, None, None, transaction)
            told.changes.append((lsn, "clear", {}, ()))
        case _:
            has_before = op == "u" and random.random() < 0.5
            sent = {**(encoded(after) or {}), **{name: PLACEHOLDERS[name] for name in lacks}}
            message = envelope(op, lsn, encoded({"id": before["id"]}) if has_before else None, sent, transaction)
            told.changes.append((lsn, "upsert", {**after, **dict.fromkeys(lacks)}, lacks))
            if has_before and before["id"] != after["id"]:
                told.changes.append((lsn, "delete", {"id": before["id"]}, ()))
                told.added += 1
    told.lines.append(json.dumps(wrapped(message) if is_wrapped else message))


def _row(random: Random, *, is_wrapped: bool) -> Row:
    """A row; without a schema, nothing tells what a timestamp's number counts."""
    moment = EPOCH + timedelta(microseconds=random.randint(-(10**15), 4 * 10**15))
    row: Row = {
        "id": random.randint(1, 3),
        "body": random.choice(("", "é", "x" * 50)),
        "price": Decimal(random.randint(-(10**9), 10**9)).scaleb(-2) * 2 + Decimal("0.01"),
        "seen": moment.replace(tzinfo=None) if is_wrapped else None,
        "at": moment,
        "day": date(1970, 1, 1) + timedelta(days=random.randint(-50_000, 50_000)),
        "blob": random.randbytes(random.randint(0, 5)),
        "tags": [random.choice("abc")] * random.randint(0, 2),
    }
    return {name: None if name != "id" and random.random() < 0.2 else value for name, value in row.items()}


def damaged(random: Random, value: Any) -> Any:
    """A message with some of its parts exchanged for others that do not belong there."""
    if random.random() < 0.1:
        return random.choice(_STRANGE)
    match value:
        case dict():
            return {name: damaged(random, one) for name, one in value.items()}
        case list():
            return [damaged(random, one) for one in value]
        case _:
            return value


_STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "null", "x", "AQ==", "struct", "int64", PLACEHOLDER),
    *([], {}, [1], {"lsn": "x"}, {"type": "struct"}, {"type": []}, {"fields": 1}, {"scale": "x"}, {"op": "u"}),
    *(f"{KAFKA}.Decimal", f"{TIME}.Date"),
)
