"""Computes `_hakiri_hash`: a 128-bit hash of a row's content, the same in every release, engine and batch.

XXH3-128 with seed 0 over the row's encoding (`extract.encoding`), as 32 hexadecimal digits in the canonical order.
It is text, not binary, because every engine, console and SQL prompt can show and compare it; with zstd this takes 2%
more space. XXH3 instead of SHA-256: it protects equally well against accidental collisions at a tenth of the cost, and
anyone able to forge a collision could as well leave the row out.
"""

from __future__ import annotations

import sys
from array import array

import polars as pl
import polars_hash as plh
import pyarrow as pa

from hakiri.extract.encoding import encode_rows
from hakiri.model.staged import PROVENANCE, Content

HASH_DIGITS = 32

_HALVES = pl.Array(pl.UInt64, 2)
_HALF = pl.lit(1 << 64, dtype=pl.UInt128)


def row_hashes(batch: pa.RecordBatch) -> pa.Array:
    """Hash each row without its provenance columns. Pure: the same rows have the same hashes."""
    content = batch.select([name for name in batch.schema.names if name not in PROVENANCE])
    encoded = pl.DataFrame({"row": pl.from_arrow(encode_rows(content))})
    hashes = encoded.select(plh.col("row").nchash.xxh3_128().alias("hash"))
    halves = hashes.select(pl.concat_arr(_high(pl.col("hash")), _low(pl.col("hash"))))
    return _digits(halves.to_series().to_arrow().values.buffers()[1], batch.num_rows)


def content_of(hashes: pa.Array) -> Content:
    """Return the multiset fingerprint of rows with these hashes."""
    halves = pl.Series(pl.from_arrow(hashes)).str.decode("hex").bin.reinterpret(dtype=_HALVES, endianness="big")
    return Content(int(halves.arr.get(0).sum()), int(halves.arr.get(1).sum()))


def _high(number: pl.Expr) -> pl.Expr:
    return (number // _HALF).cast(pl.UInt64)


def _low(number: pl.Expr) -> pl.Expr:
    return (number % _HALF).cast(pl.UInt64)


def _digits(halves: pa.Buffer, rows: int) -> pa.Array:
    """Format pairs of 64-bit numbers as hexadecimal digits, most significant first."""
    numbers = array("Q")
    numbers.frombytes(memoryview(halves)[: rows * HASH_DIGITS // 2])
    if sys.byteorder == "little":
        numbers.byteswap()
    digits = pa.py_buffer(numbers.tobytes().hex().encode())
    fixed = pa.Array.from_buffers(pa.binary(HASH_DIGITS), rows, [None, digits])
    return fixed.cast(pa.binary()).cast(pa.string())
