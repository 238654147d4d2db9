"""Errors of a run as a whole."""

from __future__ import annotations

from hakiri.errors import (
    GOES_ON,
    SHOWN_NAMES,
    CatalogError,
    ContextError,
    EngineError,
    LocatedError,
    ManifestError,
    PlanError,
    QueryError,
    Recovery,
    RunError,
    SourceError,
    TablePlanError,
    ViewError,
    retry_advice,
)


class AdoptionUnfit(
    ManifestError,
    code="HK126",
    says="pipeline `{pipeline}` cannot adopt the tables of `{old}`: {reason}; nothing was changed",
    help="{advice}",
):
    """A pipeline cannot take over the tables of another."""

    pipeline: str
    old: str
    reason: str
    advice: str | None = None


class LastRunFailed(
    ManifestError,
    code="HK127",
    says="the last run of `{pipeline}` failed: {reason}",
    help="`hakiri journal {run}` tells what happened; `hakiri apply {pipeline}` tries again",
):
    """The last run of a pipeline did not succeed, as `hakiri doctor` reports it."""

    pipeline: str
    run: str
    reason: str


class TableBare(
    ManifestError,
    code="HK128",
    says=("the table `{table}` of pipeline `{pipeline}` has no columns at its source; nothing was read"),
    help="give it a column, or take it out of the pipeline's `tables`",
):
    """A source table has no columns, so there is nothing to land."""

    pipeline: str
    table: str


class TransformStale(LocatedError, code="HK134", says="the compiled transform is stale: {reason}"):
    """A compiled transform no longer matches its source."""

    reason: str
    source: str | None = None

    def help(self) -> str:
        return f"run `hakiri compile {self.source or '--all'}`"


class TaskStopped(EngineError, code="HK207", recovery=Recovery.YIELD, says="the work on chunk `{chunk}` was stopped"):
    """A task that ended early because its run is being stopped."""

    chunk: str

    def help(self) -> str:
        return GOES_ON


class CatalogBehind(
    CatalogError,
    code="HK319",
    says="`{table}` of `{pipeline}` carries landing {found}, and the catalog knows of {known}",
    help="if the catalog was lost, `hakiri catalog rebuild` writes it again from the tables",
):
    """A table has landings that the catalog does not know: the catalog was lost, or is another one."""

    pipeline: str
    table: str
    found: int
    known: int


class CatalogDisagrees(CatalogError, code="HK320", says="`{table}` of `{pipeline}`: {reason}"):
    """The catalog and a table's Delta log disagree."""

    pipeline: str
    table: str
    reason: str
    advice: str | None = None

    def help(self) -> str:
        return (
            self.advice or "nothing was written for it; a rebuild is for a catalog that was lost, not for another one"
        )


class SourceRestless(
    SourceError,
    code="HK415",
    recovery=Recovery.RETRY,
    help=("apply again while they are left alone, or write them under another name and rename them once"),
):
    """Files changed each time before they could be read, as often as one run tries."""

    tables: tuple[str, ...]

    def message(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.tables[:SHOWN_NAMES])
        return f"files of {names} were replaced each time before they could be read, and are still to be read"


class RetentionUnfit(
    ContextError,
    code="HK503",
    says="`{retention}` is not a valid retention: {reason}",
    help="keep leftovers for some days, as `--retention 7d` does",
):
    """A retention is not a span of time, or is so short that files still being written could be removed."""

    retention: str
    reason: str


class TableOwned(
    PlanError,
    code="HK617",
    says=(
        "pipeline `{owner}` lands in the table `{table}`; pipeline `{pipeline}` would land its rows a "
        "second time; nothing was read"
    ),
):
    """A table belongs to another pipeline, so its rows would land a second time."""

    pipeline: str
    table: str
    """Its name in the lakehouse."""
    owner: str
    is_adoptable: bool = True

    def help(self) -> str:
        if not self.is_adoptable:
            return (
                "the table was landed by another project, or from another table of the source: give this one another "
                "`destination.namespace`, or move that table away"
            )
        return (
            f"if `{self.owner}` was renamed to `{self.pipeline}`, "
            f"`hakiri pipeline adopt {self.pipeline} --from {self.owner}` goes on where it stopped"
        )


