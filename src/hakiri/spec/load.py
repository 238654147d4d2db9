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


class ChangeFormat(StrEnum):
    """How a source writes its changes down."""

    PLAIN = "plain"  # a row with a column that names the operation
    DEBEZIUM = "debezium"  # an envelope: before, after, op, source


class Deletes(StrEnum):
    """What becomes of a row that its source has deleted."""

    HARD = "hard"  # it goes
    SOFT = "soft"  # it stays, and says so


class KeptHistory(StrEnum):
    """Which versions of a row a table keeps."""

    SCD2 = "scd2"  # all of them, each with the sequences it was valid between


class ChangesSpec(Frozen):
    """What a row of a change feed looks like."""

    format: ChangeFormat = ChangeFormat.PLAIN
    op: ColumnName = "op"
    """The column that names the operation (plain)."""
    old_key: Columns = ()
    """The columns with the key a row had before an update, in the order of the key (plain)."""


class LoadSpec(Frozen):
    """How rows land."""

    mode: LoadMode | None = None
    """append, truncate, upsert, blue_green, incremental_watermark or cdc_mirror. Left out: upsert for a table with a
    key, append for one without."""
    upsert_key: Columns = ()
    """The columns that identify a row (upsert, cdc_mirror); the table's primary_key when left out."""
    null_keys: NullKeyPolicy | None = None
    """`reject` stops the load at rows without a key, `quarantine` sets them aside (upsert); `reject` when left out."""
    watermark_column: ColumnName | None = None
    """The column whose maximum in the target bounds the next load (incremental_watermark)."""
    sequence_by: Columns = ()
    """The columns that order the changes of a key (cdc_mirror); in Debezium envelopes, fields of `source`."""
    changes: ChangesSpec = ChangesSpec()
    """What a change looks like (cdc_mirror)."""
    deletes: Deletes = Deletes.HARD
    """`hard` takes deleted rows away, `soft` keeps and marks them (cdc_mirror)."""
    history: KeptHistory | None = None
    """`scd2` keeps every version of a row (cdc_mirror)."""
    pre_hook: Hooks = ()
    """Run before the load; a failure stops it."""
    post_hook: Hooks = ()
    """Run after a successful load."""

    def mode_for(self, key: tuple[str, ...]) -> LoadMode:
        """The mode of a table whose rows land with this key: the declared one, or the one that fits the key."""
        by_key = LoadMode.UPSERT if self.upsert_key or key else LoadMode.APPEND
        return self.mode or by_key
