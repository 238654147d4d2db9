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
    QueryError,
    Recovery,
    SourceError,
    TablePlanError,
)


class SessionFailed(EngineError, code="HK204", recovery=Recovery.RETRY, says="{reason}"):
    """Spark did not start, or cannot do what Hakiri needs."""

    reason: str
    log: str | None = None

    def help(self) -> str:
        return f"the full log is in {self.log}" if self.log else "run `hakiri doctor`"


class SessionLost(
    EngineError,
    code="HK208",
    recovery=Recovery.YIELD,
    says="the Spark session has ended, its JVM or its server is gone: {reason}",
):
    """The Spark session ended while it was in use. The next run goes on from there in a new one."""

    reason: str

    def help(self) -> str:
        return f"{GOES_ON}; why it ended is in `.hakiri/logs`, and if Java ran out of memory, raise `[engine] memory`"


class WindowMismatch(
    CatalogError, code="HK309", says="{lower} and {upper} cannot be compared: one is a number, the other text"
):
    """The two ends of a window cannot be compared."""

    lower: str
    upper: str


class BadConfig(SourceError, code="HK411", says="`source.config.{key}` of {connector}: {reason}"):
    """A key of `source.config` is missing, unknown or wrong."""

    key: str
    reason: str
    guess: str | None = None

    def help(self) -> str | None:
        return f"did you mean `{self.guess}`?" if self.guess else None


class NotWritable(
    ContextError,
    code="HK501",
    says="cannot write to {folder}: {reason}",
    help="free space or grant write access there, or choose another folder",
):
    """A folder or a store cannot be written to."""

    folder: str
    reason: str


class NoLocalCatalog(
    ContextError,
    code="HK502",
    says="a {backend} catalog on a path needs a folder of this machine, and {path} is none",
    help="set `path` under `[catalog]`, or use the postgres backend",
):
    """The catalog's backend needs a folder of this machine, and the context is on an object store."""

    path: str
    backend: str


class SchemaDrift(
    TablePlanError, code="HK609", help='fix the source, or let the table follow it with `schema = "evolve"`'
):
    """The source's schema changed, and the pipeline's schema policy is strict."""

    changes: tuple[str, ...]

    def message(self) -> str:
        shown = ", ".join(self.changes[:SHOWN_NAMES])
        return f"the schema of {self.subject()} has changed, and its pipeline is strict: {shown}; nothing was written"


class RenameUnfit(
    PlanError,
    code="HK614",
    says="`{before}` of `{table}` cannot become `{after}`: {reason}",
    help="take `{after}` out of `renamed`, or make it one column in a transform",
):
    """A column cannot be renamed as the manifest declares."""

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
    """Staged values do not fit the type that the table stores."""

    pipeline: str
    column: str
    stored: str
    incoming: str
    sample: tuple[str, ...] = ()

    def message(self) -> str:
        shown = f" ({', '.join(self.sample)})" if self.sample else ""
        return f"column `{self.column}` of `{self.table}` is {self.stored} and cannot take {self.incoming}{shown}"


class CodeNotFound(
    QueryError, code="HK659", says="there is no error with the code `{asked}`", help="`hakiri errors` lists all codes"
):
    """No error has this code."""

    asked: str


class Bug(HakiriError, code="HK900", recovery=Recovery.REPORT, says="internal error: {kind}: {detail}"):
    """An unexpected failure inside Hakiri. The traceback is in the log."""

    kind: str
    detail: str
    log: str | None = None

    def help(self) -> str:
        where = f", and attach {self.log}" if self.log else ""
        return f"this is a bug in Hakiri; please report it{where}"
