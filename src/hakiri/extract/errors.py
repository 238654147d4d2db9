"""Errors between a source and the stage."""

from __future__ import annotations

from hakiri.errors import (
    SHOWN_CHARACTERS,
    SHOWN_NAMES,
    ComponentError,
    ExtractError,
    LocatedError,
    ManifestError,
    Recovery,
    SourceError,
)


class TransformRefused(
    LocatedError,
    code="HK131",
    says="the transform is not allowed: `{node}` {reason}",
    help=("compile it again from its source with `hakiri compile`; docs/transforms.md lists what a plan may hold"),
):
    """A compiled transform contains something that is not allowed. Nothing of it was run."""

    node: str
    reason: str


class TransformOutdated(
    LocatedError,
    code="HK132",
    says="the transform was compiled for Polars {compiled_for}, and this is {running}",
    help="run `hakiri compile --all` and review what changed",
):
    """A transform was compiled for another version of Polars, and may behave differently in this one."""

    compiled_for: str
    running: str


class TransformUnfit(LocatedError, code="HK133", says="the transform of `{table}` does not fit at {step}: {reason}"):
    """A transform does not fit the columns of its table. Nothing was read yet."""

    table: str
    step: str
    reason: str
    guess: str | None = None

    def help(self) -> str | None:
        return f"did you mean `{self.guess}`?" if self.guess else None


class SourceUncompilable(LocatedError, code="HK135", says="{reason}", help="{advice}"):
    """A transform's source cannot be compiled."""

    reason: str
    advice: str | None = None


class CompilerMissing(
    ManifestError,
    code="HK136",
    says="`{source}` is TypeScript, and the Node that compiles it is not installed",
    help="install `hakiri[typescript]`; only compiling needs it, running does not",
):
    """A transform is written in TypeScript, and Node is not installed to compile it."""

    source: str


class ComponentRefused(
    LocatedError, code="HK137", says="the component `{file}` cannot be used: it {reason}", help="{advice}"
):
    """A WebAssembly file cannot be used as a transform. Nothing of it was run."""

    file: str
    reason: str
    advice: str | None = None


class CapabilityUngranted(LocatedError, code="HK138", says="the component `{file}` {reason}", help="{advice}"):
    """A component needs a permission that it does not have, or has one that it does not ask for."""

    file: str
    reason: str
    advice: str


class RuntimeMissing(
    LocatedError,
    code="HK139",
    says="`{file}` is WebAssembly, and the Wasmtime that runs it is not installed",
    help="install `hakiri[wasm]`, on the machines that read chunks too",
):
    """A transform is a WebAssembly component, and Wasmtime is not installed."""

    file: str


class SourceUnreachable(
    SourceError,
    code="HK401",
    recovery=Recovery.RETRY,
    says="cannot reach {connector}: {reason}",
    help="check the address in `source.config`, and that the source is up and lets this machine in",
):
    """The source does not answer, or the connection broke."""

    reason: str


class SourceRefused(
    SourceError,
    code="HK402",
    says="access to {subject} is refused: {reason}",
    help="check the user, the secret behind the password, the database and what the user may read",
):
    """The login failed, or a permission is missing."""

    reason: str


class TableMissing(SourceError, code="HK403"):
    """The source has no such table, or the user may not see it."""

    table: str
    guess: str | None = None
    looked_in: str | None = None

    def message(self) -> str:
        return f"{self.connector} has no table `{self.table}`" + (f" in {self.looked_in}" if self.looked_in else "")

    def help(self) -> str:
        return f"did you mean `{self.guess}`?" if self.guess else "check its name, and that our user may see it"


class ColumnMissing(SourceError, code="HK404", says="column `{column}` is not in `{table}`"):
    """The table has no such column."""

    table: str
    column: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it has {', '.join(self.known[:SHOWN_NAMES])}" if self.known else None


class BadValue(SourceError, code="HK405", help="{advice}"):
    """A value at the source cannot be read. The value is never shown."""

    reason: str
    where: str | None = None
    advice: str = "fix it at the source, or leave it out with `query` or `columns`"

    def message(self) -> str:
        return f"{self.subject()} holds a value that cannot be read: {self.reason}" + (
            f" ({self.where})" if self.where else ""
        )


class RateLimited(SourceError, code="HK406", recovery=Recovery.RETRY, help="set or lower `backfill.rate_budget`"):
    """The source asks to wait, because of its rate limit."""

    retry_after_seconds: float | None = None

    def message(self) -> str:
        wait = f" for {self.retry_after_seconds:g} s" if self.retry_after_seconds is not None else ""
        return f"{self.subject()} asks to wait{wait}"


class SourceTimeout(
    SourceError,
    code="HK407",
    recovery=Recovery.RETRY,
    says="{subject} took too long: {reason}",
    help="give it more time in `source.config`, or make the chunks smaller",
):
    """The source took too long, or a lock was held."""

    reason: str


class SourceFailed(SourceError, code="HK408", recovery=Recovery.RETRY, says="reading {subject} failed: {reason}"):
    """Reading failed for a reason that the connector does not recognize. It is tried again."""

    reason: str = "its driver raised what no driver of its kind declares"


