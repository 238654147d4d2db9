"""A load that mirrors changes says which row a change is about, which came first, and what becomes of deleted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hakiri.errors import ManifestError
from hakiri.spec.errors import WrongValue
from hakiri.spec.feed import feed_load, mirror_key
from hakiri.spec.lines import KeyPath
from hakiri.spec.load import CdcMirrorLoad, ChangesSpec, Deletes
from hakiri.spec.pipeline import PipelineSpec, TableSpec


def check_mirrors(spec: PipelineSpec, wrong: Callable[..., WrongValue]) -> Iterator[ManifestError]:
    """Everything that is wrong with the loads of tables that mirror changes."""
    for index, table in enumerate(spec.tables):
        load = feed_load(spec, table)
        if load is None:
            continue
        path: KeyPath = ("tables", index, "load") if table.load else ("load",)
        for below, reason in _problems(table, load):
            yield wrong((*path, *below), reason)
        if _is_transformed(spec, table):
            reason = f"the changes of `{table.name}` cannot be transformed: a delete has no values but its key"
            yield wrong((*path, "mode"), reason, "make a view of the landed table, or transform at the source")


def _problems(table: TableSpec, load: CdcMirrorLoad) -> Iterator[tuple[KeyPath, str]]:
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
