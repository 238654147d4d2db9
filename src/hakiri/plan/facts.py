"""Everything a plan is made of is in these values, so nothing but them can change it (G1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hakiri.model.accepted_types import accepted_types
from hakiri.model.columns.renames import present_name
from hakiri.model.key import KeyValue
from hakiri.model.ledger import Cursor, Phase
from hakiri.model.source import BackfillHint, CursorKind, Survey
from hakiri.model.types import Type
from hakiri.plan.modes import replaces_table
from hakiri.plan.rounds import History
from hakiri.spec.load import Load
from hakiri.spec.pipeline import IncrementalSpec, PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """A column and its type."""

    name: str
    type: Type


NO_TRANSFORM = "none"


@dataclass(frozen=True, slots=True)
class TransformFact:
    """What a plan has to know of a table's transform."""

    digest: str
    sees_all: bool
    """Whether it works on a chunk at once, so that what it sorts or groups are a chunk's rows, not the table's."""
    keeps_cursor: bool = True
    """Whether the cursor lands as it was read."""
    joins: tuple[str, ...] = ()
    """The landed tables that rows are looked up in; the digest does not depend on their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table: as its source shows it, as the catalog knows it, and as it has landed."""

    spec: TableSpec
    columns: tuple[ColumnFact, ...]
    """What the source describes."""
    produced: tuple[ColumnFact, ...]
    """What would land, transforms applied."""
    primary_key: tuple[str, ...] = ()
    """What tells its rows apart."""
    upsert_key: tuple[str, ...] = ()
    """What tells them apart once they have landed, where the load has a key of its own."""
    source_key: tuple[str, ...] = ()
    """The primary key that the source declares, whatever the manifest names."""
    transform: TransformFact | None = None
    landed_transform: str = ""
    """The digest of the transform that landed rows went through; NO_TRANSFORM for none, empty where it is not known."""
    load: Load | None = None
    """How the table lands: as declared, or as its key asks for."""
    landed_mode: str = ""
    """How it has landed so far; empty where that is not known, or before the first landing."""
    older_transforms: frozenset[str] = frozenset()
    """Those of others, which rows may have gone through that landed before."""
    reread_transforms: frozenset[str] = frozenset()
    """Those of the landed rows of files that are to be read again, because they have changed or were rewound."""
    is_known_by_content: bool = False
    """Whether a row that is read again is found among the landed ones by its content."""
    landed_columns: tuple[ColumnFact, ...] | None = None
    """What the table holds; None before the first landing."""
    landed_key: tuple[str, ...] = ()
    """The key the table has been landed by; empty where there is none, or before the first landing."""
    landed_partition: tuple[str, ...] = ()
    """What the table is partitioned by; empty where it is not, or before the first landing."""
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Columns that a person lets come in other types than the table's, with those types."""
    cursor: Cursor | None = None
    watermark: KeyValue | None = None
    """The greatest value of the watermark column in the table, where the load mode goes by it."""
    history: History = field(default_factory=History)
    """What was planned and has landed; complete for a table that is read file by file."""
    unordered: str = ""
    """Why the cursor's order at the source is not that of what lands; empty where it is."""
    is_ahead: bool = False
    """Whether the greatest cursor value that the survey found lies in the future."""
    is_cursor_ahead: bool = False
    """Whether the value that the last read came to lies in the future."""
    is_unindexed: bool = False
    """Whether the source is known to have no index on the cursor."""
    survey: Survey | None = None
    """A look at the source from `floor.floor_of` on; None where nobody looked, because chunks are still open."""
    is_full_refresh: bool = False
    """Whether everything is to be read again, whatever the cursor says; true for one plan, not for the next."""

    @property
    def is_read_anew(self) -> bool:
        """Whether all rows are read to replace the landed ones, by this plan or by an interrupted full refresh."""
        return self.is_full_refresh or self.history.is_refreshing

    def accepts(self, column: str, shown: str | None) -> bool:
        """Return whether a person has accepted this type for the column, which is given by its present name."""
        accepted = {present_name(name, self.spec.renamed).casefold(): kind for name, kind in self.accepted.items()}
        return shown in accepted_types(accepted.get(column.casefold()))

    def type_of(self, column: str) -> Type:
        """Return the type of a column that the source describes."""
        return next(one.type for one in self.columns if one.name == column)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFacts:
    """One pipeline, what its connector declares, and the phase the catalog has it in (None: never registered)."""

    spec: PipelineSpec
    hint: BackfillHint
    tables: tuple[TableFacts, ...]
    phase: Phase | None = None
    asked_by: str = ""
    """Whose wish a full refresh is; empty where nobody says so."""

    @property
    def cursor_kind(self) -> CursorKind:
        return self.spec.source.cursor_kind or self.hint.cursor_kind

    def incremental(self, table: TableFacts) -> IncrementalSpec | None:
        """The table's own cursor, or the pipeline's."""
        return self.spec.incremental_of(table.spec)

    def load(self, table: TableFacts) -> Load:
        """How the table lands: as declared, or as its key asks for."""
        return self.spec.load_of(table.spec).for_key(table.primary_key)

    def is_replacing(self, table: TableFacts) -> bool:
        """Whether each landing stands in the place of the last one, so that only a whole table may land."""
        return replaces_table(self.spec, table.spec)
