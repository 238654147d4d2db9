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
    """A pipeline that cannot take over the tables of another."""

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
    """A pipeline whose last run did not succeed, as `doctor` reports it."""

    pipeline: str
    run: str
    reason: str


class TableBare(
    ManifestError,
    code="HK128",
    says=("the table `{table}` of pipeline `{pipeline}` has no columns at its source; nothing was read"),
    help="give it a column, or take it out of the pipeline's `tables`",
):
    """A table that its source has without a column: its rows hold nothing that could land."""

    pipeline: str
    table: str


class TransformStale(LocatedError, code="HK134", says="the compiled transform is stale: {reason}"):
    """A plan that somebody edited, or whose source somebody did."""

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
    """A table carries landings that the catalog does not know: the catalog was lost, or is another one."""

    pipeline: str
    table: str
    found: int
    known: int


class CatalogDisagrees(CatalogError, code="HK320", says="`{table}` of `{pipeline}`: {reason}"):
    """The catalog has something else for a table than the table's own log."""

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
    """Whatever a run planned to read of a table had changed before it could be read, as often as one run looks."""

    tables: tuple[str, ...]

    def message(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.tables[:SHOWN_NAMES])
        return f"files of {names} were replaced each time before they could be read, and are still to be read"


class RetentionUnfit(
    ContextError,
    code="HK503",
    says="`{retention}` is no retention: {reason}",
    help="keep leftovers for some days, as `--retention 7d` does",
):
    """A retention that is none, or so short that a sweep would meet attempts that are being written."""

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
    """A table that carries the landings of another pipeline: its rows would land a second time."""

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
    help=("give a window of the cursor and a `--reason`; `hakiri apply --full-refresh` reads whole tables anew"),
):
    """A rewind that would bring nothing, or that nobody could make sense of later. Nothing was changed."""

    asked: str
    reason: str


class NotAcceptable(
    TablePlanError, code="HK611", help="cast it to {before} in a transform, or land it under another name"
):
    """A change of type that cannot be accepted, because the column could not become text."""

    column: str
    before: str
    after: str
    reason: str

    def message(self) -> str:
        types = f"{self.before}, and came as {self.after}"
        return f"column `{self.column}` of {self.subject()} is {types}, which cannot be accepted: {self.reason}"


class RunNotFound(QueryError, code="HK655", says="there is no journal of a run `{run}`"):
    """A run that has no journal here."""

    run: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri runs ID` lists the runs of a pipeline" if self.known else "nothing has run here yet"


class RunAmbiguous(QueryError, code="HK656"):
    """The beginning of several run ids."""

    run: str
    candidates: tuple[str, ...]

    def message(self) -> str:
        return f"{len(self.candidates)} runs begin with `{self.run}`"

    def help(self) -> str:
        return f"give more of it: {', '.join(self.candidates[:SHOWN_NAMES])}"


class ViewUnfit(ViewError, code="HK830", says="the view `{view}` does not fit: {reason}"):
    """A view that does not go with the tables and views it reads, or that others read and could read no longer."""

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
    help="apply once more",
):
    """Another run has made or dropped views since this one looked."""


class ViewPlaceTaken(
    ViewError,
    code="HK834",
    says=("the view `{view}` is not made: {address} is there, and is no view that this project has made"),
    help="rename `views/{view}.sql`, or drop what is there; the next apply makes the view",
):
    """A table or a view that this project has not made stands where a view is to be. It was not touched."""

    view: str
    address: str


class ChunksFailed(RunError, code="HK851"):
    """Chunks that have used up their attempts, or cannot succeed."""

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
    """A chunk was planned for a table that has been taken out of the manifest since."""

    table: str


class ChunksLeft(
    RunError,
    code="HK853",
    help=("`hakiri status {pipeline}` has the chunks; run it again once none of them is held by a worker"),
):
    """Chunks that were staged, and that nothing kept from landing but landed all the same."""

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
    """A full refresh was asked for, and an earlier round is still open."""


class WorkLeft(
    RunError,
    code="HK859",
    recovery=Recovery.RETRY,
    help=("the run's journal says why each was given back; what has landed is safe, and the next run goes on"),
):
    """Chunks that are still to be read, after a run has looked for more as often as one run does."""

    count: int

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        return f"{chunks} of pipeline `{self.pipeline}` had to be given back again and again, and are still to be read"
