"""Errors that several rooms raise."""

from __future__ import annotations

from hakiri.errors import (
    GOES_ON,
    SHOWN_NAMES,
    CatalogError,
    ContextError,
    EngineError,
    HakiriError,
    LandError,
    PlanError,
    Recovery,
    SourceError,
    TablePlanError,
)


class SessionFailed(EngineError, code="HK204", recovery=Recovery.RETRY, says="{reason}"):
    """Spark did not start, or does not do what Hakiri needs."""

    reason: str
    log: str | None = None

    def help(self) -> str:
        return f"the whole story is in {self.log}" if self.log else "run `hakiri doctor`"


class SessionLost(
    EngineError,
    code="HK208",
    recovery=Recovery.YIELD,
    says="the Spark session has ended, its JVM or its server is gone: {reason}",
):
    """The session ended while it was in use. This process can do no more with it; a new one takes up its work."""

    reason: str

    def help(self) -> str:
        return f"{GOES_ON}; why it ended is in `.hakiri/logs`, and if Java ran out of memory, raise `[engine] memory`"


class WindowMismatch(
    CatalogError, code="HK309", says="{lower} and {upper} cannot be compared: one is a number, the other text"
):
    """Two edges that have no order."""

    lower: str
    upper: str


class BadConfig(SourceError, code="HK411", says="`source.config.{key}` of {connector}: {reason}"):
    """A key of `source.config` that is missing, unknown or wrong."""

    key: str
    reason: str
    guess: str | None = None

    def help(self) -> str | None:
        return f"did you mean `{self.guess}`?" if self.guess else None


class NotWritable(
    ContextError,
    code="HK501",
    says="cannot write to {folder}: {reason}",
    help="make room or give rights there, or choose another place",
):
    """A place that cannot take what should be written there."""

    folder: str
    reason: str


class NoLocalCatalog(
    ContextError,
    code="HK502",
    says="a {backend} catalog on a path needs a folder of this machine, and {path} is none",
    help="set `path` under `[catalog]`, or use the postgres backend",
):
    """A catalog that would have to live on an object store, where its backend cannot."""

    path: str
    backend: str


class SchemaDrift(
    TablePlanError, code="HK609", help='mend the source, or let the table follow it with `schema = "evolve"`'
):
    """A source whose schema has moved, under a pipeline that allows no such thing."""

    changes: tuple[str, ...]

    def message(self) -> str:
        shown = ", ".join(self.changes[:SHOWN_NAMES])
        return f"the schema of {self.subject()} has drifted, and its pipeline is strict: {shown}; nothing was written"


class RenameUnfit(
    PlanError,
    code="HK614",
    says="`{before}` of `{table}` cannot become `{after}`: {reason}",
    help="take `{after}` out of `renamed`, or make it one column in a transform",
):
    """A manifest that says a column has another name now, and a table or a source that cannot follow."""

    pipeline: str
    table: str
    before: str
    after: str
    reason: str


class SchemaIncompatible(
    LandError,
    code="HK803",
    help=(
        "cast it to {stored} in a transform, or accept the new type: `hakiri schema accept {pipeline} --table {table}`"
    ),
):
    """A column whose staged values do not fit the type the table stores."""

    pipeline: str
    column: str
    stored: str
    incoming: str
    sample: tuple[str, ...] = ()

    def message(self) -> str:
        shown = f" ({', '.join(self.sample)})" if self.sample else ""
        return f"column `{self.column}` of `{self.table}` is {self.stored} and cannot take {self.incoming}{shown}"


class Bug(HakiriError, code="HK900", recovery=Recovery.REPORT, says="internal error: {kind}: {detail}"):
    """A failure nobody foresaw: the traceback is in the log, the terminal gets one line."""

    kind: str
    detail: str
    log: str | None = None

    def help(self) -> str:
        where = f", and attach {self.log}" if self.log else ""
        return f"this is a bug in Hakiri; please report it{where}"
