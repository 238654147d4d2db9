"""Check what only makes sense across the keys of a manifest, without contacting anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hakiri.errors import ManifestError, Place
from hakiri.model.installed import ConnectorFacts, Connectors
from hakiri.model.source import CursorKind
from hakiri.model.staged import PROVENANCE
from hakiri.spec.component import ComponentSpec
from hakiri.spec.errors import (
    FeatureUnavailable,
    SecretInClear,
    StartedByNothing,
    UndeclaredSecret,
    UnknownConnector,
    WrongValue,
)
from hakiri.spec.feed import feed_load, mirror_key
from hakiri.spec.lines import KeyPath
from hakiri.spec.load import CdcMirrorLoad, ChangesSpec, Deletes, LoadSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.project import CatalogBackend, ProjectSpec
from hakiri.spec.reference import holds_secret, is_malformed, references_in, shows_password, shows_token, texts_in
from hakiri.spec.unavailable import Unavailable, unavailable_in_pipeline, unavailable_in_project
from hakiri.spec.validation_errors import guess, key_name

Where = Callable[[KeyPath], Place]

_SECTIONS_WITH_SECRETS = frozenset({"source", "destination", "catalog", "sync", "engine"})
_AS_NAME = re.compile(r"\W+")


def check_pipeline(spec: PipelineSpec, where: Where, connectors: Connectors) -> Iterator[ManifestError]:
    """Yield every error of a pipeline whose parts are well-formed."""

    def wrong(path: KeyPath, reason: str, advice: str | None = None) -> WrongValue:
        return WrongValue(place=where(path), key=key_name(path), reason=reason, advice=advice)

    yield from _check_tables(spec, wrong)
    yield from _check_loads(spec, wrong, connectors)
    yield from check_mirrors(spec, wrong)
    yield from _check_columns(spec, wrong)
    yield from _check_renamed(spec, wrong)
    yield from _check_layout(spec, wrong)
    yield from _check_quality(spec, wrong)
    yield from _check_source(spec, where, wrong, connectors)
    yield from _check_parallelism(spec, wrong, connectors)
    yield from _check_retry(spec, wrong)
    yield from _check_triggers(spec, where)
    yield from _refused(unavailable_in_pipeline(spec), where)


def check_texts(data: Mapping[str, Any], where: Where) -> Iterator[ManifestError]:
    """Yield secrets in clear and invalid references in a pipeline as it is written."""
    listed = data.get("secrets")
    declared = listed if isinstance(listed, list) else []
    for path, text in texts_in(dict(data)):
        yield from _check_text(path, text, where)
        references = references_in(text)
        if references and not _may_refer(path):
            reason = "references are resolved in `config` and in a webhook's `url` and `secret` only"
            yield WrongValue(place=where(path), key=key_name(path), reason=reason)
        for reference in references:
            if reference.kind == "secret" and reference.name not in declared:
                yield UndeclaredSecret(place=where(path), key=key_name(path), secret=reference.name)


def check_project(spec: ProjectSpec, data: Mapping[str, Any], where: Where) -> Iterator[ManifestError]:
    """Yield every error of a well-formed hakiri.toml, apart from its pipelines."""
    is_postgres = spec.catalog.backend is CatalogBackend.POSTGRES
    if is_postgres and not spec.catalog.url:
        yield WrongValue(
            place=where(("catalog", "backend")),
            key="catalog.backend",
            reason="postgres needs a `url`",
            advice='write url = "postgresql://user:${secret:NAME}@host/database"',
        )
    misplaced = "path" if is_postgres and spec.catalog.path else "url" if not is_postgres and spec.catalog.url else None
    if misplaced:
        reason = f"has no meaning for a {spec.catalog.backend} catalog"
        yield WrongValue(place=where(("catalog", misplaced)), key=f"catalog.{misplaced}", reason=reason)
    if spec.catalog.tables and (spec.catalog.backend is not CatalogBackend.DELTA or spec.catalog.path):
        reason = "is for a delta catalog without a `path`"
        yield WrongValue(place=where(("catalog", "tables")), key="catalog.tables", reason=reason)
    yield from _refused(unavailable_in_project(spec), where)
    for path, text in texts_in({key: part for key, part in data.items() if key != "pipeline"}):
        yield from _check_text(path, text, where)


Wrong = Callable[..., WrongValue]


def _check_tables(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    seen: set[str] = set()
    for index, table in enumerate(spec.tables):
        if table.name.casefold() in seen:
            yield wrong(("tables", index), f"the table `{table.name}` is named twice")
        seen.add(table.name.casefold())
    for index, transform in enumerate(spec.transforms):
        for name in transform.tables:
            if name.casefold() not in seen:
                yield wrong(("transforms", index, "tables"), f"the pipeline has no table `{name}`")
        if isinstance(transform, ComponentSpec) and transform.keeps and transform.rows != "keeps":
            reason = f'columns can be compared only where rows are: not with `rows = "{transform.rows}"`'
            yield wrong(("transforms", index, "keeps"), reason)


def _check_loads(spec: PipelineSpec, wrong: Wrong, connectors: Connectors) -> Iterator[ManifestError]:
    facts = connectors.get(spec.source.connector)
    for index, table in enumerate(spec.tables):
        path: KeyPath = ("tables", index, "load") if table.load else ("load",)
        declares_keys = facts is not None and facts.declares_keys
        yield from _check_key(table, spec.load_of(table), path, wrong, declares_keys=declares_keys)
        yield from _check_watermark(spec, index, table, wrong)


def _check_key(
    table: TableSpec, load: LoadSpec, path: KeyPath, wrong: Wrong, *, declares_keys: bool
) -> Iterator[ManifestError]:
    has_key = load.own_key or table.primary_key or (load.takes_source_key and declares_keys)
    if load.needs_key and not has_key:
        reason = f"`{load.mode}` of table `{table.name}` needs `upsert_key`, or a `primary_key` of the table"
        yield wrong((*path, "mode"), reason)


def _check_watermark(spec: PipelineSpec, index: int, table: TableSpec, wrong: Wrong) -> Iterator[ManifestError]:
    """Check the cursor of a table that lands by a watermark, which replaces the pipeline's cursor for this table."""
    load = spec.load_of(table)
    cursor = table.incremental or (None if table.load else spec.incremental)
    if load.watermark is None or cursor is None:
        return
    path: KeyPath = ("tables", index, "incremental") if table.incremental else ("incremental",)
    if cursor.column != load.watermark:
        reason = f"table `{table.name}` is read by its watermark `{load.watermark}`, not by `{cursor.column}`"
        yield wrong(path, reason, "leave it out")
    if cursor.lag:
        reason = f"a lag has no meaning for `{load.mode}`: what lies below the table's greatest value does not land"
        yield wrong(path, reason, "leave it out, or choose `append`")


