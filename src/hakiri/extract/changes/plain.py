"""Reads plain changes: rows with a column that names the operation."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.extract.changes.normalize import Normalized, Unfit, words
from hakiri.extract.errors import ChangesUnfit
from hakiri.model.columns.change import Op
from hakiri.spec.load import ChangesSpec
from hakiri.spec.validation_errors import guess

MEANT = {
    **dict.fromkeys(("insert", "update", "upsert", "i", "c", "u", "r"), Op.UPSERT),
    **dict.fromkeys(("delete", "d"), Op.DELETE),
    **dict.fromkeys(("truncate", "t"), Op.CLEAR),
}
"""Accepted names of operations, in lower case."""


def tell_plain(batch: pa.RecordBatch, changes: ChangesSpec, key: Sequence[str], *, table: str) -> Normalized:
    """Normalize the changes in the rows. Raises ChangesUnfit if a column named in the manifest is missing."""
    names = batch.schema.names
    for name in (changes.op, *changes.old_key, *key):
        if name not in names:
            raise ChangesUnfit(table=table, reason=f"there is no column `{name}`", guess=guess(name, names))
    op = words(batch.column(changes.op).cast(pa.string()), MEANT)
    rows = {name: batch.column(name) for name in names if name not in {changes.op, *changes.old_key}}
    old = zip(key, changes.old_key, strict=False)
    return Normalized(
        op=op,
        rows=rows,
        deleted={name: rows[name] for name in key},
        before={name: batch.column(before).cast(rows[name].type) for name, before in old},
        unfit=(Unfit(pc.is_null(op), "the operation is none that is known", changes.op),),
    )
