"""Every field of a manifest has code that reads it, or is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from hakiri.extract.connectors import registry
from hakiri.spec.load import LoadSection
from hakiri.spec.project import ProjectSpec

SRC = Path(__file__).parents[2] / "src" / "hakiri"
LOADS = (
    "AppendLoad",
    "TruncateLoad",
    "UpsertLoad",
    "BlueGreenLoad",
    "WatermarkLoad",
    "CdcMirrorLoad",
    "LoadByKey",
)

# Where each field is read, and by which expression. A field that is a tag, `type` or `mode`, chooses the model itself.
READERS = {
    "ProjectSpec.project": "wiring/parts.py: project.spec.project",
    "ProjectSpec.context": "wiring/parts.py: project.spec.context",
    "ProjectSpec.catalog": "wiring/parts.py: project.spec.catalog",
    "ProjectSpec.engine": "wiring/parts.py: project.spec.engine",
    "ProjectSpec.hooks": "wiring/parts.py: project.spec.hooks",
    "ProjectSection.name": "wiring/parts.py: project.spec.project.name",
    "ProjectSection.version": "cli/project.py: project.version",
    "ContextSection.path": "wiring/parts.py: project.spec.context.path",
    "ContextSection.tables": "wiring/parts.py: project.spec.context.tables",
    "CatalogSection.backend": "wiring/parts.py: section.backend",
    "CatalogSection.path": "wiring/parts.py: section.path",
    "CatalogSection.tables": "wiring/parts.py: section.tables",
    "CatalogSection.url": "wiring/parts.py: section.url",
    "EngineSection.kind": "wiring/parts.py: section.kind",
    "EngineSection.remote": "wiring/parts.py: section.remote",
    "EngineSection.cores": "wiring/parts.py: section.cores",
    "EngineSection.memory": "wiring/parts.py: section.memory",
    "EngineSection.conf": "wiring/parts.py: section.conf",
    "EngineSection.max_parallel_chunks": "wiring/parts.py: project.spec.engine.max_parallel_chunks",
    "HooksSection.webhook_hosts": "spec/project.py: self.webhook_hosts",
    "HooksSection.warehouse": "wiring/parts.py: project.spec.hooks.warehouse",
    "PipelineSpec.id": "run/land_table.py: context.spec.id",
    "PipelineSpec.source": "wiring/parts.py: spec.source",
    "PipelineSpec.secrets": "run/doctor_project.py: spec.secrets",
    "PipelineSpec.tables": "run/pipeline.py: context.spec.tables",
    "PipelineSpec.schedule": "bundle/job.py: spec.schedule",
    "PipelineSpec.timezone": "bundle/job.py: spec.timezone",
    "PipelineSpec.incremental": "spec/pipeline.py: self.incremental",
    "PipelineSpec.destination": "spec/pipeline.py: self.destination",
    "PipelineSpec.transforms": "wiring/parts.py: spec.transforms",
    "PipelineSpec.load": "spec/pipeline.py: self.load",
    "PipelineSpec.quality": "run/extract_chunks.py: context.spec.quality",
    "PipelineSpec.schema_policy": "run/land_table.py: terms.spec.schema_policy",
    "PipelineSpec.backfill": "plan/knobs.py: spec.backfill",
    "PipelineSpec.retry": "run/context.py: self.spec.retry",
    "PipelineSpec.triggers": "bundle/job.py: spec.triggers",
    "SourceSpec.connector": "wiring/parts.py: spec.source.connector",
    "SourceSpec.config": "wiring/parts.py: spec.source.config",
    "SourceSpec.cursor_kind": "plan/facts.py: self.spec.source.cursor_kind",
    "DestinationSpec.namespace": "spec/pipeline.py: self.destination.namespace",
    "TableSpec.name": "run/land_table.py: table.name",
    "TableSpec.primary_key": "extract/connectors/declared.py: table.primary_key",
    "TableSpec.columns": "extract/connectors/declared.py: table.columns",
    "TableSpec.renamed": "run/land_table.py: terms.table.renamed",
    "TableSpec.partition_by": "run/land_options.py: table.partition_by",
    "TableSpec.cluster_by": "run/land_options.py: table.cluster_by",
    "TableSpec.comment": "run/land_options.py: table.comment",
    "TableSpec.properties": "run/land_options.py: table.properties",
    "TableSpec.query": "extract/connectors/declared.py: table.query",
    "TableSpec.incremental": "spec/pipeline.py: table.incremental",
    "TableSpec.load": "spec/pipeline.py: table.load",
    "ColumnSpec.name": "extract/connectors/declared.py: column.name",
    "ColumnSpec.type": "extract/connectors/declared.py: column.type",
    "ColumnSpec.comment": "run/land_options.py: one.comment",
    "IncrementalSpec.column": "plan/modes.py: incremental.column",
    "IncrementalSpec.lag": "plan/read_from.py: incremental.lag",
    **{f"{load}.{hook}": f"run/hooks.py: self._load.{hook}" for load in LOADS for hook in ("pre_hook", "post_hook")},
    **{
        f"{load}.{key}": f"spec/load.py: self.{key}"
        for load in ("UpsertLoad", "LoadByKey")
        for key in ("upsert_key", "null_keys")
    },
    "WatermarkLoad.watermark_column": "spec/load.py: self.watermark_column",
    "CdcMirrorLoad.upsert_key": "spec/load.py: self.upsert_key",
    "CdcMirrorLoad.sequence_by": "run/land_options.py: load.sequence_by",
    "CdcMirrorLoad.changes": "run/land_options.py: load.changes",
    "CdcMirrorLoad.deletes": "run/land_options.py: load.deletes",
    "CdcMirrorLoad.history": "run/land_options.py: load.history",
    "ChangesSpec.format": "spec/load.py: self.format",
    "ChangesSpec.op": "extract/changes/plain.py: changes.op",
    "ChangesSpec.old_key": "extract/changes/plain.py: changes.old_key",
    "SqlHook.statement": "land/hooks/sql.py: hook.statement",
    "RefreshHook.view": "land/hooks/call.py: hook.view",
    "WebhookHook.url": "land/hooks/webhook.py: hook.url",
    "WebhookHook.secret": "land/hooks/webhook.py: hook.secret",
    "WebhookHook.timeout": "land/hooks/webhook.py: hook.timeout",
    "FunctionHook.function": "land/hooks/function.py: hook.function",
    "FunctionHook.args": "land/hooks/function.py: hook.args",
    "FunctionHook.timeout": "land/hooks/function.py: hook.timeout",
    "TransformSpec.plan": "spec/pipeline.py: self.plan",
    "TransformSpec.tables": "run/transforms.py: asked.tables",
    "ComponentSpec.component": "spec/component.py: self.component",
    "ComponentSpec.tables": "run/transforms.py: asked.tables",
    "ComponentSpec.rows": "extract/transform/component.py: spec.rows",
    "ComponentSpec.keeps": "extract/transform/component.py: spec.keeps",
    "ComponentSpec.network": "spec/component.py: self.network",
    "ComponentSpec.memory_mib": "extract/transform/component.py: spec.memory_mib",
    "ComponentSpec.fuel": "extract/transform/component.py: spec.fuel",
    "ComponentSpec.timeout": "extract/transform/component.py: spec.timeout",
    "QualitySpec.row_level": "run/extract_chunks.py: context.spec.quality.row_level",
    "QualitySpec.quarantine": "wiring/places.py: spec.quality.quarantine",
    "Quarantine.table": "wiring/places.py: spec.quality.quarantine.table",
    **{
        f"{rule}.{field}": f"extract/rules/judge.py: rule.{field}"
        for rule in ("NotNullRule", "RegexRule", "RangeRule", "MaxLengthRule", "FieldTypeRule")
        for field in ("field", "on_fail")
    },
    "RegexRule.pattern": "extract/rules/breach.py: rule.pattern",
    "RangeRule.min": "extract/rules/breach.py: rule.min",
    "RangeRule.max": "extract/rules/breach.py: rule.max",
    "MaxLengthRule.max": "extract/rules/breach.py: rule.max",
    "FieldTypeRule.expected": "extract/rules/breach.py: rule.expected",
    "BackfillSpec.window": "plan/knobs.py: spec.backfill.window",
    "BackfillSpec.parallelism": "plan/knobs.py: spec.backfill.parallelism",
    "BackfillSpec.rate_budget": "plan/knobs.py: asked.rate_budget",
    "BackfillSpec.start_from": "plan/read_from.py: spec.backfill.start_from",
    "BackfillSpec.max_chunks_per_tick": "plan/knobs.py: asked.max_chunks_per_tick",
    "RetrySpec.max_attempts": "plan/knobs.py: spec.retry.max_attempts",
    "RetrySpec.initial_delay": "run/retry.py: retry.initial_delay",
    "RetrySpec.max_delay": "run/retry.py: retry.max_delay",
    "RetrySpec.jitter": "run/retry.py: retry.jitter",
    "FileArrivalTrigger.url": "bundle/start.py: trigger.url",
    "FileArrivalTrigger.wait_after_last_change": "bundle/start.py: trigger.wait_after_last_change",
    "TableUpdateTrigger.tables": "bundle/start.py: trigger.tables",
    **{
        f"FilesConfig.{field}": f"extract/connectors/files/rows.py: config.{field}"
        for field in ("batch_rows", "delimiter", "encoding", "header", "max_line_bytes", "null_values", "quote")
    },
    **{
        f"FilesConfig.{field}": f"extract/connectors/files/store.py: config.{field}"
        for field in ("access_key", "endpoint", "path", "region", "secret_key")
    },
    "FilesConfig.format": "extract/connectors/files/store.py: self._config.format",
    "FilesConfig.pattern": "extract/connectors/files/store.py: self._config.pattern",
    **{
        f"PostgresConfig.{field}": f"extract/connectors/postgres/session.py: config.{field}"
        for field in (
            "batch_bytes",
            "connect_timeout_seconds",
            "lock_timeout_seconds",
            "password",
            "statement_timeout_seconds",
            "url",
        )
    },
    "PostgresConfig.piece_rows": "extract/connectors/postgres/connector.py: config.piece_rows",
    **{
        f"SqliteConfig.{field}": f"extract/connectors/sqlite/connector.py: config.{field}"
        for field in ("batch_rows", "busy_timeout_seconds", "path", "piece_rows")
    },
}

# Read by the check alone, which refuses what is not carried out (tests/spec/test_unavailable.py tries each of them).
REFUSED = {
    "ContextSection.default_destination": "spec/unavailable.py: spec.context.default_destination",
    "ProjectSpec.sync": "spec/unavailable.py: spec.sync",
    "DestinationSpec.connector": "spec/unavailable.py: spec.destination.connector",
    "DestinationSpec.config": "spec/unavailable.py: spec.destination.config",
    "DestinationSpec.destination_writes_per_sec": "spec/unavailable.py: spec.destination.destination_writes_per_sec",
    "QualitySpec.dataset_level": "spec/unavailable.py: spec.quality.dataset_level",
    "Quarantine.enabled": "spec/unavailable.py: spec.quality.quarantine.enabled",
}
# Nothing reads what is inside a part that is refused whole.
REFUSED_WHOLE = {"SyncSection", "DatasetLevel", "WebhookTrigger"}
# Pipelines are read one by one, each with its own lines.
READ_APART = {"ProjectSpec.pipeline"}


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


def fields_below(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    """Every field that a manifest can hold, but for those inside parts that are refused whole."""
    if model in seen or model.__name__ in REFUSED_WHOLE:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        is_mode = name == "mode" and issubclass(model, LoadSection)
        if not is_mode and not (name == "type" and "Literal" in str(field.annotation)):
            yield f"{model.__name__}.{name}"
        for inner in models_in(field.annotation):
            yield from fields_below(inner, seen)


@cache
def reads_of(file: str) -> frozenset[str]:
    """The attributes that a file reads, as they are written there."""
    tree = ast.parse((SRC / file).read_text(encoding="utf-8"))
    loads = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load))
    return frozenset(map(ast.unparse, loads))


def configs() -> Iterator[type[BaseModel]]:
    """What `source.config` may be, for each connector that comes with Hakiri."""
    for found in registry.names():
        declared = registry.declaration(found)
        if declared.connector.startswith("hakiri."):
            yield declared.config


@cache
def fields() -> frozenset[str]:
    """The fields that a manifest can hold, but for those that are read in a way of their own."""
    models = (ProjectSpec, *configs())
    return frozenset(name for model in models for name in fields_below(model, set())) - READ_APART


def is_read(field: str, reader: str) -> bool:
    """Whether the file has the expression, and the expression ends with the field's name."""
    file, _, expression = reader.partition(": ")
    is_of_field = expression.endswith(f".{field.partition('.')[2]}")
    return is_of_field and any(f".{read}".endswith(f".{expression}") for read in reads_of(file))


def test_a_field_of_the_manifest_is_carried_out_or_refused() -> None:
    """What is neither is to be carried out, or refused in `spec/unavailable.py`."""
    assert sorted(fields() - {*READERS, *REFUSED}) == []


def test_a_field_of_the_manifest_is_read_by_the_code_that_is_named_for_it() -> None:
    readers = {**REFUSED, **READERS}
    assert {field: reader for field, reader in readers.items() if not is_read(field, reader)} == {}


def test_no_reader_is_named_for_a_field_that_is_not_there() -> None:
    assert {*READERS, *REFUSED} <= fields()
