"""The `load` section of a manifest: one class for each load mode, with its keys and the facts that follow from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from hakiri.spec.frozen import Distinct, Frozen, as_tuple
from hakiri.spec.hook import Hook
from hakiri.spec.lines import KeyPath
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
    """What happens to rows without a value in their key."""

    REJECT = "reject"
    QUARANTINE = "quarantine"


class ChangeFormat(StrEnum):
    """The format in which a source writes its changes."""

    PLAIN = "plain"  # a row with a column that names the operation
    DEBEZIUM = "debezium"  # an envelope: before, after, op, source


class Deletes(StrEnum):
    """What happens to a row that its source has deleted."""

    HARD = "hard"  # it is deleted
    SOFT = "soft"  # it is kept and marked


class KeptHistory(StrEnum):
    """Which versions of a row a table keeps."""

    SCD2 = "scd2"  # all of them, each with the sequences it was valid between


class ChangesSpec(Frozen):
    """The layout of a row of a change feed."""

    format: ChangeFormat = ChangeFormat.PLAIN
    op: ColumnName = "op"
    """The column that names the operation (plain)."""
    old_key: Columns = ()
    """The columns with the key a row had before an update, in the order of the key (plain)."""

    @property
    def is_enveloped(self) -> bool:
        """Return whether the source's columns are those of an envelope around the rows."""
        return self.format is ChangeFormat.DEBEZIUM


class LoadSection(Frozen):
    """The keys and facts of every `load` section, whether or not it names its mode."""

    mode: LoadMode | None = None
    pre_hook: Hooks = ()
    """Run before the load; a failure stops it."""
    post_hook: Hooks = ()
    """Run after a successful load."""

    replaces_table: ClassVar[bool] = False
    """Whether each landing replaces all rows, so that only a whole table may land."""
    needs_key: ClassVar[bool] = False
    """Whether a table without a key cannot land."""
    takes_source_key: ClassVar[bool] = False
    """Whether a key that only the source declares is enough."""
    has_sequence: ClassVar[bool] = False
    """Whether rows have a sequence that orders the versions of a row."""
    helper_suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the helper tables that landings create beside the table."""

    @property
    def own_key(self) -> tuple[str, ...]:
        """The key that the section itself names; the table's primary key counts where it names none."""
        return ()

    @property
    def watermark(self) -> str | None:
        """The column whose greatest value in the table bounds the next load; None where a cursor does."""
        return None

    @property
    def quarantines_null_keys(self) -> bool:
        """Whether rows without a key are set aside while they are read."""
        return False

    def named_columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield each column of the source that the section names, with the path of the key that names it."""
        yield from ((("upsert_key",), column) for column in self.own_key)

    @abstractmethod
    def for_key(self, key: tuple[str, ...]) -> Load:
        """Return the load of a table whose rows have this key."""


class KeyedSection(LoadSection):
    """The keys of a section that may become an upsert."""

    upsert_key: Columns = ()
    """The columns that identify a row; the table's primary_key when left out."""
    null_keys: NullKeyPolicy | None = None
    """`reject` stops the load at rows without a key, `quarantine` sets them aside; `reject` when left out."""

    @property
    def own_key(self) -> tuple[str, ...]:
        return self.upsert_key

    @property
    def quarantines_null_keys(self) -> bool:
        return self.null_keys is NullKeyPolicy.QUARANTINE


class Load(LoadSection):
    """A load whose mode is known."""

    mode: LoadMode

    keeps_latest: ClassVar[bool] = False
    """Whether one row of each key stays: the one with the latest cursor, or the one that was read last."""
    is_known_by_content: ClassVar[bool] = False
    """Whether a row that is read again is found among the landed ones by its content."""
    adds_what_is_read: ClassVar[bool] = False
    """Whether all rows that are read are added: those of a file that is read again would land again."""
    lands_whole: ClassVar[bool] = False
    """Whether the chunks of a round have to land together."""
    can_rewind: ClassVar[bool] = False
    """Whether rows that were read before land when they are read again."""

    def for_key(self, key: tuple[str, ...]) -> Load:  # noqa: ARG002 the mode is known without it
        return self

    def mode_of_landing(self, *, is_exchange: bool) -> LoadMode:
        """Return the mode that carries a landing out.

        An exchange replaces all rows. The rest of a round that has partly landed is added to that part.
        """
        return LoadMode.TRUNCATE if is_exchange else self.mode


class AppendLoad(Load):
    """Adds the rows that the table does not have."""

    mode: Literal[LoadMode.APPEND]

    is_known_by_content: ClassVar[bool] = True
    adds_what_is_read: ClassVar[bool] = True
    can_rewind: ClassVar[bool] = True


