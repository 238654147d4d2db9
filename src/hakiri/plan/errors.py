"""Errors of planning."""

from __future__ import annotations

from hakiri.errors import SHOWN_NAMES, PlanError, TablePlanError


class PlanMoved(PlanError, code="HK601", help="look at a new plan: `hakiri plan --out plan.json`"):
    """Something changed after the plan was sealed, so nothing was applied."""

    moved: tuple[str, ...]

    def message(self) -> str:
        shown = ", ".join(self.moved[:SHOWN_NAMES])
        hidden = len(self.moved) - SHOWN_NAMES
        return f"changed since the plan was sealed: {shown}" + (f" and {hidden} more" if hidden > 0 else "")


class CursorColumnMissing(TablePlanError, code="HK602", says="the cursor `{column}` is no column of {subject}"):
    """The cursor column does not exist."""

    column: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it has {', '.join(self.known[:SHOWN_NAMES])}" if self.known else None


class UnfitForCursor(
    TablePlanError,
    code="HK604",
    says="`{knob}` is {meaning}, but the cursor `{column}` of {subject} is {type}",
    help="leave `{knob}` out, or choose a cursor it fits",
):
    """A setting does not fit the type of the cursor."""

    knob: str
    meaning: str
    column: str
    type: str


class NoWindowForCursor(
    UnfitForCursor, code="HK603", help="leave `backfill.window` out: the table is then cut by size"
):
    """`backfill.window` is a span of time, and the cursor is not a time."""

    knob: str = "backfill.window"
    meaning: str = "a length of time"


class WindowTooSmall(
    TablePlanError,
    code="HK605",
    says="a window of {window} cuts {subject} into {chunks} chunks; the most is {most}",
    help="widen `backfill.window`, raise `backfill.start_from`, or leave the window out",
):
    """`backfill.window` would cut the table into too many chunks."""

    window: str
    chunks: int
    most: int


class CursorUnreadable(
    TablePlanError,
    code="HK606",
    says="the stored cursor of {subject} {reason}",
    help="read the table again from its beginning: `hakiri apply {pipeline} --full-refresh`",
):
    """The stored cursor cannot be used; reading from it would lose or repeat rows."""

    reason: str


class CursorColumnChanged(
    TablePlanError, code="HK613", says="{subject} was read up to `{before}` = {value}, and its cursor is `{after}` now"
):
    """The manifest names another cursor column than the stored cursor; rows would be lost."""

    before: str
    after: str
    value: str

    def help(self) -> str:
        again = f"read the table again from its beginning, `hakiri apply {self.pipeline} --full-refresh`"
        return f'{again}, or put `incremental = "{self.before}"` back; a renamed column is declared by `renamed`'


class CursorUnordered(
    TablePlanError,
    code="HK615",
    says="`{column}` cannot be the cursor of {subject}: {reason}",
    help=("declare its type in `columns` (`decimal(38,9)` for a numeric), cast it in a `query`, or name another"),
):
    """The cursor sorts differently at the source than in the table, so new rows would be missed."""

    column: str
    reason: str
    is_declarable: bool = True
    """Whether a declared type would help; not if the table already holds the column as text."""

    def help(self) -> str | None:
        if self.is_declarable:
            return super().help()
        return f"read `{self.column}` under another name in a `query`, and name that, or name another column"


class PlanUnreadable(
    PlanError,
    code="HK607",
    says="this is not a sealed plan: {reason}",
    help="seal one with `hakiri plan --out plan.json`",
):
    """A file is not a sealed plan, or was changed after it was sealed."""

    reason: str


class KeyChanged(
    TablePlanError,
    code="HK610",
    says="{subject} has landed by the key {before}, and its key is now {after}",
    help=(
        "name the old key in the manifest, or read the table again under the new one: `hakiri apply "
        "{pipeline} --full-refresh`"
    ),
):
    """The table's key differs from the one that it was landed with."""

    before: str
    after: str


class KeyNeeded(
    TablePlanError,
    code="HK618",
    says="{subject} lands by `upsert`, and neither its source nor the manifest names a key",
    help="name the table's `primary_key`, or `load.upsert_key`, or choose another load mode",
):
    """A table lands by `upsert` and has no key."""


class TransformChanged(
    TablePlanError,
    code="HK619",
    says="the transform of {subject} has changed, and landed rows would land again in another form",
    help=(
        "land all rows in the new form: `hakiri apply {pipeline} --full-refresh`; by `load.mode = "
        '"upsert"`, which needs a key, a changed transform holds from here on'
    ),
):
    """The transform changed, and landed rows are recognized by their content, so they would land again."""


class VersionsLanded(
    TablePlanError,
    code="HK621",
    says="{subject} has landed by `{mode}`, which keeps every version of a row, and `upsert` has one row per key",
    help='land all rows again with `hakiri apply {pipeline} --full-refresh`, or keep `load.mode = "{mode}"`',
):
    """An upsert into a table that may hold several rows of one key: a MERGE would change all of them."""

    mode: str


class WatermarkUnfit(
    TablePlanError,
    code="HK612",
    says="`{column}` cannot be the watermark of {subject}: {reason}",
    help=("name a time, a date, a number or a text that lands as it is read, or choose another load mode"),
):
    """A column cannot be used as a watermark."""

    column: str
    reason: str
