"""The exported JSON Schemas accept what the loader accepts, as an independent validator sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli
from jsonschema import Draft202012Validator

from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.schema import schemas

REPO = Path(__file__).parents[2]
MANIFESTS = REPO / "manifests"


def errors(name: str, document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schemas()[name]).iter_errors(document)]


def test_a_schema_is_a_schema() -> None:
    for schema in schemas().values():
        Draft202012Validator.check_schema(schema)


def test_the_projects_own_manifests_fit_the_exported_schema() -> None:
    assert errors("project.json", tomli.loads((MANIFESTS / "hakiri.toml").read_text())) == []
    pipelines = [path for path in (MANIFESTS / "pipelines").iterdir() if not path.name.endswith(".transforms.json")]
    assert pipelines
    for path in pipelines:
        text = path.read_text()
        assert errors("pipeline.json", json.loads(text) if path.suffix == ".json" else tomli.loads(text)) == []


EVERYTHING: dict[str, Any] = {
    "$schema": "https://hakiri.dev/schemas/v1/pipeline.json",
    "id": "everything",
    "source": {"connector": "postgres", "config": {"a": [1, {"b": None}]}, "cursor_kind": "monotonic"},
    "secrets": ["A_TOKEN"],
    "tables": [
        "a",
        {
            "name": "b",
            "primary_key": "id",
            "columns": ["id", {"name": "n", "type": "decimal(10,2)", "comment": "how many"}],
            "renamed": {"n": "m"},
            "partition_by": "n",
            "clusterBy": [],
            "comment": "all of it",
            "properties": {"delta.enableChangeDataFeed": True, "delta.checkpointInterval": 20, "team": "x"},
            "query": "select 1",
            "incremental": "id",
            "load": {"mode": "upsert", "upsertKey": ["id"]},
        },
        {
            "name": "c",
            "load": {"mode": "cdc_mirror", "upsertKey": "id", "changes": {"format": "debezium"}, "history": "scd2"},
        },
    ],
    "schedule": "0 */2 * * *",
    "timezone": "Europe/Berlin",
    "incremental": {"column": "id", "lag": "5m"},
    "destination": {"connector": "context", "destination_writes_per_sec": 2.5},
    "transforms": [
        "pipelines/b.transforms.json",
        {"plan": "pipelines/a.transforms.json", "tables": ["a"]},
        {
            "component": "components/a.wasm",
            "tables": ["a"],
            "rows": "keeps",
            "keeps": "id",
            "network": ["models.example.com"],
            "memory_mib": 64,
            "fuel": 1_000_000,
            "timeout": "10s",
        },
    ],
    "load": {
        "mode": "cdc_mirror",
        "sequence_by": ["lsn", "row"],
        "upsert_key": "id",
        "changes": {"format": "plain", "op": "action", "oldKey": ["old_id"]},
        "deletes": "soft",
        "pre_hook": {"type": "sql", "statement": "ANALYZE TABLE {table} COMPUTE STATISTICS"},
        "post_hook": [
            {"type": "refresh_mat_view", "view": "v"},
            {"type": "webhook", "url": "https://example.org/hook", "secret": "${secret:A_TOKEN}", "timeout": "5s"},
            {"type": "custom_function", "function": "notify", "args": {"a": "x", "b": 1, "c": 1.5, "d": True}},
        ],
    },
    "quality": {
        "datasetLevel": {
            "rowCount": {"min": 100, "max": 1000000, "onFail": "abort"},
            "freshness": {"withinHours": 24, "column": "updated_at", "onFail": "warn"},
            "fkIntegrity": {"column": "c", "refTable": "s.customers", "refColumn": "id", "onFail": "abort"},
            "cardinality": {"column": "country", "minDistinct": 5, "onFail": "warn"},
            "duplicateKey": {"columns": ["customer_id", "order_date"], "onFail": "abort"},
        },
        "rowLevel": [
            {"type": "notNull", "field": "id", "onFail": "abort"},
            {"type": "regex", "field": "email", "pattern": "^.+@.+$", "onFail": "skip"},
            {"type": "range", "field": "age", "min": 0, "max": 150, "onFail": "warn"},
            {"type": "maxLength", "field": "name", "max": 200, "onFail": "skip"},
            {"type": "fieldType", "field": "id", "expected": "uuid", "onFail": "abort"},
        ],
        "quarantine": {"enabled": True, "table": "dlq.orders"},
    },
    "schema": "strict",
    "backfill": {
        "window": "30d",
        "parallelism": 4,
        "rate_budget": "60/min",
        "start_from": "2010-01-01",
        "max_chunks_per_tick": 8,
    },
    "retry": {"max_attempts": 3, "initial_delay": "1s", "max_delay": "1m", "jitter": False},
    "triggers": [
        {"type": "file_arrival", "url": "/Volumes/main/raw/in/", "wait_after_last_change": "1m"},
        {"type": "table_update", "tables": ["main.raw.a"]},
        {"type": "webhook", "secret": "A_TOKEN"},
    ],
}


def test_a_pipeline_that_uses_everything_fits_the_schema_and_the_loader() -> None:
    assert errors("pipeline.json", EVERYTHING) == []
    PipelineSpec.model_validate({key: value for key, value in EVERYTHING.items() if key != "$schema"})


def test_what_a_specification_dumps_fits_the_schema_and_loads_again() -> None:
    spec = PipelineSpec.model_validate({key: value for key, value in EVERYTHING.items() if key != "$schema"})
    dumped = spec.model_dump(mode="json")
    assert errors("pipeline.json", {("schema" if k == "schema_policy" else k): v for k, v in dumped.items()}) == []
    assert PipelineSpec.model_validate(dumped) == spec


@pytest.mark.parametrize(
    "change",
    [
        {"shedule": "every 15m"},
        {"tables": []},
        {"id": "No Good"},
        {"backfill": {"window": "a month"}},
        {"load": {"mode": "upsrt"}},
        {"load": {"mode": "append", "upsert_key": "id"}},
        {"load": {"deletes": "soft"}},
        {"load": {"mode": "incremental_watermark"}},
        {"quality": {"row_level": [{"type": "regex", "field": "a", "on_fail": "skip"}]}},
        {"quality": {"dataset_level": {"freshness": {"column": "a", "on_fail": "warn"}}}},
        {"retry": {"max_attempts": "3"}},
        {"transforms": [{"component": "a.wasm", "rows": "loses"}]},
        {"transforms": [{"component": "a.wasm", "plan": "a.transforms.json"}]},
    ],
)
def test_what_the_loader_refuses_by_shape_the_schema_refuses_too(change: dict[str, Any]) -> None:
    assert errors("pipeline.json", {**EVERYTHING, **change})
    with pytest.raises(ValueError, match="validation error"):
        PipelineSpec.model_validate({key: value for key, value in {**EVERYTHING, **change}.items() if key != "$schema"})
