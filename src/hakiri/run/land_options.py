"""How a table's rows land: the options of its manifest, by the names that its columns have now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from hakiri.extract.transform.reshape import Reshape
from hakiri.land.decide.same_rows import Shape, assumed, remembered
from hakiri.land.layout import Layout
from hakiri.land.recipe import Mirror
from hakiri.land.staged.types import table_type
from hakiri.land.target import sql_name, tombstones_of
from hakiri.land.tombstones import farthest_op, unavailable_columns
from hakiri.model.columns.renames import present_name
from hakiri.model.source import CursorKind
from hakiri.model.staged import StagedChunk
from hakiri.model.types import Struct
from hakiri.plan.modes import cursor_of_table, tells_versions
from hakiri.run.schema_history import SchemaDecision
from hakiri.run.services import TablePlace
from hakiri.run.transforms import digest_of
from hakiri.spec.feed import feed_load, mirror_key, sequence_columns
from hakiri.spec.load import Deletes, Load
from hakiri.spec.pipeline import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True)
class LandOptions:
    """The options of one table's landings."""

    spec: PipelineSpec
    table: TableSpec
    primary_key: tuple[str, ...] = ()
    """As it lands."""
    kind: CursorKind = CursorKind.MONOTONIC
    """How the source is walked."""
    reshape: Reshape | None = None

    @property
    def load(self) -> Load:
        """Return the declared load, or the default for the key."""
        return self.spec.load_of(self.table).for_key(self.primary_key)

    @property
    def replaces_table(self) -> bool:
        return self.load.replaces_table

    @property
    def tells_versions(self) -> bool:
        return tells_versions(self.spec, self.table, self._own_key, self._cursor_read)

    @property
    def cursor(self) -> str | None:
        return self._now(self._cursor_read)

    @property
    def watermark(self) -> str | None:
        return self._now(self.load.watermark)

    @property
    def layout(self) -> Layout:
        table = self.table
        commented = {one.name: one.comment for one in table.columns if one.comment}
        return Layout(
            partition_by=self._present(table.partition_by),
            cluster_by=self._present(table.cluster_by),
            comment=table.comment,
            properties=tuple(table.properties.items()),
            comments=tuple(zip(self._present(commented), commented.values(), strict=True)),
        )

    def key(self, decided: SchemaDecision | None, *, is_exchange: bool) -> tuple[str, ...]:
        """Return the key of the table's rows: another than the recorded one only when all rows are read anew."""
        is_own = is_exchange or decided is None or not decided.key
        return self._present(self._own_key if is_own or decided is None else decided.key)

    def shapes(
        self, decided: SchemaDecision | None, staged: Sequence[StagedChunk], *, is_exchange: bool
    ) -> tuple[Shape, ...]:
        """Return the columns that the table's rows were read with.

        They are kept in every mode, because the next one may look for these rows by their content. A mirror's rows are
        made of changes, and are not read as they land.
        """
        if feed_load(self.spec, self.table) is not None:
            return ()
        known: tuple[Shape, ...] = ()
        if decided and decided.has_landed and not is_exchange:
            known = decided.shapes or (assumed(decided.columns),)
        return remembered(known, shapes_read(self.table.name, staged))

    def transform(self, decided: SchemaDecision | None, staged: Sequence[StagedChunk], *, is_exchange: bool) -> str:
        """Return the digest of the transform that the landed rows went through.

        Chunks may have been staged before it was edited. Of several it is one that the next read does not use, so that
        the next plan finds the difference.
        """
        now = digest_of(self.reshape)
        read = {one.transform or now for one in staged if one.files}
        if not read and decided and decided.has_landed and not is_exchange:
            return decided.transform
        return min(read - {now}, default=now)

    def older_transforms(
        self, decided: SchemaDecision | None, staged: Sequence[StagedChunk], *, is_exchange: bool
    ) -> tuple[str, ...]:
        """Return the digests of transforms that other rows of the table may have gone through."""
        read = {one.transform for one in staged if one.files}
        before = {*decided.older_transforms, decided.transform} if decided and not is_exchange else set()
        return tuple(sorted((read | before) - {"", self.transform(decided, staged, is_exchange=is_exchange)}))

    def accepted(self, decided: SchemaDecision | None) -> dict[str, str]:
        """Return the columns for which a person has accepted another type, with that type."""
        accepted = decided.accepted if decided else {}
        return dict(zip(self._present(accepted), accepted.values(), strict=True))

    def mirror(self, place: TablePlace, staged: Sequence[StagedChunk]) -> Mirror | None:
        """Return how staged changes are mirrored; None if the chunks hold rows. Raises StagedFileUnfit."""
        load = feed_load(self.spec, self.table)
        if load is None:
            return None
        names = [name for chunk in staged for name in chunk.schema.names]
        lacking = unavailable_columns(place.root, staged, table=self.table.name)
        return Mirror(
            key=self._present(mirror_key(self.table, load)),
            sequence=self._present(sequence_columns(load.changes, load.sequence_by, names)),
            tombstones=sql_name(tombstones_of(place.target)),
            brings=farthest_op(place.root, staged, table=self.table.name),
            unavailable=tuple(zip(lacking, self._present(lacking), strict=True)),
            is_soft=load.deletes is Deletes.SOFT,
            has_history=load.history is not None,
        )

    @property
    def _own_key(self) -> tuple[str, ...]:
        return self.load.own_key or self.primary_key

    @property
    def _cursor_read(self) -> str | None:
        """The cursor's landed column; None if a transform changes it."""
        column = cursor_of_table(self.spec, self.table, self.kind)
        return column if column is None or self.reshape is None or self.reshape.keeps(column) else None

    def _present(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(present_name(name, self.table.renamed) for name in names)

    def _now(self, name: str | None) -> str | None:
        return name and present_name(name, self.table.renamed)


def shapes_read(table: str, staged: Sequence[StagedChunk]) -> Iterator[tuple[Struct, datetime | None]]:
    """Yield the columns that each chunk with rows was read with, and when; of all chunks if none has rows."""
    read = [one for one in staged if one.files] or staged
    return ((table_type(one.schema, table=table), one.ingested_at) for one in read)
