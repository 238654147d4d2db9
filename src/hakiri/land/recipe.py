"""What a landing will do is written down, whole, before anything is touched."""

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
"""The view of every staged row, in the columns and types of the landing."""
ROWS = "hakiri_rows"
"""The view of the rows that land."""

FILE_COLUMN, ROW_COLUMN = "hakiri_file", "hakiri_row"
"""Where a staged row lies: columns of STAGED that say so, for modes in which the row that was read last counts."""

MAPPED_NAMES = ("delta.columnMapping.mode", "name")
"""The property of a table whose columns have other names in its files than for its readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """How staged changes become rows, and where their deletes are remembered."""

    key: tuple[str, ...]
    sequence: tuple[str, ...]
    """The columns that tell which of two changes of a key is the newer one."""
    tombstones: str
    """The table of what has ended, as SQL names it."""
    brings: Op = Op.CLEAR
    """What of the staged changes reaches farthest; `clear` where nobody knows."""
    is_soft: bool = False
    """Whether deleted rows stay, with a mark."""
    has_history: bool = False
    """Whether every version of a row is kept."""
    unavailable: tuple[tuple[str, str], ...] = ()
    """Columns that some staged change does not bring, by the names they have in staged files and in the table."""
    is_of_tombstones: bool = False
    """Whether it is the deletes that land, in the table of tombstones, and not the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandRequest:
    """What shall land, where and how."""

    project: str
    landing: Landing
    """Reserved in the catalog: its number, chunks and cursor are the commit's."""
    carried: ExpectedLanding | None
    """What the table has to carry already; see `state.carried`."""
    target: Target
    root: str
    """The folder that the paths of staged files start from; a path table's own root."""
    chunks: tuple[StagedChunk, ...]
    mode: LoadMode
    key: tuple[str, ...] = ()
    """The upsert key, or the primary key."""
    cursor: str | None = None
    """The column that orders the versions of a row."""
    watermark: str | None = None
    """The column whose greatest value in the table decides what lands (incremental_watermark)."""
    mirror: Mirror | None = None
    """What the rows are changes of, where they are no rows themselves (cdc_mirror)."""
    removes_overlap: bool = False
    """Whether the read began before the last one ended, so that rows of it may be there already (append)."""
    repeats_last: bool = False
    """Whether the table's last landing brought the very same rows, so that exchanging them would change nothing."""
    comment: str = ""
    """The table's comment, when it is made in a catalog; a folder has none."""
    may_adopt: bool = True
    """Whether sealed files may become the table's own; else Spark writes them anew."""
    keeps_latest: bool = False
    """Whether of all staged rows with one key only the latest takes part in an exchange (a full refresh of upsert)."""
    accepts_loss: bool = False
    """Whether a table that has lost rows may be landed in, because all of it is being read anew."""
    is_sparse: bool = False
    """Whether some landings leave no commit here, as in a quarantine table."""
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Columns whose types a person has accepted, with the type that may come."""
    is_strict: bool = False
    """Whether the table's columns have to stay as they are, but for what is declared."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns that have another name now, with their old ones."""
    shapes: tuple[Shape, ...] = ()
    """The columns that the table's rows were read with, where that is known; oldest first."""
    layout: Layout = BARE
    """What is declared about the table itself."""

    @property
    def replaces_table(self) -> bool:
        """Whether the landing takes the place of all rows of the table."""
        return LOADS[self.mode].replaces_table

    @property
    def lands_latest(self) -> bool:
        """Whether of staged rows with one key only the latest lands."""
        return self.keeps_latest or LOADS[self.mode].keeps_latest

    @property
    def since(self) -> int:
        """The version behind which the landing's commits lie; a table that was lost counts from 0 again."""
        return -1 if self.carried is None or self.accepts_loss else self.carried.version

    @property
    def tally(self) -> Tally:
        return sum((chunk.tally for chunk in self.chunks), Tally())


@dataclass(frozen=True, slots=True)
class Watermark:
    """The column whose greatest value in the table decides what lands."""

    column: str
    late: str
    """That a row of STAGED lies below that value."""
    unmarked: str
    """That a row has no value."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The rows that land, counted before they do."""

    rows: int
    late: int = 0
    """Staged rows that do not, because they lie below the watermark."""
    unmarked: int = 0
    """Of those that land, how many have no watermark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A load mode's part of a recipe, as SQL over the views above."""

    rows: str
    """SELECT of the rows that land, out of STAGED and the table."""
    merge: str = ""
    """The statement that commits them, out of ROWS; none where they are added to the table's, or exchanged for them."""
    instead: str = ""
    """SELECT of what the part of the table within REACH holds after `merge`, where no statement can carry a number."""
    required: tuple[str, ...] = ()
    """Columns in which no staged row may be NULL."""
    bounds: tuple[Bound, ...] = ()
    """What REACH in these statements is made of."""
    takes_every_row: bool
    """Whether ROWS is all of STAGED for certain, so that nobody has to count."""
    may_rest: bool
    """Whether no row to land means no commit."""
    leaves_out: bool = False
    """Whether `merge` finds out for itself which of ROWS change nothing."""
    watermark: Watermark | None = None
    builds: bool = False
    """Whether the rows are made a table of their own first, which has to pass a trial."""
    before: tuple[tuple[str, str], ...] = ()
    """Views that the others look at, each a name and a SELECT, in order."""
    count: str | None = None
    """SELECT of how many staged rows land, where those are not the rows of ROWS."""
    exchanges: bool = False
    """Whether every row of the table is exchanged; Delta forgets by what it was clustered, then."""


@dataclass(frozen=True, slots=True)
class Part:
    """Staged files that are read alike."""

    schema: Struct
    """The landing's columns, those that become text in the types they were staged as."""
    files: tuple[StagedFile, ...]
    given: frozenset[ColumnPath] = frozenset()
    """The columns and members that the rows were read with, as `Given` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that is decided about a landing."""

    target: Target
    stamp: Stamp
    parts: tuple[Part, ...]
    root: str
    agreement: Agreement
    steps: Steps
    staged: Struct
    """The columns of STAGED: the landing's, and those that only its steps look at."""
    tells_places: bool
    """Whether STAGED also tells where each row lies, and by which part's columns it was read."""
    tally: Tally
    """Of the staged chunks."""
    adopts: bool
    """Whether the files may become the table's own as they lie, if every row of them lands."""
    is_new: bool
    """Whether the table has to be made."""
    properties: tuple[tuple[str, str], ...] = ()
    """What the table is made with, or is given before the landing."""
    comment: str = ""
    """Of the table, when it is made."""
    widens_in_place: bool = False
    """Whether Delta widens stored columns without rewriting them."""

    renames: Mapping[str, str] = field(default_factory=dict)
    """Stored columns that get their new names before anything else is decided."""
    renames_in_place: bool = False
    """Whether Delta gives a column another name without a rewrite."""

    layout: Layout = BARE
    """What the table is made with before its first landing, or still has to be given."""

    @property
    def needs_shaping(self) -> bool:
        """Whether something has to happen to the table before anything can be decided about its rows."""
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
