"""A row's content has one name, 128 bits wide, whatever release, engine or batch computes it.

XXH3-128 with seed 0 over the row's encoding (`extract.encoding`), as 32 hexadecimal digits in the canonical order.
Text and not binary: every engine, console and SQL prompt can show it and compare with it, and with zstd it takes 2%
more room. XXH3 and not SHA-256: its 128 bits are as good against accidents at a tenth of the cost, and whoever could
forge a collision could as well have left the row out.
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
    """The hash of each row; provenance columns are not content. Pure: the same rows have the same hashes."""
    content = batch.select([name for name in batch.schema.names if name not in PROVENANCE])
    encoded = pl.DataFrame({"row": pl.from_arrow(encode_rows(content))})
    hashes = encoded.select(plh.col("row").nchash.xxh3_128().alias("hash"))
    halves = hashes.select(pl.concat_arr(_high(pl.col("hash")), _low(pl.col("hash"))))
    return _digits(halves.to_series().to_arrow().values.buffers()[1], batch.num_rows)


def content_of(hashes: pa.Array) -> Content:
    """What rows with these hashes are as a multiset."""
    halves = pl.Series(pl.from_arrow(hashes)).str.decode("hex").bin.reinterpret(dtype=_HALVES, endianness="big")
    return Content(int(halves.arr.get(0).sum()), int(halves.arr.get(1).sum()))


def _high(number: pl.Expr) -> pl.Expr:
    return (number // _HALF).cast(pl.UInt64)


def _low(number: pl.Expr) -> pl.Expr:
    return (number % _HALF).cast(pl.UInt64)


def _digits(halves: pa.Buffer, rows: int) -> pa.Array:
    """Pairs of 64-bit numbers as hexadecimal digits, the most significant first."""
    numbers = array("Q")
    numbers.frombytes(memoryview(halves)[: rows * HASH_DIGITS // 2])
    if sys.byteorder == "little":
        numbers.byteswap()
    digits = pa.py_buffer(numbers.tobytes().hex().encode())
    fixed = pa.Array.from_buffers(pa.binary(HASH_DIGITS), rows, [None, digits])
    return fixed.cast(pa.binary()).cast(pa.string())
