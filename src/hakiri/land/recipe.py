"""The request for a landing, and the recipe that is decided from it before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hakiri.land.decide.prune import Bound
from hakiri.land.decide.reconcile import Agreement
from hakiri.land.decide.same_rows import ColumnPath, Shape
from hakiri.land.layout import BARE, Layout
from hakiri.land.stamp import Stamp
from hakiri.land.table_state import ExpectedLanding
from hakiri.land.target import Target
from hakiri.model.columns.change import Op
from hakiri.model.ledger import Landing
from hakiri.model.staged import StagedChunk, StagedFile, Tally
from hakiri.model.types import Struct
from hakiri.spec.load import LOADS, LoadMode

STAGED = "hakiri_staged"
"""The view of all staged rows, in the columns and types of the landing."""
ROWS = "hakiri_rows"
"""The view of the rows that land."""

FILE_COLUMN, ROW_COLUMN = "hakiri_file", "hakiri_row"
"""Columns of STAGED with the place of a row, for modes in which the row that was read last wins."""

MAPPED_NAMES = ("delta.columnMapping.mode", "name")
"""The property that gives columns other names in files than for readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """How staged changes become rows, and where their deletes are stored."""

    key: tuple[str, ...]
    sequence: tuple[str, ...]
    """The columns that order the changes of a key."""
    tombstones: str
    """The table of tombstones, as SQL names it."""
    brings: Op = Op.CLEAR
    """The operation among the staged changes that reaches farthest; `clear` if not known."""
    is_soft: bool = False
    """Whether deleted rows stay, with a mark."""
    has_history: bool = False
    """Whether every version of a row is kept."""
    unavailable: tuple[tuple[str, str], ...] = ()
    """Columns that some staged change lacks, by their names in staged files and in the table."""
    is_of_tombstones: bool = False
    """Whether the deletes land, in the table of tombstones, instead of the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandRequest:
    """What to land, where and how."""

    project: str
    landing: Landing
    """The landing reserved in the catalog, with its number, chunks and cursor."""
    carried: ExpectedLanding | None
    """The landing that the table should carry already; see `table_state`."""
    target: Target
    root: str
    """The folder that paths of staged files are relative to; a path table's own root."""
    chunks: tuple[StagedChunk, ...]
    mode: LoadMode
    key: tuple[str, ...] = ()
    """The upsert key, or the primary key."""
    cursor: str | None = None
    """The column that orders the versions of a row."""
    watermark: str | None = None
    """The column whose greatest value in the table decides what lands (incremental_watermark)."""
    mirror: Mirror | None = None
    """The feed whose changes are staged, if they are not rows themselves (cdc_mirror)."""
    removes_overlap: bool = False
    """Whether the read overlaps the one before it, so that some rows may be there already (append)."""
    repeats_last: bool = False
    """Whether the table's last landing brought the same rows, so that exchanging them changes nothing."""
    comment: str = ""
    """The comment of a new table of a catalog; a folder has none."""
    may_adopt: bool = True
    """Whether sealed files may be added to the table; else Spark rewrites them."""
    keeps_latest: bool = False
    """Whether only the latest staged row of each key takes part in an exchange (a full refresh of upsert)."""
    accepts_loss: bool = False
    """Whether to land in a table that has lost rows, because all of them are read again."""
    is_sparse: bool = False
    """Whether some landings make no commit here, as in a quarantine table."""
    accepted: Mapping[str, str] = field(default_factory=dict)
    """The accepted types of columns, which may arrive."""
    is_strict: bool = False
    """Whether the table's columns must not change, except as declared."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """Renamed columns with their old names."""
    shapes: tuple[Shape, ...] = ()
    """The columns that the table's rows were read with, if known; oldest first."""
    layout: Layout = BARE
    """The declared layout of the table."""

    @property
    def replaces_table(self) -> bool:
        """Return whether the landing replaces all rows of the table."""
        return LOADS[self.mode].replaces_table

    @property
    def lands_latest(self) -> bool:
        """Return whether only the latest staged row of each key lands."""
        return self.keeps_latest or LOADS[self.mode].keeps_latest

    @property
    def since(self) -> int:
        """Return the version after which the landing's commits come; a recreated table counts from 0 again."""
        return -1 if self.carried is None or self.accepts_loss else self.carried.version

    @property
    def tally(self) -> Tally:
        return sum((chunk.tally for chunk in self.chunks), Tally())


