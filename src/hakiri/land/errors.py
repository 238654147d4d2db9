"""Errors of landing, hooks, views and queries."""

from __future__ import annotations

from typing import Literal

from hakiri.errors import SHOWN_NAMES, HookError, LandError, QueryError, Recovery, ViewError


class UnknownTable(QueryError, code="HK651", says="there is no table `{table}`"):
    """No landed table has this name."""

    table: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        shown = ", ".join(self.known[:SHOWN_NAMES])
        return f"there are: {shown}" if shown else "no table has landed yet; `hakiri apply` lands them"


class TableNotLanded(QueryError, code="HK657", says="`{table}` has not landed yet", help="`hakiri apply` lands it"):
    """The table is declared, and has not landed yet."""

    table: str


class QueryRefused(
    QueryError,
    code="HK652",
    says="this query is refused: {reason}",
    help='ask with one SELECT, like `hakiri sql "select count(*) from orders"`',
):
    """A query is not valid SQL, or is not a single SELECT."""

    reason: str


class QueryFailed(QueryError, code="HK653", says="the query failed: {reason}"):
    """A valid query failed."""

    reason: str


class TableUnreadable(
    QueryError,
    code="HK654",
    says="`{table}` cannot be read without Spark: {reason}",
    help="read it with Spark; the table itself is intact",
):
    """A landed table can only be read with Spark."""

    table: str
    reason: str


class LandingOutOfOrder(
    LandError,
    code="HK801",
    says=(
        "`{table}` already carries landing {found}, where {expected} was expected, so landing {number} was not written"
    ),
    help=("another catalog lands here too, or this one lost its state: `hakiri catalog rebuild` reads the table's"),
):
    """The table has a landing that the catalog does not know; landing more would lose one of them (G4)."""

    number: int
    expected: int
    found: int


class TableMovedBack(
    LandError,
    code="HK802",
    says="`{table}` should carry landing {expected} and carries {found}: {reason}",
    help=(
        "restore the table to the version it had, or replace its content with a full read: "
        "`hakiri apply --full-refresh`"
    ),
):
    """Landed rows are no longer in the table, and landing more would hide that."""

    expected: int
    found: int
    reason: str


class TypeUnsupported(
    LandError,
    code="HK804",
    says="column `{column}` of `{table}` is staged as {incoming}, which Delta does not have",
    help="cast it in a transform",
):
    """A staged column has a type that Delta does not have."""

    column: str
    incoming: str


class ColumnsCollide(LandError, code="HK805", help="rename one of them in a transform"):
    """Columns differ only in case, and Delta would take them for one."""

    columns: tuple[str, ...]

    def message(self) -> str:
        return f"{' and '.join(f'`{name}`' for name in self.columns)} would be one column of `{self.table}`"


class KeyMissing(LandError, code="HK806", help="name the table's `primary_key` or its `upsert_key` in the manifest"):
    """Rows are matched by key columns that were not staged, or no key is named."""

    columns: tuple[str, ...] = ()

    def message(self) -> str:
        if not self.columns:
            return f"`{self.table}` has no key to tell its rows apart by"
        return f"`{self.table}` has no column {' and no column '.join(f'`{name}`' for name in self.columns)}"


class NullKeys(
    LandError, code="HK807", help='set them aside with `load.null_keys = "quarantine"`, or choose another key'
):
    """Rows have no value in a key column."""

    columns: tuple[str, ...]
    rows: int

    def message(self) -> str:
        named = ", ".join(f"`{name}`" for name in self.columns)
        return f"{self.rows} staged rows of `{self.table}` have no value in the key {named}; nothing was landed"


class StagedFileUnfit(
    LandError,
    code="HK808",
    says="{path}: {problem}, so nothing was landed in `{table}`",
    help="rewind the chunk, so that it is read again",
):
    """A staged file is missing or is not the one that was sealed (G3)."""

    path: str
    problem: Literal["missing", "wrong size", "wrong row count", "not Parquet"]


class RowsUncounted(
    LandError,
    code="HK809",
    recovery=Recovery.REPORT,
    says="{expected} rows were staged for `{table}` and {found} were found; nothing was landed",
):
    """The staged files do not have as many rows as were counted (G6)."""

    expected: int
    found: int