def _check_columns(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    for index, table in enumerate(spec.tables):
        declared = [column.name for column in table.columns]
        if not declared and "columns" in table.model_fields_set:
            reason = f"table `{table.name}` would be read without a column"
            yield wrong(("tables", index, "columns"), reason, "leave it out to read all of them")
        for name in sorted({name for name in declared if declared.count(name) > 1}):
            yield wrong(("tables", index, "columns"), f"the column `{name}` is named twice")
        feed = feed_load(spec, table)
        if not declared or spec.transforms or (feed and feed.changes.is_enveloped):
            continue  # all columns are read, or a transform or an envelope may bring more of them
        for path, column in _columns_used(spec, index, table):
            if column not in declared and column not in PROVENANCE:
                likely = guess(column, declared)
                advice = f"did you mean `{likely}`?" if likely else None
                yield wrong(path, f"`{column}` is not among the columns of table `{table.name}`", advice)


def _columns_used(spec: PipelineSpec, index: int, table: TableSpec) -> Iterator[tuple[KeyPath, str]]:
    own: KeyPath = ("tables", index)
    yield from (((*own, "primary_key"), column) for column in table.primary_key)
    for key in ("partition_by", "cluster_by"):
        yield from (((*own, key), column) for column in getattr(table, key))
    load, path = (table.load, (*own, "load")) if table.load else (spec.load, ("load",))
    incremental = table.incremental or spec.incremental
    if incremental and load.watermark is None:
        yield ((*own, "incremental") if table.incremental else ("incremental",)), incremental.column
    yield from (((*path, *below), column) for below, column in load.named_columns())


def _check_layout(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    for index, table in enumerate(spec.tables):
        if table.partition_by and table.cluster_by:
            yield wrong(("tables", index, "cluster_by"), "a table is partitioned or clustered, not both")


def _check_renamed(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    for index, table in enumerate(spec.tables):
        new, old = ([name.casefold() for name in names] for names in (table.renamed, table.renamed.values()))
        for name, before in table.renamed.items():
            path = ("tables", index, "renamed", name)
            if before.casefold() in new:
                yield wrong(
                    path,
                    f"`{before}` is both an old name and a new one",
                    "rename in two steps, one run after the other",
                )
            elif old.count(before.casefold()) > 1:
                yield wrong(path, f"`{before}` cannot have become two columns")


def _check_quality(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    level = spec.quality.dataset_level
    bounded: list[tuple[KeyPath, Any, Any]] = []
    if level.row_count:
        bounded.append((("dataset_level", "row_count"), level.row_count.min, level.row_count.max))
    if level.cardinality:
        bounded.append(
            (("dataset_level", "cardinality"), level.cardinality.min_distinct, level.cardinality.max_distinct)
        )
    for index, rule in enumerate(spec.quality.row_level):
        if rule.type == "range":
            bounded.append((("row_level", index), rule.min, rule.max))
    for path, low, high in bounded:
        if low is None and high is None:
            yield wrong(("quality", *path), "has neither a lower nor an upper bound")
        elif low is not None and high is not None and low > high:
            yield wrong(("quality", *path), f"nothing is at least {low} and at most {high}")


def _check_source(spec: PipelineSpec, where: Where, wrong: Wrong, connectors: Connectors) -> Iterator[ManifestError]:
    name = spec.source.connector
    if name not in connectors:
        yield UnknownConnector(
            place=where(("source", "connector")),
            connector=name,
            installed=tuple(sorted(connectors)),
            guess=guess(name, connectors),
        )
        return
    yield from _check_config(spec, wrong, connectors[name])


def _check_config(spec: PipelineSpec, wrong: Wrong, connector: ConnectorFacts) -> Iterator[ManifestError]:
    config = spec.source.config
    for problem in connector.problems(config):
        path = problem.key.split(".")
        if not any(references_in(text) for _, text in texts_in(config.get(path[0]))):  # its value is still unknown
            yield wrong(("source", "config", *path), problem.reason, problem.help())


def _check_parallelism(spec: PipelineSpec, wrong: Wrong, connectors: Connectors) -> Iterator[ManifestError]:
    name = spec.source.connector
    kind = spec.source.cursor_kind or (connectors[name].cursor_kind if name in connectors else None)
    if kind is CursorKind.OPAQUE_TOKEN and (spec.backfill.parallelism or 1) > 1:
        yield wrong(
            ("backfill", "parallelism"),
            f"`{name}` hands out page tokens that have to be walked in order, so it reads one chunk at a time",
            "set it to 1, or leave it out",
        )


def _check_retry(spec: PipelineSpec, wrong: Wrong) -> Iterator[ManifestError]:
    if spec.retry.initial_delay > spec.retry.max_delay:
        yield wrong(("retry", "initial_delay"), "is longer than `max_delay`")


def _check_triggers(spec: PipelineSpec, where: Where) -> Iterator[ManifestError]:
    for index, trigger in enumerate(spec.triggers):
        if trigger.type == "webhook" and trigger.secret not in spec.secrets:
            path = ("triggers", index, "secret")
            yield UndeclaredSecret(place=where(path), key=key_name(path), secret=trigger.secret)


def _refused(found: Iterator[Unavailable], where: Where) -> Iterator[ManifestError]:
    for path, reason in found:
        yield FeatureUnavailable(place=where(path), key=key_name(path), reason=reason)


def _may_refer(path: KeyPath) -> bool:
    is_webhook = "args" not in path and (path[-1] == "url" or ("load" in path and path[-1] == "secret"))
    return is_webhook or path[:2] in {("source", "config"), ("destination", "config")}


def _check_text(path: KeyPath, text: str, where: Where) -> Iterator[ManifestError]:
    if is_malformed(text):
        yield WrongValue(
            place=where(path),
            key=key_name(path),
            reason="a reference is `${env:NAME}` or `${secret:NAME}`",
        )
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    # In other sections, a name like `password` is that of a column.
    is_webhook = path[0] not in _SECTIONS_WITH_SECRETS and path[-1] == "url"
    is_secret = shows_password(text) if is_webhook else path[0] in _SECTIONS_WITH_SECRETS and holds_secret(name, text)
    if is_webhook and not is_secret and shows_token(text):
        suggestion = "the token in the address as ${secret:NAME} (or ${env:NAME}, if it is none)"
        yield SecretInClear(place=where(path), key=key_name(path), suggestion=suggestion)
    if is_secret:
        suggestion = f"${{secret:{_AS_NAME.sub('_', name).upper()}}}"
        if "://" in text:
            suggestion = "the password as ${secret:NAME}" if "@" in text else "the value as ${secret:NAME}"
        yield SecretInClear(place=where(path), key=key_name(path), suggestion=suggestion)


def check_mirrors(spec: PipelineSpec, wrong: Callable[..., WrongValue]) -> Iterator[ManifestError]:
    """Everything that is wrong with the loads of tables that mirror changes."""
    for index, table in enumerate(spec.tables):
        load = feed_load(spec, table)
        if load is None:
            continue
        path: KeyPath = ("tables", index, "load") if table.load else ("load",)
        for below, reason in _problems_of_mirror(table, load):
            yield wrong((*path, *below), reason)
        if _is_transformed(spec, table):
            reason = f"the changes of `{table.name}` cannot be transformed: a delete has no values but its key"
            yield wrong((*path, "mode"), reason, "make a view of the landed table, or transform at the source")


def _problems_of_mirror(table: TableSpec, load: CdcMirrorLoad) -> Iterator[tuple[KeyPath, str]]:
    if load.history and load.deletes is Deletes.SOFT:
        yield ("deletes",), "has no meaning with a `history`, which keeps deleted rows until when they were valid"
    if load.changes.is_enveloped:
        if load.changes != ChangesSpec(format=load.changes.format):
            yield ("changes",), "`op` and `old_key` have no meaning for Debezium envelopes, which have their own"
        return
    if not load.sequence_by:
        yield ("mode",), f"`{load.mode}` of table `{table.name}` needs `sequence_by`"
    key, old = mirror_key(table, load), load.changes.old_key
    if old and len(old) != len(key):
        yield ("changes", "old_key"), f"has {len(old)} columns, and the key has {len(key)}"
    if load.changes.op in {*key, *old, *load.sequence_by}:
        yield ("changes", "op"), f"`{load.changes.op}` is a column of the key or of the sequence already"


def _is_transformed(spec: PipelineSpec, table: TableSpec) -> bool:
    names = {name.casefold() for one in spec.transforms for name in one.tables}
    return any(not one.tables for one in spec.transforms) or table.name.casefold() in names


BUNDLE_FILE = "databricks.yml"


def bundle_root(project: Path) -> Path | None:
    """Find the folder of the project's asset bundle: its own, or the nearest above it; None if there is none."""
    folders = (project, *project.parents)
    return next((folder for folder in folders if (folder / BUNDLE_FILE).is_file()), None)


def check_starts(spec: PipelineSpec, where: Callable[[KeyPath], Place], *, has_bundle: bool) -> Iterator[ManifestError]:
    """Warn of schedules and triggers that start nothing, because the project has no bundle."""
    for key in ("schedule", "triggers"):
        if getattr(spec, key) and not has_bundle:
            yield StartedByNothing(place=where((key,)), key=key, pipeline=spec.id)
