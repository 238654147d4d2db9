"""Adds the provenance columns: the run, the chunk, the time, and the hash of each row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from hakiri.extract.errors import ColumnReserved, TypeUnlandable
from hakiri.extract.hash import row_hashes
from hakiri.model.columns.names import printed, why_unnameable
from hakiri.model.staged import PROVENANCE

_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of the rows of one attempt. All of them have the same ingestion time."""

    pipeline: str
    run: str
    node: str
    chunk: str
    ingested_at: datetime


def with_provenance(batch: pa.RecordBatch, provenance: Provenance, *, table: str) -> pa.RecordBatch:
    """Append the four columns of `model.staged.PROVENANCE` to the rows.

    Raises ColumnReserved if the rows have a column of that name, TypeUnlandable if a column name is not allowed.
    """
    for field in batch.schema:
        if reason := why_unnameable([field]):
            raise TypeUnlandable(table=table, column=printed(field.name), reason=reason)
    taken = {name.casefold(): name for name in batch.schema.names}
    for name in PROVENANCE:
        if name in taken:
            raise ColumnReserved(table=table, column=taken[name])
    told = (
        pa.repeat(pa.scalar(provenance.run), batch.num_rows),
        pa.repeat(pa.scalar(provenance.chunk), batch.num_rows),
        pa.repeat(pa.scalar(provenance.ingested_at, _INSTANT), batch.num_rows),
        row_hashes(batch),
    )
    return pa.RecordBatch.from_arrays([*batch.columns, *told], names=[*batch.schema.names, *PROVENANCE])
