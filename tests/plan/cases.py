"""A case of fixtures/plans is facts as JSON: the manifest, what the connector said, what the catalog has."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, TableKey
from hakiri.model.key import from_plain
from hakiri.model.ledger import Cursor, Phase
from hakiri.model.source import BackfillHint, CursorKind, Piece, RateBudget, Survey
from hakiri.model.span import from_json
from hakiri.model.types.text import parse_type
from hakiri.plan.facts import ColumnFact, PipelineFacts, TableFacts
from hakiri.plan.reading import Reading, to_json
from hakiri.plan.rounds import History, round_in_name
from hakiri.spec.pipeline import PipelineSpec
from plan.world import NOW, state_of

PLANS = Path(__file__).parents[2] / "fixtures" / "plans"
NAMES = sorted(path.name.removesuffix(".case.json") for path in PLANS.glob("*.case.json"))


def read_case(name: str) -> list[PipelineFacts]:
    return [_pipeline(plain) for plain in json.loads((PLANS / f"{name}.case.json").read_text(encoding="utf-8"))]


def _pipeline(plain: dict[str, Any]) -> PipelineFacts:
    spec = PipelineSpec.model_validate(plain["manifest"])
    tables = [_table(spec, place, table) for place, table in enumerate(plain["tables"])]
    phase = Phase(plain["phase"]) if plain.get("phase") else None
    return PipelineFacts(spec=spec, hint=_hint(plain["hint"]), tables=tuple(tables), phase=phase)


def _hint(plain: dict[str, Any]) -> BackfillHint:
    days = plain.get("natural_window_days")
    return BackfillHint(
        CursorKind(plain["cursor_kind"]),
        plain["safe_parallelism"],
        tuple(plain.get("partition_keys", ())),
        timedelta(days=days) if days else None,
        RateBudget(*plain["rate_budget"]) if "rate_budget" in plain else None,
    )


def _table(spec: PipelineSpec, place: int, plain: dict[str, Any]) -> TableFacts:
    key = TableKey(spec.id, spec.tables[place].name)
    known = [_chunk(key, ordinal, one) for ordinal, one in enumerate(plain.get("known", ()))]
    cursor = plain.get("cursor")
    return TableFacts(
        spec=spec.tables[place],
        columns=_columns(plain["columns"]),
        primary_key=tuple(plain.get("primary_key", ())),
        produced=_columns(plain["columns"]),
        landed_columns=_columns(plain["landed_columns"]) if "landed_columns" in plain else None,
        cursor=Cursor(key, json.dumps(cursor), 1, NOW) if cursor else None,
        history=History.of(
            [state_of(chunk, status, rows=rows) for chunk, status, rows in known],
            frozenset(ChunkKey(spec.id, key.table, name) for name in plain.get("landed", ())),
        ),
        survey=_survey(plain["survey"]) if "survey" in plain else None,
    )


def _columns(plain: dict[str, str]) -> tuple[ColumnFact, ...]:
    return tuple(ColumnFact(name, parse_type(kind)) for name, kind in plain.items())


def _chunk(table: TableKey, ordinal: int, plain: dict[str, Any]) -> tuple[Chunk, ChunkStatus, int]:
    key = ChunkKey(table.pipeline, table.table, plain["chunk"])
    predicate = to_json(Reading(from_json(json.dumps(plain["span"]))))
    chunk = Chunk(key, ordinal, predicate=predicate, round=round_in_name(key.chunk))
    return chunk, ChunkStatus(plain["status"]), plain.get("rows", 0)


def _survey(plain: dict[str, Any]) -> Survey:
    pieces = [Piece(from_json(json.dumps(one["span"])), one.get("rows"), one.get("bytes")) for one in plain["pieces"]]
    low, high = (from_plain(plain[edge]) if edge in plain else None for edge in ("low", "high"))
    return Survey(tuple(pieces), low, high, plain.get("is_exact", False), plain.get("needs_one_snapshot", False))
