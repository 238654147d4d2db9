"""The token of a read: where the next read continues, as the source says it."""

from __future__ import annotations

import json

import pyarrow as pa

from hakiri.extract.connectors.quarantine import BatchKind, marked
from hakiri.model.key import KeyValue, from_plain, to_plain

_TOKEN = b"hakiri.token"


def token_batch(token: KeyValue) -> pa.RecordBatch:
    """Build a batch without rows that says: everything before this token has been read.

    Yield it after the rows that it covers. The last one of a read counts.
    """
    schema = marked(pa.schema([]), BatchKind.TOKEN)
    text = json.dumps(to_plain(token)).encode()
    return pa.RecordBatch.from_pylist([], schema=schema.with_metadata({**schema.metadata, _TOKEN: text}))


def token_of(batch: pa.RecordBatch) -> KeyValue:
    """Return the token of a batch of that kind."""
    return from_plain(json.loads(batch.schema.metadata[_TOKEN]))