class RewindUnfit(
    PlanError,
    code="HK616",
    says="`{asked}` cannot be rewound: {reason}",
    help=("give a window of the cursor and a `--reason`; `hakiri apply --full-refresh` reads whole tables again"),
):
    """A rewind is not possible as requested. Nothing was changed."""

    asked: str
    reason: str


class NotAcceptable(
    TablePlanError, code="HK611", help="cast it to {before} in a transform, or land it under another name"
):
    """A changed type cannot be accepted, because the column cannot become text."""

    column: str
    before: str
    after: str
    reason: str

    def message(self) -> str:
        types = f"{self.before}, and came as {self.after}"
        return f"column `{self.column}` of {self.subject()} is {types}, which cannot be accepted: {self.reason}"


class RunNotFound(QueryError, code="HK655", says="there is no journal of a run `{run}`"):
    """There is no journal of this run here."""

    run: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri runs ID` lists the runs of a pipeline" if self.known else "nothing has run here yet"


class RunAmbiguous(QueryError, code="HK656"):
    """Several runs have an id that begins like this."""

    run: str
    candidates: tuple[str, ...]

    def message(self) -> str:
        return f"{len(self.candidates)} runs begin with `{self.run}`"

    def help(self) -> str:
        return f"give more of it: {', '.join(self.candidates[:SHOWN_NAMES])}"


class ViewUnfit(ViewError, code="HK830", says="the view `{view}` does not fit: {reason}"):
    """A view does not fit the tables and views it reads, or other views still need it."""

    view: str
    reason: str
    is_kept: bool
    """Whether the view is there as it was before."""

    def help(self) -> str:
        after = "until then its former definition stays" if self.is_kept else "until then there is no such view"
        return f"change `views/{self.view}.sql`, or what it reads; {after}"


class ViewsMoved(
    ViewError,
    code="HK832",
    recovery=Recovery.RETRY,
    says="another run has changed the project's views meanwhile",
    help="run `hakiri apply` again",
):
    """Another run changed views at the same time."""


class ViewPlaceTaken(
    ViewError,
    code="HK834",
    says=("the view `{view}` is not made: {address} is there, and is no view that this project has made"),
    help="rename `views/{view}.sql`, or drop what is there; the next apply makes the view",
):
    """A table or a view that this project did not create has the name of a view. It was not touched."""

    view: str
    address: str


class ChunksFailed(RunError, code="HK851"):
    """Chunks failed for good: they used up their attempts, or cannot succeed."""

    count: int
    table: str
    chunk: str
    reason: str

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        first = f"`{self.chunk}` of `{self.table}`: {self.reason}"
        return f"{chunks} of pipeline `{self.pipeline}` failed for good; the first is {first}"

    def help(self) -> str:
        return retry_advice(self.pipeline)


class TableUnlisted(
    RunError,
    code="HK852",
    says="the table `{table}` is no longer in the manifest of pipeline `{pipeline}`",
    help="if it is put back, `hakiri run {pipeline} --retry-failed` reads on where it was left",
):
    """A chunk is planned for a table that was removed from the manifest."""

    table: str


class ChunksLeft(
    RunError,
    code="HK853",
    help=("`hakiri status {pipeline}` shows the chunks; run it again once none of them is held by a worker"),
):
    """Chunks were staged and did not land, although no error kept them from it."""

    table: str
    count: int

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        return f"{chunks} of `{self.pipeline}`.`{self.table}` were staged and did not land, because others are missing"


class RefreshWaits(
    RunError,
    code="HK854",
    says=("the full refresh of pipeline `{pipeline}` has not begun: chunks of an earlier round are open"),
    help="ask for it again once they have landed",
):
    """A full refresh cannot begin while chunks of an earlier round are open."""


class WorkLeft(
    RunError,
    code="HK859",
    recovery=Recovery.RETRY,
    help=("the run's journal says why each was given back; what has landed is safe, and the next run goes on"),
):
    """Chunks are still to be read, after as many passes as one run makes."""

    count: int

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        return f"{chunks} of pipeline `{self.pipeline}` had to be given back again and again, and are still to be read"


class ChunkNotFound(QueryError, code="HK658", says="`{table}` has no chunk `{chunk}`"):
    """The plan of a table has no such chunk."""

    table: str
    chunk: str
    known: tuple[str, ...] = ()

    def help(self) -> str:
        shown = ", ".join(self.known[:SHOWN_NAMES])
        return f"its chunks are: {shown}" if shown else "its source has no rows to read"
