"""A load says how staged rows become the table's rows, and by which keys."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator

from hakiri.spec.frozen import Distinct, Frozen, as_tuple
from hakiri.spec.hook import Hook
from hakiri.spec.names import ColumnName


class LoadMode(StrEnum):
    """The six ways a table receives rows."""

    APPEND = "append"
    TRUNCATE = "truncate"
    UPSERT = "upsert"
    BLUE_GREEN = "blue_green"
    INCREMENTAL_WATERMARK = "incremental_watermark"
    CDC_MIRROR = "cdc_mirror"


Columns = Annotated[
    tuple[ColumnName, ...],
    Distinct,
    BeforeValidator(as_tuple, json_schema_input_type=ColumnName | tuple[ColumnName, ...]),
]
Hooks = Annotated[tuple[Hook, ...], BeforeValidator(as_tuple, json_schema_input_type=Hook | tuple[Hook, ...])]


class NullKeyPolicy(StrEnum):
    """What becomes of rows that have no value in the key they land by."""

    REJECT = "reject"
    QUARANTINE = "quarantine"


class LoadSpec(Frozen):
    """How rows land."""

    mode: LoadMode = LoadMode.APPEND
    """append, truncate, upsert, blue_green, incremental_watermark or cdc_mirror."""
    upsert_key: Columns = ()
    """The columns that identify a row (upsert, cdc_mirror); the table's primary_key when left out."""
    null_keys: NullKeyPolicy | None = None
    """`reject` stops the load at rows without a key, `quarantine` sets them aside (upsert); `reject` when left out."""
    watermark_column: ColumnName | None = None
    """The column whose maximum in the target bounds the next load (incremental_watermark)."""
    sequence_by: ColumnName | None = None
    """The column that orders changes of one key (cdc_mirror)."""
    pre_hook: Hooks = ()
    """Run before the load; a failure stops it."""
    post_hook: Hooks = ()
    """Run after a successful load."""
