"""Compact many small files of a table into few, in a commit that changes no row.

Tables on a path are compacted by delta-rs, which never overwrites another commit; Spark's log store on a local disk
might overwrite a landing. A landing by Spark may overwrite the compaction, which does no harm unless a checkpoint was
made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import ColumnProperties, CommitProperties, DeltaTable, WriterProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from hakiri.land.decide.adoptable import MANY_FILES, SMALL_BYTES
from hakiri.land.delta.durable import make_durable
from hakiri.land.delta.rust import features_of
from hakiri.land.errors import UpkeepFailed
from hakiri.land.query.session import reason_of
from hakiri.land.target import PathTarget
from hakiri.model.types import BINARY, DOUBLE, FLOAT, Decimal, Simple, Struct, Type
from hakiri.model.types.delta import from_schema_string

TARGET_BYTES = 128 * 1024 * 1024

COMPACTED = frozenset({"appendOnly", "changeDataFeed", "checkConstraints", "invariants", "timestampNtz"})
"""Table features that delta-rs was tested to rewrite correctly."""

WRITTEN_MEANWHILE = "not optimized: others wrote to it meanwhile"

CHECKPOINT_DUE = "not optimized: its next version gets a checkpoint, so it is optimized after the next landing"

_CHECKPOINT_EVERY = 100
"""The default of delta-rs."""
_EXACT_DIGITS = 15
"""delta-rs writes bounds of decimals as floats, which are exact up to this many digits."""
_KEPT, _NONE = ColumnProperties(statistics_enabled="CHUNK"), ColumnProperties(statistics_enabled="NONE")


@dataclass(frozen=True, slots=True)
class Compacted:
    """The number of files before and after."""

    before: int
    after: int
    left: str = ""
    """Why the table was left as it is, although it has many small files."""


def compact(name: str, path: str, *, held: str = "") -> Compacted:
    """Rewrite small files as few large ones, if there are many. A repeat finds few and does nothing.

    Concurrent commits stand; if they concern these files, nothing is rewritten, nor with a reason to hold back. Raises
    UpkeepFailed.
    """
    try:
        table = DeltaTable(path)
        files = pa.table(table.get_add_actions(flatten=True))
        if not _is_worth_it(files):
            return Compacted(files.num_rows, files.num_rows)
        if left := _strange(table) or _due(table) or held:
            return Compacted(files.num_rows, files.num_rows, left)
        return Compacted(files.num_rows, _rewrite(table, path))
    except CommitFailedError:
        return Compacted(files.num_rows, files.num_rows, WRITTEN_MEANWHILE)
    except (DeltaError, OSError) as error:
        raise UpkeepFailed(table=name, doing="optimize", reason=reason_of(error)) from error


def _strange(table: DeltaTable) -> str:
    found = sorted(features_of(table) - COMPACTED)
    return f"not optimized: it uses {', '.join(found)}, so let a post-hook OPTIMIZE it" if found else ""


def _due(table: DeltaTable) -> str:
    """Return why to wait if delta-rs would write a checkpoint of the next version; this cannot be turned off."""
    every = int(table.metadata().configuration.get("delta.checkpointInterval", _CHECKPOINT_EVERY))
    return CHECKPOINT_DUE if (table.version() + 2) % every == 0 else ""


def _is_worth_it(files: pa.Table) -> bool:
    """Return whether a partition, or an unpartitioned table, has many small files."""
    parts = [column for column in files.column_names if column.startswith("partition")]
    small = files.filter(pc.less(files.column("size_bytes"), SMALL_BYTES)).select(parts)
    found = Counter(str(one) for one in small.to_pylist()) if parts else Counter({"": small.num_rows})
    return max(found.values(), default=0) > MANY_FILES


def _rewrite(table: DeltaTable, path: str) -> int:
    before = table.version()
    table.optimize.compact(
        target_size=TARGET_BYTES,
        writer_properties=_properties(table),
        commit_properties=CommitProperties(max_commit_retries=0),
    )
    now = DeltaTable(path)
    make_durable(PathTarget(path), now.version(), since=before)
    return len(now.file_uris())


def _properties(table: DeltaTable) -> WriterProperties:
    """Write statistics only for columns for which those of delta-rs are correct.

    For floats they ignore NaN, which Spark sorts last; for long decimals they are rounded.
    """
    schema = from_schema_string(table.schema().to_json())
    return WriterProperties(
        compression="ZSTD",
        default_column_properties=_NONE,
        column_properties=dict.fromkeys(_bounded(schema), _KEPT),
    )


def _bounded(schema: Struct) -> Iterator[str]:
    return (field.name for field in schema.fields if _is_bounded(field.type))


def _is_bounded(kind: Type) -> bool:
    match kind:
        case Decimal():
            return kind.precision <= _EXACT_DIGITS
        case Simple():
            return kind not in (FLOAT, DOUBLE, BINARY)
        case _:
            return False