class SourceMoved(
    SourceError,
    code="HK409",
    says="{subject} has changed since it was planned: {reason}",
    help="run again: a new plan sees it as it is now",
):
    """The source changed after it was planned, so the chunk cannot be read as planned."""

    reason: str
    is_replaced: bool = False
    """Whether there is something else in its place."""


class SourceBehind(
    SourceError,
    code="HK417",
    recovery=Recovery.RETRY,
    says="{subject} was surveyed at {surveyed}, and the server that answers now is at {found}",
    help=("it is read once that server has caught up; name one server, not several replicas, in `source.config`"),
):
    """The server that answers is a replica that has not caught up with the survey."""

    found: str
    surveyed: str


class RequestWrong(
    SourceError, code="HK410", says="{subject} rejected the query: {reason}", help="check the table's `query`"
):
    """The source rejected a query."""

    reason: str


class ConnectorUnusable(SourceError, code="HK412", says="the connector `{connector}` cannot be used: {reason}"):
    """A connector is not installed here, or cannot be loaded."""

    reason: str
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "connectors come from packages that offer `hakiri.connectors`"


class FileChanged(
    SourceError,
    code="HK413",
    recovery=Recovery.RETRY,
    says="{file} of {subject} was changed while it was read",
    help=("write files under a name that begins with `.` or `_`, and rename them once they are whole"),
):
    """A file was written to while it was read. None of its rows are kept."""

    file: str


class NoColumnFound(SourceError, code="HK414"):
    """A file has none of its table's columns: no header, another delimiter, or another table's file."""

    table: str
    file: str
    header: tuple[str, ...]
    known: tuple[str, ...]

    def message(self) -> str:
        header = " ".join(", ".join(self.header[:SHOWN_NAMES]).split())[:SHOWN_CHARACTERS]
        return f"{self.file} has none of the columns of `{self.table}`: its header is `{header}`"

    def help(self) -> str:
        known = ", ".join(self.known[:SHOWN_NAMES])
        return (
            f"expected: {known}; check `delimiter` and `header` in `source.config`, or take the file out of the folder"
        )


class RowRuleBroken(
    ExtractError, code="HK701", help='fix the rows at the source, or set them aside with `on_fail = "skip"`'
):
    """Rows broke a rule with `on_fail = "abort"`."""

    rule: str
    column: str
    count: int

    def message(self) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count} rows"
        return f"{rows} of `{self.table}` broke the rule `{self.rule}` on column `{self.column}`"


class RuleUnfit(
    ExtractError,
    code="HK702",
    says="the rule `{rule}` cannot check column `{column}` of `{table}`: {reason}",
    help="change the rule under `quality.row_level`",
):
    """A row rule cannot be applied to its column."""

    rule: str
    column: str
    reason: str


class TypeUnlandable(
    ExtractError,
    code="HK703",
    says="column `{column}` of `{table}` cannot land: {reason}",
    help="declare a type for the column, or change it in a transform",
):
    """A column has a type or values that Delta cannot store unchanged."""

    column: str
    reason: str


class ColumnReserved(
    ExtractError,
    code="HK704",
    says="column `{column}` of `{table}` has a name that Hakiri gives to a column of its own",
    help="rename it in the table's `query`, or leave it out with `columns`",
):
    """A source column has a name that Hakiri uses for a column of its own."""

    column: str


class TransformFailed(
    ExtractError,
    code="HK711",
    says="the transform of `{table}` failed at {step}: {reason}",
    help="let the step accept such values (`strict=False`, `fill_null`), or filter them before it",
):
    """A transform failed on some rows. Their values are not shown."""

    step: str
    reason: str


class ChunkTooLarge(
    ExtractError,
    code="HK712",
    says=("the transform of `{table}` has to see a chunk at once, and this one has over {limit_mib} MiB"),
    help=("make chunks smaller with `backfill.window`, or leave out sort, unique, group_by and window functions"),
):
    """A transform needs all rows of a chunk at once, and the chunk is too large for that."""

    limit_mib: int


class ReferenceUnfit(
    ExtractError,
    code="HK713",
    says="the transform of `{table}` cannot join with `{reference}`: {reason}",
    help="join in a view over the landed tables",
):
    """A transform cannot join with a landed table."""

    reference: str
    reason: str


class ChangesUnfit(ExtractError, code="HK714", says="the changes of `{table}` cannot be read: {reason}"):
    """A change feed lacks something that every change needs."""

    reason: str
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "see `load.changes`, `load.sequence_by` and the key in the manifest"


class ComponentFailed(ComponentError, code="HK717", help="`hakiri transform try` shows what it does to a few rows"):
    """A component returned an error, crashed, or gave another result than it declared."""


class ComponentExceeded(
    ComponentError,
    code="HK718",
    help="fix the component, or raise its `memory_mib`, `fuel` or `timeout` in the manifest",
):
    """A component was stopped at one of its limits."""


class ComponentUnanswered(ComponentError, code="HK719", recovery=Recovery.RETRY):
    """A component failed after a request of its own got no answer. It is tried again."""