class TruncateLoad(Load):
    """Replaces all rows in one commit."""

    mode: Literal[LoadMode.TRUNCATE]

    replaces_table: ClassVar[bool] = True

    def mode_of_landing(self, *, is_exchange: bool) -> LoadMode:
        return self.mode if is_exchange else LoadMode.APPEND


class BlueGreenLoad(Load):
    """Builds a second table, and replaces all rows once the post-hooks have accepted the build."""

    mode: Literal[LoadMode.BLUE_GREEN]

    replaces_table: ClassVar[bool] = True
    helper_suffixes: ClassVar[tuple[str, ...]] = ("new",)

    def mode_of_landing(self, *, is_exchange: bool) -> LoadMode:
        return self.mode if is_exchange else LoadMode.APPEND


class UpsertLoad(KeyedSection, Load):
    """Keeps one row per key, the latest."""

    mode: Literal[LoadMode.UPSERT]

    needs_key: ClassVar[bool] = True
    takes_source_key: ClassVar[bool] = True
    keeps_latest: ClassVar[bool] = True
    can_rewind: ClassVar[bool] = True


class WatermarkLoad(Load):
    """Adds what is newer than the greatest value that the table has."""

    mode: Literal[LoadMode.INCREMENTAL_WATERMARK]
    watermark_column: ColumnName
    """The column whose maximum in the target bounds the next load."""

    is_known_by_content: ClassVar[bool] = True
    lands_whole: ClassVar[bool] = True

    @property
    def watermark(self) -> str:
        return self.watermark_column

    def named_columns(self) -> Iterator[tuple[KeyPath, str]]:
        yield ("watermark_column",), self.watermark_column


class CdcMirrorLoad(Load):
    """Applies the inserts, updates and deletes of a change feed."""

    mode: Literal[LoadMode.CDC_MIRROR]
    upsert_key: Columns = ()
    """The columns that identify a row; the table's primary_key when left out."""
    sequence_by: Columns = ()
    """The columns that order the changes of a key; in Debezium envelopes, fields of `source`."""
    changes: ChangesSpec = ChangesSpec()
    """The layout of a change."""
    deletes: Deletes = Deletes.HARD
    """`hard` removes deleted rows, `soft` keeps and marks them."""
    history: KeptHistory | None = None
    """`scd2` keeps every version of a row."""

    needs_key: ClassVar[bool] = True
    has_sequence: ClassVar[bool] = True
    can_rewind: ClassVar[bool] = True
    helper_suffixes: ClassVar[tuple[str, ...]] = ("tombstones",)

    @property
    def own_key(self) -> tuple[str, ...]:
        return self.upsert_key

    def named_columns(self) -> Iterator[tuple[KeyPath, str]]:
        yield from super().named_columns()
        if not self.changes.is_enveloped:
            yield from ((("sequence_by",), column) for column in self.sequence_by)
            yield ("changes", "op"), self.changes.op
            yield from ((("changes", "old_key"), column) for column in self.changes.old_key)


class LoadByKey(KeyedSection):
    """A section that names no mode: upsert for a table with a key, append for one without."""

    mode: None = None

    def for_key(self, key: tuple[str, ...]) -> Load:
        hooks: dict[str, Any] = {"pre_hook": self.pre_hook, "post_hook": self.post_hook}
        if not (self.upsert_key or key):
            return AppendLoad(mode=LoadMode.APPEND, **hooks)
        return UpsertLoad(mode=LoadMode.UPSERT, upsert_key=self.upsert_key, null_keys=self.null_keys, **hooks)


def load_by_mode(mode: str) -> type[Load] | None:
    """Return the class of a load mode, with its facts; None for an unknown name."""
    return next((load for name, load in LOADS.items() if name == mode), None)


LOADS: Mapping[LoadMode, type[Load]] = {
    LoadMode.APPEND: AppendLoad,
    LoadMode.TRUNCATE: TruncateLoad,
    LoadMode.UPSERT: UpsertLoad,
    LoadMode.BLUE_GREEN: BlueGreenLoad,
    LoadMode.INCREMENTAL_WATERMARK: WatermarkLoad,
    LoadMode.CDC_MIRROR: CdcMirrorLoad,
}


def _tag(value: Any) -> str:
    """Return the mode that a section names, as its tag; the empty one if it names none or is not a section."""
    mode = value.get("mode") if isinstance(value, dict) else getattr(value, "mode", None)
    return "" if mode is None else str(mode) or "''"


LoadSpec = Annotated[
    Annotated[AppendLoad, Tag("append")]
    | Annotated[TruncateLoad, Tag("truncate")]
    | Annotated[UpsertLoad, Tag("upsert")]
    | Annotated[BlueGreenLoad, Tag("blue_green")]
    | Annotated[WatermarkLoad, Tag("incremental_watermark")]
    | Annotated[CdcMirrorLoad, Tag("cdc_mirror")]
    | Annotated[LoadByKey, Tag("")],
    Discriminator(_tag),
]
"""How rows land."""