@dataclass(frozen=True, slots=True)
class Watermark:
    """The column whose greatest value in the table decides what lands."""

    column: str
    late: str
    """The condition that a row of STAGED lies below that value."""
    unmarked: str
    """The condition that a row has no value."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The number of rows that land."""

    rows: int
    late: int = 0
    """The number of staged rows that do not land, because they are below the watermark."""
    unmarked: int = 0
    """The number of landing rows without a watermark value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A load mode's part of a recipe, as SQL over the views above."""

    rows: str
    """Selects the rows that land, from STAGED and the table."""
    merge: str = ""
    """The statement that writes ROWS; empty if they are added to the table's rows, or exchanged for them."""
    instead: str = ""
    """Selects the rows within REACH after `merge`, for computes on which no statement can carry a number."""
    required: tuple[str, ...] = ()
    """Columns in which no staged row may be NULL."""
    bounds: tuple[Bound, ...] = ()
    """The key columns that limit REACH in these statements."""
    takes_every_row: bool
    """Whether ROWS is certainly all of STAGED, so that rows need not be counted."""
    may_skip_commit: bool
    """Whether a landing without rows makes no commit."""
    leaves_out: bool = False
    """Whether `merge` itself leaves out the rows that change nothing."""
    watermark: Watermark | None = None
    builds: bool = False
    """Whether the rows are built as a separate table first, which has to pass a trial."""
    before: tuple[tuple[str, str], ...] = ()
    """Views that the other statements use, each a name and a SELECT, in order."""
    count: str | None = None
    """Counts the staged rows that land, if these are not the rows of ROWS."""
    exchanges: bool = False
    """Whether all rows of the table are exchanged; Delta loses the clustering then."""


@dataclass(frozen=True, slots=True)
class Part:
    """Staged files that are read in the same way."""

    schema: Struct
    """The landing's columns; those that become text have the types they were staged as."""
    files: tuple[StagedFile, ...]
    given: frozenset[ColumnPath] = frozenset()
    """The columns and members that the rows were read with, as `Given` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All decisions about a landing."""

    target: Target
    stamp: Stamp
    parts: tuple[Part, ...]
    root: str
    agreement: Agreement
    steps: Steps
    staged: Struct
    """The columns of STAGED: the landing's, and those that only its steps use."""
    tells_places: bool
    """Whether STAGED also has the place of each row and the part it belongs to."""
    tally: Tally
    """The tally of the staged chunks."""
    adopts: bool
    """Whether the files may be added to the table as they are, if all their rows land."""
    is_new: bool
    """Whether the table has to be created."""
    properties: tuple[tuple[str, str], ...] = ()
    """Properties of a new table, or those that are set before the landing."""
    comment: str = ""
    """The comment of a new table."""
    widens_in_place: bool = False
    """Whether Delta widens stored columns without rewriting them."""

    renames: Mapping[str, str] = field(default_factory=dict)
    """Stored columns that are renamed before anything else is decided, with their new names."""
    renames_in_place: bool = False
    """Whether Delta renames columns without a rewrite."""

    layout: Layout = BARE
    """The layout that the table gets before its first landing, or still lacks."""

    @property
    def needs_shaping(self) -> bool:
        """Return whether the table has to be changed before its rows can be decided on."""
        return bool(self.renames) or self.layout != BARE

    @property
    def files(self) -> tuple[StagedFile, ...]:
        return tuple(file for part in self.parts for file in part.files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)