class LandingTooLarge(
    LandError,
    code="HK810",
    recovery=Recovery.REPORT,
    says="landing {number} of `{table}` needs {bytes} bytes to name its chunks; the limit is {limit}",
):
    """A landing has more chunks than one commit can name."""

    number: int
    bytes: int
    limit: int


class TableContended(
    LandError,
    code="HK811",
    recovery=Recovery.RETRY,
    says=("other writers of `{table}` committed first each time, so landing {number} has to be tried again"),
):
    """Other writers committed first, each time. Nothing was landed."""

    number: int


class LandingFailed(
    LandError, code="HK812", recovery=Recovery.RETRY, says="landing {number} of `{table}` failed: {reason}"
):
    """A landing failed: afterwards the table did not have it, or could not be read."""

    number: int
    reason: str


class MirrorUnfit(
    LandError,
    code="HK814",
    help=(
        "set them back; or remove the table and its `_tombstones`, and let `hakiri apply --full-refresh`"
        " read all changes again"
    ),
):
    """The settings of a mirror differ from those that its table was landed with."""

    columns: tuple[str, ...]
    """Those that it lacks, or has and should not have."""

    def message(self) -> str:
        named = ", ".join(f"`{name}`" for name in self.columns)
        return f"`{self.table}` was not landed with these `sequence_by`, `deletes` and `history`: see {named}"


class TombstonesLost(
    LandError,
    code="HK815",
    says="`{tombstones}` is gone, so it is not known what was deleted from `{table}`",
    help="restore it, or let `hakiri apply --full-refresh` read all changes again",
):
    """The tombstones of a mirror are gone, so deleted rows could come back."""

    tombstones: str


class BuildTaken(
    LandError,
    code="HK818",
    says="`{table}` is built as `{build}` first, and there is another table of that name",
    help="rename one of the two; nothing was landed",
):
    """Another table has the name of a `blue_green` build. Neither table was touched."""

    build: str


class WatermarkMissing(
    LandError,
    code="HK819",
    says="`{column}` decides what lands in `{table}`, and is no column of it; nothing was landed",
    help="name a column that lands, and let `hakiri apply --full-refresh` bring the table to it",
):
    """The watermark column is missing in the staged rows, or in a table that has rows."""

    column: str


class LayoutUnfit(
    LandError,
    code="HK860",
    says="`{table}` cannot be laid out as declared: {reason}",
    help=(
        "change `partition_by` or `cluster_by` of the table; to partition it differently, delete it and read all again"
    ),
):
    """A declared layout does not fit the table or its columns."""

    reason: str


class UpkeepFailed(
    LandError,
    code="HK866",
    recovery=Recovery.RETRY,
    says="could not {doing} `{table}`, whose rows are as they were: {reason}",
):
    """A table could not be optimized or vacuumed. Its rows are unchanged."""

    doing: str
    reason: str


class HookRefused(
    HookError,
    code="HK821",
    says="{subject} was refused: {reason}",
    help="change the hook, or what hakiri.toml allows under [hooks]; {what_follows}",
):
    """A hook asks for something that is not allowed. Nothing of it was done."""


class HookFailed(
    HookError, code="HK822", says="{subject} failed: {reason}", help="fix what the hook calls; {what_follows}"
):
    """A hook was called and failed."""


class HookUnanswered(
    HookError,
    code="HK823",
    recovery=Recovery.RETRY,
    says="{subject} got no answer: {reason}",
    help="check that the other side is up; {what_follows}",
):
    """The other side of a hook did not answer, or asked to wait."""

    retry_after_seconds: float | None = None


class HookTimedOut(
    HookError,
    code="HK824",
    says="{subject} was stopped: {reason}",
    help="give it a longer `timeout`, or less to do; {what_follows}",
):
    """A hook took longer than its `timeout` and was stopped. Part of its work may be done."""


class ViewFailed(
    ViewError,
    code="HK831",
    says="the view `{view}` could not be made or dropped: {reason}",
    help=("check that its catalog is up and that you may change views there; the next apply tries again"),
):
    """A valid view could not be created or dropped in its catalog."""

    view: str
    reason: str


class ViewUnanswerable(
    ViewError,
    code="HK833",
    says="the view `{view}` cannot be asked without Spark: {reason}",
    help=("let a `refresh_mat_view` hook keep its rows, or write it with what is answered here (docs/views.md)"),
):
    """A view can only be queried with Spark."""

    view: str
    reason: str
