"""Every failure Hakiri reports is a class of this one tree, with a code, a place, a way out and a recovery.

HakiriError
├── ManifestError                HK1xx  a manifest, or a request about one
│   ├── InvalidProject           HK100  everything that is wrong with a project, at once
│   ├── UnreadableManifest       HK101  not a TOML or JSON document
│   ├── WrongValue               HK102  a value that cannot be meant
│   ├── MissingKey               HK103
│   ├── UnknownKey               HK104
│   ├── DuplicatePipeline        HK105  one id, two definitions
│   ├── SecretInClear            HK106  a literal where a reference belongs
│   ├── UndeclaredSecret         HK107  a reference the pipeline does not declare
│   ├── UnknownConnector         HK108  (a warning: it may be installed elsewhere)
│   ├── ProjectNotFound          HK109
│   ├── PipelineNotFound         HK110
│   ├── PipelineExists           HK111
│   ├── EditRefused              HK112  the edit would make the project invalid
│   ├── UnresolvedReference      HK113  `${env:X}` or `${secret:X}` with nothing behind it
│   ├── ManifestChanged          HK114  a file changed between being read and being replaced
│   ├── TableTaken               HK115  two tables of a project would land as one
│   ├── UnknownFunction          HK116  (a warning: it may be installed elsewhere)
│   ├── ViewRefused              HK117  a file of `views/` that is no view
│   ├── ViewReadsUnknown         HK118  a view over a table that nobody lands
│   ├── ViewTaken                HK119  a view under another's name
│   ├── AddressUnreadable        HK121  an address whose parts cannot be told apart
│   ├── StartedByNothing         HK125  (a warning: the project may be deployed from elsewhere)
│   ├── AdoptionUnfit            HK126  a pipeline that cannot go on where another stopped
│   ├── LastRunFailed            HK127  (of `doctor`) a pipeline whose last run did not succeed
│   ├── TableBare                HK128  a table of a source that has no columns
│   ├── FeatureUnavailable       HK608  a key that this release reads and does not carry out
│   ├── TransformRefused         HK131  a plan with something in it that no plan may have
│   ├── TransformOutdated        HK132  compiled for another Polars than the one that would run it
│   ├── TransformUnfit           HK133  a plan that does not go with its table
│   ├── TransformStale           HK134  a plan that is not what its source compiles to
│   ├── SourceUncompilable       HK135  a transform's source that gives no plan
│   ├── CompilerMissing          HK136  TypeScript, and no Node to run it
│   ├── ComponentRefused         HK137  WebAssembly that is not a transform
│   ├── CapabilityUngranted      HK138  a component that asks for what the manifest does not grant it
│   └── RuntimeMissing           HK139  a component, and no Wasmtime to run it
├── EngineError                  HK2xx  Spark, Java and the Delta jars
│   ├── SparkMissing             HK201
│   ├── JavaMissing              HK202
│   ├── JarsUnavailable          HK203
│   ├── SessionFailed            HK204
│   ├── SessionUnreachable       HK205
│   ├── TaskLost                 HK206  a task on an executor died
│   ├── TaskStopped              HK207  a task was asked to stop
│   ├── SessionLost              HK208  the JVM or the server under a session ended while it was in use
│   └── TaskOutOfMemory          HK209  (retried, as often as the pipeline allows)
├── CatalogError                 HK3xx  the ledger beside every step
│   ├── CatalogUnavailable       HK301  not reachable, or locked for too long
│   ├── CatalogBusy              HK302  lost every race for too long
│   ├── CatalogTooNew            HK303  written by a newer release
│   ├── CatalogDriverMissing     HK304
│   ├── SecondWriter             HK305  two JVMs on one local catalog
│   ├── UnknownPipeline          HK306  never registered
│   ├── BackwardMove             HK307  a state change the one table of moves does not have
│   ├── PlanChanged              HK308  a known chunk id with another window
│   ├── WindowMismatch           HK309  numbers compared with text
│   ├── LeaseLost                HK310  the chunk has another holder, or none
│   ├── LandingHeld              HK311  another worker is landing this table
│   ├── LandingLost              HK312  the landing was taken over or ended
│   ├── CursorMoved              HK313  a later landing has moved it
│   ├── SchemaMoved              HK314  the history is longer than the writer knew
│   ├── SidecarUnfit             HK315  missing, short or corrupt
│   ├── SnapshotChanged          HK316  the same landing, other contents
│   ├── EpochsStale              HK317  revocations unknown for longer than allowed
│   ├── LineageTampered          HK318  the append-only record was changed behind our back
│   ├── CatalogBehind            HK319  a table carries landings that the catalog does not know
│   ├── CatalogDisagrees         HK320  the catalog and a table's log tell two stories
│   └── CatalogDamaged           HK122  a commit of the catalog's own log is cut short
├── SourceError                  HK4xx  a source, as a connector meets it
│   ├── SourceUnreachable        HK401  (retried)
│   ├── SourceRefused            HK402  a login or a right that is not there
│   ├── TableMissing             HK403
│   ├── ColumnMissing            HK404
│   ├── BadValue                 HK405  something stored that cannot be read
│   ├── RateLimited              HK406  (retried, not before `retry_after_seconds`)
│   ├── SourceTimeout            HK407  (retried)
│   ├── SourceFailed             HK408  not classified (retried, as often as the pipeline allows)
│   ├── SourceMoved              HK409  the source is no longer what was surveyed
│   ├── RequestWrong             HK410  a query the source does not understand
│   ├── BadConfig                HK411  a key of `source.config`
│   ├── ConnectorUnusable        HK412  not installed, or broken
│   ├── FileChanged              HK413  a file that was written to while it was read (retried)
│   ├── NoColumnFound            HK414  a file with none of its table's columns
│   ├── SourceRestless           HK415  whatever was planned had changed before it could be read (retried)
│   └── SourceBehind             HK417  (retried) a replica that has not come as far as the survey
├── ContextError                 HK5xx  where tables live
│   ├── NotWritable              HK501
│   ├── NoLocalCatalog           HK502  a catalog of this kind needs a path on this machine
│   └── RetentionUnfit           HK503  a retention that would meet attempts still being written
├── PlanError                    HK6xx  what is to be read, before anything is
│   ├── PlanMoved                HK601  what a sealed plan rests on is no longer so
│   ├── CursorColumnMissing      HK602
│   ├── NoWindowForCursor        HK603  a window of time over a cursor that is none
│   ├── UnfitForCursor           HK604  a lag or a start of another kind than the cursor
│   ├── WindowTooSmall           HK605  more chunks than anyone could want
│   ├── CursorUnreadable         HK606  a stored cursor of another make or type
│   ├── CursorColumnChanged      HK613  a stored cursor of another column
│   ├── CursorUnordered          HK615  a cursor that lands in another order than its source's
│   ├── PlanUnreadable           HK607  not a sealed plan, or changed since it was sealed
│   ├── SchemaDrift              HK609  a strict pipeline, and a source with another schema than the table's
│   ├── KeyChanged               HK610  a source whose rows are told apart by other columns than the table's
│   ├── NotAcceptable            HK611  a change of type that no column could hold
│   ├── WatermarkUnfit           HK612  a column that cannot tell how far a table has come
│   ├── KeyNeeded                HK618  an upsert of a table that has no key
│   ├── TransformChanged         HK619  another transform than landed rows went through
│   ├── RenameUnfit              HK614  a declared rename that cannot be carried out
│   ├── RewindUnfit              HK616  what cannot be read again
│   └── TableOwned               HK617  a table that another pipeline lands in
├── QueryError                   HK65x  a question about what there is
│   ├── UnknownTable             HK651  a name that no landed table has
│   ├── QueryRefused             HK652  SQL that is not understood, or does more than ask
│   ├── QueryFailed              HK653  a question that has no answer
│   ├── TableUnreadable          HK654  a landed table that only Spark can read
│   ├── RunNotFound              HK655
│   ├── RunAmbiguous             HK656  the beginning of several ids
│   └── TableNotLanded           HK657  declared, and not made yet
├── ExtractError                 HK7xx  rows, between their source and their stage
│   ├── RowRuleBroken            HK701  a rule that aborts
│   ├── RuleUnfit                HK702  a rule that cannot judge its column
│   ├── TypeUnlandable           HK703  a column that no Delta table can hold
│   ├── ColumnReserved           HK704  a name that belongs to row provenance
│   ├── TransformFailed          HK711  rows that a transform could not take
│   ├── ChunkTooLarge            HK712  more rows than a transform may see at once
│   ├── ReferenceUnfit           HK713  a table that rows cannot be looked up in
│   ├── ChangesUnfit             HK714  rows that are no changes of the kind the manifest names
│   ├── ComponentFailed          HK717  a component that gave up, or gave what it had not announced
│   ├── ComponentExceeded        HK718  a component that took more than it may
│   └── ComponentUnanswered      HK719  (retried) a component that gave up when a request of it had failed
├── StageError                   HK75x  the files of an attempt
│   ├── AttemptTaken             HK751  the attempt's folder is already there
│   ├── SchemaDrifted            HK752  a batch that does not go with the ones before it
│   ├── TallyUnbalanced          HK753  a row is missing or counted twice
│   ├── StagedUnfit              HK754  (retried) a staged file is missing, short or corrupt
│   └── ColumnUnholdable         HK755  a column that no Delta table can hold was not prepared for one
├── LandError                    HK8xx  making staged rows a table's rows
│   ├── LandingOutOfOrder        HK801  the table carries a number nobody expected
│   ├── TableMovedBack           HK802  lost, recreated or restored behind our back
│   ├── SchemaIncompatible       HK803  a column that cannot take what was staged
│   ├── TypeUnsupported          HK804  staged as a type that Delta does not have
│   ├── ColumnsCollide           HK805  names that differ in their case alone
│   ├── KeyMissing               HK806  rows shall be told apart by a column that is not there
│   ├── NullKeys                 HK807  rows without the key they are told apart by
│   ├── StagedFileUnfit          HK808  missing, short or not what was sealed
│   ├── RowsUncounted            HK809  fewer or more rows than were staged (G6)
│   ├── LandingTooLarge          HK810  more chunks than one commit can name
│   ├── TableContended           HK811  other writers were faster every time (retried)
│   ├── LandingFailed            HK812  nothing was landed (retried)
│   ├── MirrorUnfit              HK814  a table that is another kind of mirror than the manifest asks for, or none
│   ├── TombstonesLost           HK815  what was deleted is no longer remembered
│   ├── BuildTaken               HK818  where a table is to be built there is another
│   ├── WatermarkMissing         HK819  a table whose rows cannot say how far it has come
│   ├── LayoutUnfit              HK860  a table that cannot be laid out as declared
│   └── UpkeepFailed             HK866  a table whose files could not be tended
├── HookError                    HK82x  what runs beside a landing
│   ├── HookRefused              HK821  it asks for what it may not have
│   ├── HookFailed               HK822  it ran, and trying again at once will not help
│   ├── HookUnanswered           HK823  (retried, not before `retry_after_seconds`)
│   └── HookTimedOut             HK824  it was stopped
├── ViewError                    HK83x  views over landed tables
│   ├── ViewUnfit                HK830  it does not go with the tables as they are
│   ├── ViewFailed               HK831  it could not be made or dropped
│   ├── ViewsMoved               HK832  (retried) another run has made views meanwhile
│   ├── ViewUnanswerable         HK833  it says what only Spark can answer
│   └── ViewPlaceTaken           HK834  something else stands where it is to be
├── RunError                     HK85x  a run as a whole
│   ├── ChunksFailed             HK851  chunks that will not be tried again by themselves
│   ├── TableUnlisted            HK852  a chunk of a table that the manifest no longer has
│   ├── ChunksLeft               HK853  chunks that were staged and did not land
│   ├── RefreshWaits             HK854  a full refresh that could not begin
│   └── WorkLeft                 HK859  chunks that are still to be read
├── BundleError                  HK87x, HK88x  the asset bundle, and what a workspace gives its jobs
│   ├── BundleUnreadable         HK870  a file of the bundle that is none, or has what no job has
│   ├── ScheduleUnfit            HK871  a time that Quartz cannot say, or does not understand
│   ├── EntryPointUnknown        HK872  a task runs what the wheel does not have
│   ├── EnvironmentUnknown       HK873  a task runs where the job has nothing
│   ├── TaskGraphBroken          HK874  a task waits for one that is not there, or for itself
│   ├── ReferenceUnknown         HK875  a parameter, a task value or a variable that nobody sets
│   ├── LocationAdrift           HK876  a place that a development target moves away from under its trigger
│   ├── ScopeUnnamed             HK877  a pipeline with secrets, and no scope to take them from
│   ├── ScopeRefused             HK878  a secret scope that is not there, or not for us
│   ├── ScopeUnanswered          HK879  (retried) the workspace did not give a secret
│   ├── WheelLeftOut             HK880  a task runs where its wheel is not installed
│   └── ArgumentsUnfit           HK881  a task is told what its entry point does not take
└── Bug                          HK900  ours: a failure nobody foresaw

The branch says where it happened; `recovery` says what the catcher does. Codes are never reused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Literal

MAX_TEXT = 2_000
MAX_PROBLEMS = 50

_SHOWN_NAMES = 20
_SHOWN_CHARACTERS = 300


class Recovery(StrEnum):
    """What whoever catches an error does about it."""

    FIX = "fix"  # a person changes something
    RETRY = "retry"  # the same call may succeed later
    YIELD = "yield"  # another worker has it
    REPORT = "report"  # our bug


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, as editors and terminals link it."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(eq=False, kw_only=True)
class HakiriError(Exception):
    """The root: facts are fields, and the text is made of them."""

    code: ClassVar[str]
    recovery: ClassVar[Recovery] = Recovery.FIX
    severity: ClassVar[Literal["error", "warning"]] = "error"

    def message(self) -> str:
        raise TypeError(f"{type(self).__name__} has no message of its own")

    def places(self) -> tuple[Place, ...]:
        return ()

    def help(self) -> str | None:
        return None

    def heading(self) -> str:
        return f"{self.severity}[{self.code}]: {self.message()}"

    def text(self) -> str:
        """The whole report, as a terminal shows it."""
        lines = [self.heading()]
        lines += [f"  --> {place}" for place in self.places()]
        if advice := self.help():
            lines.append(f"help: {advice}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        return _rebuild, (type(self), facts)


# --- manifests ---------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class ManifestError(HakiriError):
    """A manifest, or a request about one, that a person has to change."""


@dataclass(eq=False, kw_only=True)
class InvalidProject(ManifestError):
    """Everything wrong with a project, reported at once."""

    code = "HK100"
    problems: tuple[ManifestError, ...]

    def message(self) -> str:
        count = len(self.problems)
        return f"{count} {'problem' if count == 1 else 'problems'} in the project's manifests"

    def text(self) -> str:
        shown = [problem.text() for problem in self.problems[:MAX_PROBLEMS]]
        hidden = len(self.problems) - len(shown)
        if hidden:
            shown.append(f"... and {hidden} more")
        return "\n\n".join([*shown, f"error: {self.message()}"])


@dataclass(eq=False, kw_only=True)
class LocatedError(ManifestError):
    """A manifest error with the one line it stands on."""

    place: Place

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


@dataclass(eq=False, kw_only=True)
class UnreadableManifest(LocatedError):
    """The file is not a document of its format."""

    code = "HK101"
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return self.reason

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class WrongValue(LocatedError):
    """A key whose value cannot be meant."""

    code = "HK102"
    key: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.key}`: {self.reason}" if self.key else self.reason

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class MissingKey(LocatedError):
    """A key that has to be there."""

    code = "HK103"
    key: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.key}` is missing"

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class UnknownKey(LocatedError):
    """A key nobody reads, most often a misspelt one."""

    code = "HK104"
    key: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"unknown key `{self.key}`"

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"known keys here: {', '.join(self.known)}" if self.known else None


@dataclass(eq=False, kw_only=True)
class DuplicatePipeline(ManifestError):
    """One pipeline id with several definitions."""

    code = "HK105"
    pipeline: str
    found: tuple[Place, ...]

    def message(self) -> str:
        count = {2: "two"}.get(len(self.found), str(len(self.found)))
        return f"pipeline `{self.pipeline}` defined in {count} places"

    def places(self) -> tuple[Place, ...]:
        return self.found

    def help(self) -> str:
        return f"keep one source of truth; run `hakiri pipeline convert {self.pipeline} --to json` to migrate"

    def text(self) -> str:
        return "\n".join([f"error: {self.message()}:", *(f"  {place}" for place in self.found), f"hint: {self.help()}"])


@dataclass(eq=False, kw_only=True)
class SecretInClear(LocatedError):
    """A password, key or token written into a manifest. The value itself is never repeated."""

    code = "HK106"
    key: str
    suggestion: str

    def message(self) -> str:
        return f"`{self.key}` holds a secret in clear"

    def help(self) -> str:
        return f"write {self.suggestion} and list the name under `secrets`; then change the secret, git has seen it"


@dataclass(eq=False, kw_only=True)
class UndeclaredSecret(LocatedError):
    """A secret that is used and not declared, so no reviewer would see it."""

    code = "HK107"
    key: str
    secret: str

    def message(self) -> str:
        return f"`{self.key}` uses the secret `{self.secret}`, which the pipeline does not declare"

    def help(self) -> str:
        return f'add `secrets = ["{self.secret}"]` to the pipeline'


@dataclass(eq=False, kw_only=True)
class UnknownConnector(LocatedError):
    """A connector that is not installed here."""

    code = "HK108"
    severity = "warning"
    connector: str
    installed: tuple[str, ...]
    guess: str | None = None

    def message(self) -> str:
        return f"no connector `{self.connector}` is installed here"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"installed: {', '.join(self.installed)}; others come from packages that offer `hakiri.connectors`"


@dataclass(eq=False, kw_only=True)
class UnknownFunction(LocatedError):
    """A hook's function that is not installed here."""

    code = "HK116"
    severity = "warning"
    function: str
    installed: tuple[str, ...]
    guess: str | None = None

    def message(self) -> str:
        return f"no function `{self.function}` is installed here"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        there = f"installed: {', '.join(self.installed)}; others come" if self.installed else "they come"
        return f"{there} from packages that offer `hakiri.functions`"


@dataclass(eq=False, kw_only=True)
class ProjectNotFound(ManifestError):
    """No hakiri.toml where it was looked for."""

    code = "HK109"
    looked_in: tuple[str, ...]

    def message(self) -> str:
        return f"no hakiri.toml found; looked in {', '.join(self.looked_in)}"

    def help(self) -> str:
        return "run `hakiri init DIR` to make a project, or name one with `--project DIR`"


@dataclass(eq=False, kw_only=True)
class PipelineNotFound(ManifestError):
    """An id the project does not have."""

    code = "HK110"
    pipeline: str
    known: tuple[str, ...]
    guess: str | None = None

    def message(self) -> str:
        return f"the project has no pipeline `{self.pipeline}`"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri pipeline list` shows what there is"


@dataclass(eq=False, kw_only=True)
class PipelineExists(ManifestError):
    """A new pipeline, or a new file, whose name is taken."""

    code = "HK111"
    pipeline: str
    place: Place
    advice: str = "choose another id, or change the one that is there with `hakiri pipeline edit`"

    def message(self) -> str:
        return f"`{self.pipeline}` is already there"

    def places(self) -> tuple[Place, ...]:
        return (self.place,)

    def help(self) -> str:
        return self.advice


@dataclass(eq=False, kw_only=True)
class EditRefused(ManifestError):
    """An edit that was not made, because the project would have been invalid after it."""

    code = "HK112"
    problems: tuple[ManifestError, ...] = ()
    reason: str = "the project would be invalid after this edit, so nothing was written"
    advice: str | None = None

    def message(self) -> str:
        return self.reason

    def help(self) -> str | None:
        return self.advice

    def text(self) -> str:
        return "\n\n".join([*(problem.text() for problem in self.problems[:MAX_PROBLEMS]), super().text()])


@dataclass(eq=False, kw_only=True)
class UnresolvedReference(ManifestError):
    """A reference with nothing behind it on this machine."""

    code = "HK113"
    reference: str
    tried: tuple[str, ...]

    def message(self) -> str:
        return f"nothing is set for {self.reference}"

    def help(self) -> str:
        return f"set {' or '.join(self.tried)}"


@dataclass(eq=False, kw_only=True)
class AddressUnreadable(ManifestError):
    """An address, its references resolved, whose parts cannot be told apart. No part of it is repeated."""

    code = "HK121"
    key: str
    reason: str

    def message(self) -> str:
        return f"the address in `{self.key}` cannot be read: {self.reason}"

    def help(self) -> str:
        return "a reference inside an address, as in `user:${secret:NAME}@host`, is encoded by itself"


@dataclass(eq=False, kw_only=True)
class ManifestChanged(ManifestError):
    """A file that someone else wrote while we were about to replace it."""

    code = "HK114"
    recovery = Recovery.RETRY
    place: Place

    def message(self) -> str:
        return "the file changed while it was being edited, so nothing was written"

    def places(self) -> tuple[Place, ...]:
        return (self.place,)

    def help(self) -> str:
        return "run the command again"


@dataclass(eq=False, kw_only=True)
class TableTaken(ManifestError):
    """Two tables of a project that would be landed under one name."""

    code = "HK115"
    table: str
    pipelines: tuple[str, ...]
    found: tuple[Place, ...]

    def message(self) -> str:
        named = " and ".join(f"`{pipeline}`" for pipeline in dict.fromkeys(self.pipelines))
        return f"the table `{self.table}` would be landed twice, by {named}"

    def places(self) -> tuple[Place, ...]:
        return self.found

    def help(self) -> str:
        return 'give one of the pipelines a name of its own for its tables: `destination = { namespace = "crm" }`'


@dataclass(eq=False, kw_only=True)
class ViewRefused(LocatedError):
    """A file of the project's `views/` that is not one SELECT over its tables."""

    code = "HK117"
    view: str
    reason: str

    def message(self) -> str:
        return f"the view `{self.view}`: {self.reason}"

    def help(self) -> str:
        return "a view is one SELECT over landed tables and other views, in a file of the view's name"


@dataclass(eq=False, kw_only=True)
class ViewReadsUnknown(LocatedError):
    """A view over a table that the project does not land."""

    code = "HK118"
    view: str
    table: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"the view `{self.view}` reads `{self.table}`, and the project lands no table of that name"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it can read: {', '.join(self.known[:_SHOWN_NAMES]) or 'nothing yet'}"


@dataclass(eq=False, kw_only=True)
class ViewTaken(ManifestError):
    """A view under a name that something else of the project has, whatever the case."""

    code = "HK119"
    view: str
    owner: str
    found: tuple[Place, ...]

    def message(self) -> str:
        return f"the view `{self.view}` has the name of {self.owner}"

    def places(self) -> tuple[Place, ...]:
        return self.found

    def help(self) -> str:
        return "give its file another name; upper and lower case make no difference"


@dataclass(eq=False, kw_only=True)
class StartedByNothing(LocatedError):
    """A schedule or a trigger, and no bundle whose job it would start."""

    code = "HK125"
    severity = "warning"
    key: str
    pipeline: str

    def message(self) -> str:
        return f"`{self.key}` starts nothing here: only the job of a deployed bundle follows it, and there is no bundle"

    def help(self) -> str:
        return (
            f"let your scheduler call `hakiri run {self.pipeline}` and leave the key out, "
            "or put a databricks.yml beside or above the project (docs/databricks.md)"
        )


@dataclass(eq=False, kw_only=True)
class AdoptionUnfit(ManifestError):
    """A pipeline that cannot take over the tables of another."""

    code = "HK126"
    pipeline: str
    old: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"pipeline `{self.pipeline}` cannot adopt the tables of `{self.old}`: {self.reason}; nothing was changed"

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class LastRunFailed(ManifestError):
    """A pipeline whose last run did not succeed, as `doctor` reports it."""

    code = "HK127"
    pipeline: str
    run: str
    reason: str

    def message(self) -> str:
        return f"the last run of `{self.pipeline}` failed: {self.reason}"

    def help(self) -> str:
        return f"`hakiri journal {self.run}` tells what happened; `hakiri apply {self.pipeline}` tries again"


@dataclass(eq=False, kw_only=True)
class TableBare(ManifestError):
    """A table that its source has without a column: its rows hold nothing that could land."""

    code = "HK128"
    pipeline: str
    table: str

    def message(self) -> str:
        return f"the table `{self.table}` of pipeline `{self.pipeline}` has no columns at its source; nothing was read"

    def help(self) -> str:
        return "give it a column, or take it out of the pipeline's `tables`"


@dataclass(eq=False, kw_only=True)
class FeatureUnavailable(ManifestError):
    """A key of a manifest that is read and checked, and not carried out yet."""

    code = "HK608"
    key: str
    reason: str
    place: Place | None = None

    def message(self) -> str:
        return f"`{self.key}` is not carried out by this release: {self.reason}"

    def places(self) -> tuple[Place, ...]:
        return (self.place,) if self.place else ()

    def help(self) -> str:
        return "take it out of the manifest, or wait for the release that has it (CHANGELOG.md)"


@dataclass(eq=False, kw_only=True)
class TransformRefused(LocatedError):
    """A plan that holds what no plan may hold; nothing of it has been run."""

    code = "HK131"
    node: str
    reason: str

    def message(self) -> str:
        return f"a transform that cannot be trusted: `{self.node}` {self.reason}"

    def help(self) -> str:
        return "compile it again from its source with `hakiri compile`; docs/transforms.md lists what a plan may hold"


@dataclass(eq=False, kw_only=True)
class TransformOutdated(LocatedError):
    """A plan for another Polars: it might mean something else to this one."""

    code = "HK132"
    compiled_for: str
    running: str

    def message(self) -> str:
        return f"the transform was compiled for Polars {self.compiled_for}, and this is {self.running}"

    def help(self) -> str:
        return "run `hakiri compile --all` and review what changed"


@dataclass(eq=False, kw_only=True)
class TransformUnfit(LocatedError):
    """A plan that cannot run on its table, found before anything was read."""

    code = "HK133"
    table: str
    step: str
    reason: str
    guess: str | None = None

    def message(self) -> str:
        return f"the transform of `{self.table}` does not fit at {self.step}: {self.reason}"

    def help(self) -> str | None:
        return f"did you mean `{self.guess}`?" if self.guess else None


@dataclass(eq=False, kw_only=True)
class TransformStale(LocatedError):
    """A plan that somebody edited, or whose source somebody did."""

    code = "HK134"
    reason: str
    source: str | None = None

    def message(self) -> str:
        return f"the compiled transform is stale: {self.reason}"

    def help(self) -> str:
        return f"run `hakiri compile {self.source or '--all'}`"


@dataclass(eq=False, kw_only=True)
class SourceUncompilable(LocatedError):
    """A transform's source that does not give a plan."""

    code = "HK135"
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return self.reason

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class CompilerMissing(ManifestError):
    """A transform in TypeScript, and nothing that runs it."""

    code = "HK136"
    source: str

    def message(self) -> str:
        return f"`{self.source}` is TypeScript, and the Node that compiles it is not installed"

    def help(self) -> str:
        return "install `hakiri[typescript]`; only compiling needs it, running does not"


@dataclass(eq=False, kw_only=True)
class ComponentRefused(LocatedError):
    """A file of WebAssembly that cannot be a transform; nothing of it has been run."""

    code = "HK137"
    file: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"the component `{self.file}` cannot be used: it {self.reason}"

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class CapabilityUngranted(LocatedError):
    """A component that asks for what it is not granted, or is granted what it does not ask for."""

    code = "HK138"
    file: str
    reason: str
    advice: str

    def message(self) -> str:
        return f"the component `{self.file}` {self.reason}"

    def help(self) -> str:
        return self.advice


@dataclass(eq=False, kw_only=True)
class RuntimeMissing(LocatedError):
    """A component among the transforms, and nothing that runs it."""

    code = "HK139"
    file: str

    def message(self) -> str:
        return f"`{self.file}` is WebAssembly, and the Wasmtime that runs it is not installed"

    def help(self) -> str:
        return "install `hakiri[wasm]`, on the machines that read chunks too"


# --- the engine --------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class EngineError(HakiriError):
    """Spark, Java or the Delta jars."""


@dataclass(eq=False, kw_only=True)
class SparkMissing(EngineError):
    """PySpark is not installed in this environment."""

    code = "HK201"
    wanted: str = "pyspark"

    def message(self) -> str:
        return f"`{self.wanted}` is not installed in this environment"

    def help(self) -> str:
        return "install `hakiri[local]` for an embedded Spark, or `hakiri[databricks-connect]` for a workspace's"


@dataclass(eq=False, kw_only=True)
class JavaMissing(EngineError):
    """No Java that Spark can run on."""

    code = "HK202"
    tried: tuple[str, ...]

    def message(self) -> str:
        return f"no Java 17 or newer found; tried {'; '.join(self.tried)}"

    def help(self) -> str:
        return "install `hakiri[local]`, which brings a Java, or point JAVA_HOME at one"


@dataclass(eq=False, kw_only=True)
class JarsUnavailable(EngineError):
    """Delta's jars are neither in the cache nor to be had."""

    code = "HK203"
    recovery = Recovery.RETRY
    wanted: tuple[str, ...]
    tried: tuple[str, ...]

    def message(self) -> str:
        return f"cannot get {', '.join(self.wanted)}; tried {'; '.join(self.tried)}"

    def help(self) -> str:
        return "run once with a network, or set HAKIRI_JARS to a folder that holds them"


@dataclass(eq=False, kw_only=True)
class SessionFailed(EngineError):
    """Spark did not start, or does not do what Hakiri needs."""

    code = "HK204"
    recovery = Recovery.RETRY
    reason: str
    log: str | None = None

    def message(self) -> str:
        return self.reason

    def help(self) -> str:
        return f"the whole story is in {self.log}" if self.log else "run `hakiri doctor`"


@dataclass(eq=False, kw_only=True)
class SessionUnreachable(EngineError):
    """No Spark Connect server, or no workspace, at the given address."""

    code = "HK205"
    recovery = Recovery.RETRY
    remote: str
    reason: str

    def message(self) -> str:
        return f"no Spark session at {self.remote}: {self.reason}"

    def help(self) -> str:
        return "check SPARK_REMOTE or `[engine] remote`, and that the server is up"


@dataclass(eq=False, kw_only=True)
class TaskLost(EngineError):
    """A task that ended without an answer: its worker died or ran out of memory."""

    code = "HK206"
    recovery = Recovery.RETRY
    reason: str

    def message(self) -> str:
        return f"a task on an executor was lost: {self.reason}; if that was for want of memory, {_TAKES_LESS}"

    def help(self) -> str:
        return "it is tried again, as often as the pipeline allows"


@dataclass(eq=False, kw_only=True)
class TaskOutOfMemory(EngineError):
    """A task that could not get the memory it asked for. What ran beside it may have had it, so it is tried again."""

    code = "HK209"
    recovery = Recovery.RETRY
    reason: str

    def message(self) -> str:
        return f"a task ran out of memory ({self.reason}): {_TAKES_LESS}"

    def help(self) -> str:
        return "it is tried again, as often as the pipeline allows; docs/run.md says what bounds a task's memory"


_TAKES_LESS = "lower `batch_rows` or `batch_bytes` of the source, or `parallelism`"


@dataclass(eq=False, kw_only=True)
class TaskStopped(EngineError):
    """A task that ended early because its run is being stopped."""

    code = "HK207"
    recovery = Recovery.YIELD
    chunk: str

    def message(self) -> str:
        return f"the work on chunk `{self.chunk}` was stopped"

    def help(self) -> str:
        return _GOES_ON


@dataclass(eq=False, kw_only=True)
class SessionLost(EngineError):
    """The session ended while it was in use. This process can do no more with it; a new one takes up its work."""

    code = "HK208"
    recovery = Recovery.YIELD
    reason: str

    def message(self) -> str:
        return f"the Spark session has ended, its JVM or its server is gone: {self.reason}"

    def help(self) -> str:
        return f"{_GOES_ON}; why it ended is in `.hakiri/logs`, and if Java ran out of memory, raise `[engine] memory`"


_GOES_ON = "run `hakiri apply` again: it goes on where this run ended"


# --- the catalog -------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class CatalogError(HakiriError):
    """The catalog refused, or could not be reached."""


@dataclass(eq=False, kw_only=True)
class CatalogUnavailable(CatalogError):
    """The store behind the catalog does not answer."""

    code = "HK301"
    recovery = Recovery.RETRY
    store: str
    reason: str

    def message(self) -> str:
        return f"the catalog in {self.store} does not answer: {self.reason}"


@dataclass(eq=False, kw_only=True)
class CatalogDamaged(CatalogError):
    """A commit of the catalog's own log that is cut short: what it recorded is lost."""

    code = "HK122"
    store: str
    file: str
    bytes: int

    def message(self) -> str:
        return f"the catalog in {self.store} is damaged: {self.file} is cut short ({self.bytes:,} bytes)"

    def help(self) -> str:
        return "`hakiri catalog rebuild --yes` keeps it aside and writes a new one from the tables' own Delta logs"


@dataclass(eq=False, kw_only=True)
class CatalogBusy(CatalogError):
    """Other writers won every race for as long as we were willing to try."""

    code = "HK302"
    recovery = Recovery.RETRY
    table: str
    tries: int

    def message(self) -> str:
        return f"{self.tries} commits to the catalog's `{self.table}` lost to other writers"


@dataclass(eq=False, kw_only=True)
class CatalogTooNew(CatalogError):
    """A newer release has changed the catalog's own tables."""

    code = "HK303"
    found: int
    known: int

    def message(self) -> str:
        return f"the catalog is at schema {self.found}, this release knows {self.known}"

    def help(self) -> str:
        return "upgrade Hakiri here; a catalog never goes back"


@dataclass(eq=False, kw_only=True)
class CatalogDriverMissing(CatalogError):
    """The chosen backend's library is not installed."""

    code = "HK304"
    backend: str
    wanted: str
    extra: str

    def message(self) -> str:
        return f"the `{self.backend}` catalog needs `{self.wanted}`, which is not installed"

    def help(self) -> str:
        return f"install `hakiri[{self.extra}]`"


@dataclass(eq=False, kw_only=True)
class SecondWriter(CatalogError):
    """Another Spark application writes this catalog on a local path, where two of them would lose commits."""

    code = "HK305"
    path: str
    writer: str

    def message(self) -> str:
        return f"Spark application {self.writer} already writes the catalog at {self.path}"

    def help(self) -> str:
        return (
            "Spark cannot keep two applications apart on a local path: stop the other one, "
            "use the `delta` backend on a path, or keep the catalog in Unity Catalog"
        )


@dataclass(eq=False, kw_only=True)
class UnknownPipeline(CatalogError):
    """Work for a pipeline that was never registered."""

    code = "HK306"
    pipeline: str

    def message(self) -> str:
        return f"the catalog does not know the pipeline `{self.pipeline}`"

    def help(self) -> str:
        return f"run `hakiri apply {self.pipeline}`"


@dataclass(eq=False, kw_only=True)
class BackwardMove(CatalogError):
    """A state change nobody may make."""

    code = "HK307"
    recovery = Recovery.REPORT
    noun: str
    before: str
    after: str

    def message(self) -> str:
        return f"a {self.noun} does not go from {self.before} to {self.after}"


@dataclass(eq=False, kw_only=True)
class PlanChanged(CatalogError):
    """A chunk id that stands for another stretch of the source: someone has planned this round first."""

    code = "HK308"
    recovery = Recovery.YIELD
    pipeline: str
    chunk: str

    def message(self) -> str:
        return f"chunk `{self.chunk}` of `{self.pipeline}` is already planned with another window"


@dataclass(eq=False, kw_only=True)
class WindowMismatch(CatalogError):
    """Two edges that have no order."""

    code = "HK309"
    lower: str
    upper: str

    def message(self) -> str:
        return f"{self.lower} and {self.upper} cannot be compared: one is a number, the other text"


@dataclass(eq=False, kw_only=True)
class LeaseLost(CatalogError):
    """The chunk is no longer ours: nothing was recorded."""

    code = "HK310"
    recovery = Recovery.YIELD
    pipeline: str
    chunk: str
    attempt: int

    def message(self) -> str:
        return f"attempt {self.attempt} at chunk `{self.chunk}` of `{self.pipeline}` no longer holds its lease"


@dataclass(eq=False, kw_only=True)
class LandingHeld(CatalogError):
    """Landings of one table happen one after the other, and one is under way."""

    code = "HK311"
    recovery = Recovery.YIELD
    pipeline: str
    table: str
    number: int
    holder: str

    def message(self) -> str:
        return f"landing {self.number} of `{self.pipeline}`.`{self.table}` is under way at {self.holder}"


@dataclass(eq=False, kw_only=True)
class LandingLost(CatalogError):
    """The landing has another holder, or has ended otherwise."""

    code = "HK312"
    recovery = Recovery.YIELD
    pipeline: str
    table: str
    number: int

    def message(self) -> str:
        return f"landing {self.number} of `{self.pipeline}`.`{self.table}` is no longer ours"


@dataclass(eq=False, kw_only=True)
class CursorMoved(CatalogError):
    """A cursor only follows landings of higher number."""

    code = "HK313"
    recovery = Recovery.YIELD
    pipeline: str
    table: str
    landing: int
    found: int

    def message(self) -> str:
        return (
            f"the cursor of `{self.pipeline}`.`{self.table}` stands at landing {self.found}, "
            f"so landing {self.landing} may not move it"
        )


@dataclass(eq=False, kw_only=True)
class SchemaMoved(CatalogError):
    """Someone appended to the schema history first."""

    code = "HK314"
    recovery = Recovery.YIELD
    pipeline: str
    table: str
    expected: int
    found: int

    def message(self) -> str:
        return f"the schema history of `{self.pipeline}`.`{self.table}` is at version {self.found}, not {self.expected}"


@dataclass(eq=False, kw_only=True)
class SidecarUnfit(CatalogError):
    """A snapshot that names a file which is not there, or is not the one it names."""

    code = "HK315"
    path: str
    problem: Literal["missing", "wrong size", "wrong content"]

    def message(self) -> str:
        return f"{self.path}: {self.problem}, so the snapshot was not committed"


@dataclass(eq=False, kw_only=True)
class SnapshotChanged(CatalogError):
    """A landing's snapshot is committed once, with one content."""

    code = "HK316"
    recovery = Recovery.REPORT
    pipeline: str
    table: str
    landing: int

    def message(self) -> str:
        return f"landing {self.landing} of `{self.pipeline}`.`{self.table}` already has another snapshot"


@dataclass(eq=False, kw_only=True)
class EpochsStale(CatalogError):
    """Whether access was revoked is not known, so it is not given."""

    code = "HK317"
    recovery = Recovery.RETRY
    age_seconds: float
    bound_seconds: float

    def message(self) -> str:
        return f"revocations were last read {self.age_seconds:.0f} s ago; the bound is {self.bound_seconds:.0f} s"


@dataclass(eq=False, kw_only=True)
class LineageTampered(CatalogError):
    """The lineage table was changed by something other than an append."""

    code = "HK318"
    store: str
    evidence: str

    def message(self) -> str:
        return f"lineage in {self.store} is no longer append-only: {self.evidence}"

    def help(self) -> str:
        return "nothing more is appended to it; restore the table from a backup, or accept the loss and recreate it"


@dataclass(eq=False, kw_only=True)
class CatalogBehind(CatalogError):
    """A table carries landings that the catalog does not know: the catalog was lost, or is another one."""

    code = "HK319"
    pipeline: str
    table: str
    found: int
    known: int

    def message(self) -> str:
        return (
            f"`{self.table}` of `{self.pipeline}` carries landing {self.found}, and the catalog knows of {self.known}"
        )

    def help(self) -> str:
        return "if the catalog was lost, `hakiri catalog rebuild` writes it again from the tables"


@dataclass(eq=False, kw_only=True)
class CatalogDisagrees(CatalogError):
    """The catalog has something else for a table than the table's own log."""

    code = "HK320"
    pipeline: str
    table: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.table}` of `{self.pipeline}`: {self.reason}"

    def help(self) -> str:
        return (
            self.advice or "nothing was written for it; a rebuild is for a catalog that was lost, not for another one"
        )


# --- sources -----------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class SourceError(HakiriError):
    """A source, as a connector meets it. Fields name things; they never hold a row's value or a secret."""

    connector: str
    table: str | None = None
    place: Place | None = None
    """The line of the manifest that says where the source is, where that is what has to be changed."""

    def subject(self) -> str:
        return f"`{self.table}` of {self.connector}" if self.table else self.connector

    def places(self) -> tuple[Place, ...]:
        return (self.place,) if self.place else ()


@dataclass(eq=False, kw_only=True)
class SourceUnreachable(SourceError):
    """Nobody answers, or the line broke."""

    code = "HK401"
    recovery = Recovery.RETRY
    reason: str

    def message(self) -> str:
        return f"cannot reach {self.connector}: {self.reason}"

    def help(self) -> str:
        return "check the address in `source.config`, and that the source is up and lets this machine in"


@dataclass(eq=False, kw_only=True)
class SourceRefused(SourceError):
    """A login that fails, or a right that is missing."""

    code = "HK402"
    reason: str

    def message(self) -> str:
        return f"access to {self.subject()} is refused: {self.reason}"

    def help(self) -> str:
        return "check the user, the secret behind the password, the database and what the user may read"


@dataclass(eq=False, kw_only=True)
class TableMissing(SourceError):
    """A table the source does not have, or does not show us."""

    code = "HK403"
    table: str
    guess: str | None = None
    looked_in: str | None = None

    def message(self) -> str:
        return f"{self.connector} has no table `{self.table}`" + (f" in {self.looked_in}" if self.looked_in else "")

    def help(self) -> str:
        return f"did you mean `{self.guess}`?" if self.guess else "check its name, and that our user may see it"


@dataclass(eq=False, kw_only=True)
class ColumnMissing(SourceError):
    """A column the table does not have."""

    code = "HK404"
    table: str
    column: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"column `{self.column}` is not in `{self.table}`"

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it has {', '.join(self.known[:_SHOWN_NAMES])}" if self.known else None


@dataclass(eq=False, kw_only=True)
class BadValue(SourceError):
    """Something stored at the source that cannot be read at all. The value itself is never repeated."""

    code = "HK405"
    reason: str
    where: str | None = None
    advice: str = "mend it at the source, or leave it out with `query` or `columns`"

    def message(self) -> str:
        return f"{self.subject()} holds what cannot be read: {self.reason}" + (f" ({self.where})" if self.where else "")

    def help(self) -> str:
        return self.advice


@dataclass(eq=False, kw_only=True)
class RateLimited(SourceError):
    """The source asks for patience."""

    code = "HK406"
    recovery = Recovery.RETRY
    retry_after_seconds: float | None = None

    def message(self) -> str:
        wait = f" for {self.retry_after_seconds:g} s" if self.retry_after_seconds is not None else ""
        return f"{self.subject()} asks us to wait{wait}"

    def help(self) -> str:
        return "set or lower `backfill.rate_budget`"


@dataclass(eq=False, kw_only=True)
class SourceTimeout(SourceError):
    """The source took longer than it was given, or a lock was in the way."""

    code = "HK407"
    recovery = Recovery.RETRY
    reason: str

    def message(self) -> str:
        return f"{self.subject()} took too long: {self.reason}"

    def help(self) -> str:
        return "give it more time in `source.config`, or make the chunks smaller"


@dataclass(eq=False, kw_only=True)
class SourceFailed(SourceError):
    """A failure nobody has classified: worth a few more tries."""

    code = "HK408"
    recovery = Recovery.RETRY
    reason: str = "its driver raised what no driver of its kind declares"

    def message(self) -> str:
        return f"reading {self.subject()} failed: {self.reason}"


@dataclass(eq=False, kw_only=True)
class SourceMoved(SourceError):
    """The source is no longer what was surveyed, so this chunk cannot be what was planned."""

    code = "HK409"
    reason: str

    def message(self) -> str:
        return f"{self.subject()} has moved on since it was planned: {self.reason}"

    def help(self) -> str:
        return "run again: a new plan sees it as it is now"


@dataclass(eq=False, kw_only=True)
class SourceBehind(SourceError):
    """A server that does not show yet what the survey saw: a replica that lags."""

    code = "HK417"
    recovery = Recovery.RETRY
    found: str
    surveyed: str

    def message(self) -> str:
        return f"{self.subject()} was surveyed at {self.surveyed}, and the server that answers now is at {self.found}"

    def help(self) -> str:
        return "it is read once that server has caught up; name one server, not several replicas, in `source.config`"


@dataclass(eq=False, kw_only=True)
class RequestWrong(SourceError):
    """A query the source does not understand."""

    code = "HK410"
    reason: str

    def message(self) -> str:
        return f"{self.subject()} cannot be asked this: {self.reason}"

    def help(self) -> str:
        return "check the table's `query`"


@dataclass(eq=False, kw_only=True)
class BadConfig(SourceError):
    """A key of `source.config` that is missing, unknown or wrong."""

    code = "HK411"
    key: str
    reason: str
    guess: str | None = None

    def message(self) -> str:
        return f"`source.config.{self.key}` of {self.connector}: {self.reason}"

    def help(self) -> str | None:
        return f"did you mean `{self.guess}`?" if self.guess else None


@dataclass(eq=False, kw_only=True)
class ConnectorUnusable(SourceError):
    """A connector that is not installed here, or cannot be loaded."""

    code = "HK412"
    reason: str
    guess: str | None = None

    def message(self) -> str:
        return f"the connector `{self.connector}` cannot be used: {self.reason}"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "connectors come from packages that offer `hakiri.connectors`"


@dataclass(eq=False, kw_only=True)
class FileChanged(SourceError):
    """A file that was written to while it was read, so that its rows may be torn. None of them is kept."""

    code = "HK413"
    recovery = Recovery.RETRY
    file: str

    def message(self) -> str:
        return f"{self.file} of {self.subject()} was changed while it was read"

    def help(self) -> str:
        return "write files under a name that begins with `.` or `_`, and rename them once they are whole"


@dataclass(eq=False, kw_only=True)
class NoColumnFound(SourceError):
    """A file in which no column of its table is found: no header, another delimiter, or another table's file."""

    code = "HK414"
    table: str
    file: str
    header: tuple[str, ...]
    known: tuple[str, ...]

    def message(self) -> str:
        header = " ".join(", ".join(self.header[:_SHOWN_NAMES]).split())[:_SHOWN_CHARACTERS]
        return f"{self.file} has none of the columns of `{self.table}`: its header is `{header}`"

    def help(self) -> str:
        known = ", ".join(self.known[:_SHOWN_NAMES])
        return f"due are {known}: check `delimiter` and `header` in `source.config`, or take the file out of the folder"


@dataclass(eq=False, kw_only=True)
class SourceRestless(SourceError):
    """Whatever a run planned to read of a table had changed before it could be read, as often as one run looks."""

    code = "HK415"
    recovery = Recovery.RETRY
    tables: tuple[str, ...]

    def message(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.tables[:_SHOWN_NAMES])
        return f"files of {names} were replaced each time before they could be read, and are still to be read"

    def help(self) -> str:
        return "apply again while they are left alone, or write them under another name and rename them once"


# --- where tables live -------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class ContextError(HakiriError):
    """The place where tables live."""


@dataclass(eq=False, kw_only=True)
class NotWritable(ContextError):
    """A place that cannot take what should be written there."""

    code = "HK501"
    folder: str
    reason: str

    def message(self) -> str:
        return f"cannot write to {self.folder}: {self.reason}"

    def help(self) -> str:
        return "make room or give rights there, or choose another place"


@dataclass(eq=False, kw_only=True)
class NoLocalCatalog(ContextError):
    """A catalog that would have to live on an object store, where its backend cannot."""

    code = "HK502"
    path: str
    backend: str

    def message(self) -> str:
        return f"a {self.backend} catalog on a path needs a folder of this machine, and {self.path} is none"

    def help(self) -> str:
        return "set `path` under `[catalog]`, or use the postgres backend"


@dataclass(eq=False, kw_only=True)
class RetentionUnfit(ContextError):
    """A retention that is none, or so short that a sweep would meet attempts that are being written."""

    code = "HK503"
    retention: str
    reason: str

    def message(self) -> str:
        return f"`{self.retention}` is no retention: {self.reason}"

    def help(self) -> str:
        return "keep leftovers for some days, as `--retention 7d` does"


# --- plans -------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class PlanError(HakiriError):
    """What is to be read cannot be told, or is no longer what was told."""


@dataclass(eq=False, kw_only=True)
class PlanMoved(PlanError):
    """A sealed plan is carried out as it was seen, or not at all."""

    code = "HK601"
    moved: tuple[str, ...]

    def message(self) -> str:
        shown = ", ".join(self.moved[:_SHOWN_NAMES])
        hidden = len(self.moved) - _SHOWN_NAMES
        return f"moved since the plan was sealed: {shown}" + (f" and {hidden} more" if hidden > 0 else "")

    def help(self) -> str:
        return "look at a new plan: `hakiri plan --out plan.json`"


@dataclass(eq=False, kw_only=True)
class TablePlanError(PlanError):
    """One table that cannot be planned."""

    pipeline: str
    table: str

    def subject(self) -> str:
        return f"`{self.pipeline}`.`{self.table}`"


@dataclass(eq=False, kw_only=True)
class CursorColumnMissing(TablePlanError):
    """The column that should tell what is new is not there."""

    code = "HK602"
    column: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"the cursor `{self.column}` is no column of {self.subject()}"

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it has {', '.join(self.known[:_SHOWN_NAMES])}" if self.known else None


@dataclass(eq=False, kw_only=True)
class UnfitForCursor(TablePlanError):
    """A setting that cannot be measured along the cursor."""

    code = "HK604"
    knob: str
    meaning: str
    column: str
    type: str

    def message(self) -> str:
        return f"`{self.knob}` is {self.meaning}, but the cursor `{self.column}` of {self.subject()} is {self.type}"

    def help(self) -> str:
        return f"leave `{self.knob}` out, or choose a cursor it fits"


@dataclass(eq=False, kw_only=True)
class NoWindowForCursor(UnfitForCursor):
    """A window of time over a cursor that is no time."""

    code = "HK603"
    knob: str = "backfill.window"
    meaning: str = "a length of time"

    def help(self) -> str:
        return "leave `backfill.window` out: the table is then cut by size"


@dataclass(eq=False, kw_only=True)
class TableOwned(PlanError):
    """A table that carries the landings of another pipeline: its rows would land a second time."""

    code = "HK617"
    pipeline: str
    table: str
    """Its name in the lakehouse."""
    owner: str
    is_adoptable: bool = True

    def message(self) -> str:
        return (
            f"pipeline `{self.owner}` lands in the table `{self.table}`; pipeline `{self.pipeline}` would land "
            "its rows a second time; nothing was read"
        )

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


@dataclass(eq=False, kw_only=True)
class RewindUnfit(PlanError):
    """A rewind that would bring nothing, or that nobody could make sense of later. Nothing was changed."""

    code = "HK616"
    asked: str
    reason: str

    def message(self) -> str:
        return f"`{self.asked}` cannot be rewound: {self.reason}"

    def help(self) -> str:
        return "give a window of the cursor and a `--reason`; `hakiri apply --full-refresh` reads whole tables anew"


@dataclass(eq=False, kw_only=True)
class WindowTooSmall(TablePlanError):
    """A window that would cut the table into dust."""

    code = "HK605"
    window: str
    chunks: int
    most: int

    def message(self) -> str:
        return f"a window of {self.window} cuts {self.subject()} into {self.chunks} chunks; the most is {self.most}"

    def help(self) -> str:
        return "widen `backfill.window`, raise `backfill.start_from`, or leave the window out"


@dataclass(eq=False, kw_only=True)
class CursorUnreadable(TablePlanError):
    """A stored cursor that cannot be read from; starting there would lose or repeat rows."""

    code = "HK606"
    reason: str

    def message(self) -> str:
        return f"the stored cursor of {self.subject()} {self.reason}"

    def help(self) -> str:
        return f"read the table again from its beginning: `hakiri apply {self.pipeline} --full-refresh`"


@dataclass(eq=False, kw_only=True)
class CursorColumnChanged(TablePlanError):
    """A stored cursor of another column: read from there by the new one, rows would be lost."""

    code = "HK613"
    before: str
    after: str
    value: str

    def message(self) -> str:
        return f"{self.subject()} was read up to `{self.before}` = {self.value}, and its cursor is `{self.after}` now"

    def help(self) -> str:
        again = f"read the table again from its beginning, `hakiri apply {self.pipeline} --full-refresh`"
        return f'{again}, or put `incremental = "{self.before}"` back; a renamed column is declared by `renamed`'


@dataclass(eq=False, kw_only=True)
class CursorUnordered(TablePlanError):
    """A cursor whose values sort otherwise at the source than in the table: newer rows would be taken for older."""

    code = "HK615"
    column: str
    reason: str

    def message(self) -> str:
        return f"`{self.column}` cannot be the cursor of {self.subject()}: {self.reason}"

    def help(self) -> str:
        return "declare its type in `columns` (`decimal(38,9)` for a numeric), cast it in a `query`, or name another"


@dataclass(eq=False, kw_only=True)
class PlanUnreadable(PlanError):
    """A file that is no sealed plan, or no longer the one that was sealed."""

    code = "HK607"
    reason: str

    def message(self) -> str:
        return f"this is not a sealed plan: {self.reason}"

    def help(self) -> str:
        return "seal one with `hakiri plan --out plan.json`"


@dataclass(eq=False, kw_only=True)
class SchemaDrift(TablePlanError):
    """A source whose schema has moved, under a pipeline that allows no such thing."""

    code = "HK609"
    changes: tuple[str, ...]

    def message(self) -> str:
        shown = ", ".join(self.changes[:_SHOWN_NAMES])
        return f"the schema of {self.subject()} has drifted, and its pipeline is strict: {shown}; nothing was written"

    def help(self) -> str:
        return 'mend the source, or let the table follow it with `schema = "evolve"`'


@dataclass(eq=False, kw_only=True)
class KeyChanged(TablePlanError):
    """A source whose rows are told apart by other columns than those of the table."""

    code = "HK610"
    before: str
    after: str

    def message(self) -> str:
        return f"{self.subject()} has landed by the key {self.before}, and its key is now {self.after}"

    def help(self) -> str:
        return (
            "name the old key in the manifest, or read the table anew under the new one: "
            f"`hakiri apply {self.pipeline} --full-refresh`"
        )


@dataclass(eq=False, kw_only=True)
class KeyNeeded(TablePlanError):
    """An upsert of a table that has no key."""

    code = "HK618"

    def message(self) -> str:
        return f"{self.subject()} lands by `upsert`, and neither its source nor the manifest names a key"

    def help(self) -> str:
        return "name the table's `primary_key`, or `load.upsert_key`, or choose another load mode"


@dataclass(eq=False, kw_only=True)
class TransformChanged(TablePlanError):
    """Another transform than landed rows went through, where a read has to know them again by their content."""

    code = "HK619"

    def message(self) -> str:
        return f"the transform of {self.subject()} has changed, and landed rows would land again in another form"

    def help(self) -> str:
        return (
            f"land all rows in the new form: `hakiri apply {self.pipeline} --full-refresh`; "
            'by `load.mode = "upsert"`, which needs a key, a changed transform holds from here on'
        )


@dataclass(eq=False, kw_only=True)
class WatermarkUnfit(TablePlanError):
    """A column whose greatest value in the table does not say what the source has beyond it."""

    code = "HK612"
    column: str
    reason: str

    def message(self) -> str:
        return f"`{self.column}` cannot be the watermark of {self.subject()}: {self.reason}"

    def help(self) -> str:
        return "name a time, a date, a number or a text that lands as it is read, or choose another load mode"


@dataclass(eq=False, kw_only=True)
class NotAcceptable(TablePlanError):
    """A change of type that cannot be accepted, because the column could not become text."""

    code = "HK611"
    column: str
    before: str
    after: str
    reason: str

    def message(self) -> str:
        types = f"{self.before}, and came as {self.after}"
        return f"column `{self.column}` of {self.subject()} is {types}, which cannot be accepted: {self.reason}"

    def help(self) -> str:
        return f"cast it to {self.before} in a transform, or land it under another name"


# --- questions ---------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class RenameUnfit(PlanError):
    """A manifest that says a column has another name now, and a table or a source that cannot follow."""

    code = "HK614"
    pipeline: str
    table: str
    before: str
    after: str
    reason: str

    def message(self) -> str:
        return f"`{self.before}` of `{self.table}` cannot become `{self.after}`: {self.reason}"

    def help(self) -> str:
        return f"take `{self.after}` out of `renamed`, or make it one column in a transform"


@dataclass(eq=False, kw_only=True)
class QueryError(HakiriError):
    """A question about what there is that cannot be answered as it was asked."""


@dataclass(eq=False, kw_only=True)
class UnknownTable(QueryError):
    """A name that no landed table has."""

    code = "HK651"
    table: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"there is no table `{self.table}`"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        shown = ", ".join(self.known[:_SHOWN_NAMES])
        return f"there are: {shown}" if shown else "no table has landed yet; `hakiri apply` lands them"


@dataclass(eq=False, kw_only=True)
class TableNotLanded(QueryError):
    """A table of a manifest that no run has made yet."""

    code = "HK657"
    table: str

    def message(self) -> str:
        return f"`{self.table}` has not landed yet"

    def help(self) -> str:
        return "`hakiri apply` lands it"


@dataclass(eq=False, kw_only=True)
class QueryRefused(QueryError):
    """SQL that is not understood, or that would do more than ask."""

    code = "HK652"
    reason: str

    def message(self) -> str:
        return f"this query is refused: {self.reason}"

    def help(self) -> str:
        return 'ask with one SELECT, like `hakiri sql "select count(*) from orders"`'


@dataclass(eq=False, kw_only=True)
class QueryFailed(QueryError):
    """A question that was understood and has no answer."""

    code = "HK653"
    reason: str

    def message(self) -> str:
        return f"the query failed: {self.reason}"


@dataclass(eq=False, kw_only=True)
class TableUnreadable(QueryError):
    """A landed table that cannot be read right without Spark."""

    code = "HK654"
    table: str
    reason: str

    def message(self) -> str:
        return f"`{self.table}` cannot be read without Spark: {self.reason}"

    def help(self) -> str:
        return "read it with Spark, where it is as whole as ever"


@dataclass(eq=False, kw_only=True)
class RunNotFound(QueryError):
    """A run that has no journal here."""

    code = "HK655"
    run: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def message(self) -> str:
        return f"there is no journal of a run `{self.run}`"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri runs ID` lists the runs of a pipeline" if self.known else "nothing has run here yet"


@dataclass(eq=False, kw_only=True)
class RunAmbiguous(QueryError):
    """The beginning of several run ids."""

    code = "HK656"
    run: str
    candidates: tuple[str, ...]

    def message(self) -> str:
        return f"{len(self.candidates)} runs begin with `{self.run}`"

    def help(self) -> str:
        return f"give more of it: {', '.join(self.candidates[:_SHOWN_NAMES])}"


# --- rows on their way -------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class ExtractError(HakiriError):
    """Rows, between their source and their stage. Fields name things; they never hold a row's value."""

    table: str


@dataclass(eq=False, kw_only=True)
class RowRuleBroken(ExtractError):
    """Rows broke a rule whose consequence is to abort."""

    code = "HK701"
    rule: str
    column: str
    count: int

    def message(self) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count} rows"
        return f"{rows} of `{self.table}` broke the rule `{self.rule}` on column `{self.column}`"

    def help(self) -> str:
        return 'mend the rows at the source, or set them aside with `on_fail = "skip"`'


@dataclass(eq=False, kw_only=True)
class RuleUnfit(ExtractError):
    """A rule that cannot judge its column."""

    code = "HK702"
    rule: str
    column: str
    reason: str

    def message(self) -> str:
        return f"the rule `{self.rule}` cannot judge column `{self.column}` of `{self.table}`: {self.reason}"

    def help(self) -> str:
        return "change the rule under `quality.row_level`"


@dataclass(eq=False, kw_only=True)
class TypeUnlandable(ExtractError):
    """A column whose type, or whose values, no Delta table can hold unchanged."""

    code = "HK703"
    column: str
    reason: str

    def message(self) -> str:
        return f"column `{self.column}` of `{self.table}` cannot land: {self.reason}"

    def help(self) -> str:
        return "declare a type for the column, or change it in a transform"


@dataclass(eq=False, kw_only=True)
class ColumnReserved(ExtractError):
    """A source column with a name that belongs to row provenance."""

    code = "HK704"
    column: str

    def message(self) -> str:
        return f"column `{self.column}` of `{self.table}` has a name that Hakiri gives to a column of its own"

    def help(self) -> str:
        return "rename it in the table's `query`, or leave it out with `columns`"


@dataclass(eq=False, kw_only=True)
class TransformFailed(ExtractError):
    """Rows that a step of the transform could not take. Their values are not repeated."""

    code = "HK711"
    step: str
    reason: str

    def message(self) -> str:
        return f"the transform of `{self.table}` failed at {self.step}: {self.reason}"

    def help(self) -> str:
        return "let the step bear such values (`strict=False`, `fill_null`), or filter them before it"


@dataclass(eq=False, kw_only=True)
class ChunkTooLarge(ExtractError):
    """A transform that has to see a chunk's rows at once, and a chunk that is too large for that."""

    code = "HK712"
    limit_mib: int

    def message(self) -> str:
        return f"the transform of `{self.table}` has to see a chunk at once, and this one has over {self.limit_mib} MiB"

    def help(self) -> str:
        return "make chunks smaller with `backfill.window`, or leave out sort, unique, group_by and window functions"


@dataclass(eq=False, kw_only=True)
class ReferenceUnfit(ExtractError):
    """A landed table that a transform joins with, in which its rows cannot be looked up."""

    code = "HK713"
    reference: str
    reason: str

    def message(self) -> str:
        return f"the transform of `{self.table}` cannot join with `{self.reference}`: {self.reason}"

    def help(self) -> str:
        return "join in a view over the landed tables"


@dataclass(eq=False, kw_only=True)
class ChangesUnfit(ExtractError):
    """A change feed without something that every change has to tell."""

    code = "HK714"
    reason: str
    guess: str | None = None

    def message(self) -> str:
        return f"the changes of `{self.table}` cannot be read: {self.reason}"

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "see `load.changes`, `load.sequence_by` and the key in the manifest"


@dataclass(eq=False, kw_only=True)
class ComponentError(ExtractError):
    """A component of WebAssembly, at work on rows."""

    file: str
    reason: str

    def message(self) -> str:
        return f"the component `{self.file}` failed on rows of `{self.table}`: {self.reason}"


@dataclass(eq=False, kw_only=True)
class ComponentFailed(ComponentError):
    """It said so, it broke down, or its answer is not what it had announced."""

    code = "HK717"

    def help(self) -> str:
        return "`hakiri transform try` shows what it does to a few rows"


@dataclass(eq=False, kw_only=True)
class ComponentExceeded(ComponentError):
    """It was stopped at one of its limits."""

    code = "HK718"

    def help(self) -> str:
        return "mend the component, or raise its `memory_mib`, `fuel` or `timeout` in the manifest"


@dataclass(eq=False, kw_only=True)
class ComponentUnanswered(ComponentError):
    """It said that it failed, and a request that it had made got no answer: that may pass."""

    code = "HK719"
    recovery = Recovery.RETRY


# --- staged files ------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class StageError(HakiriError):
    """The files of an attempt."""

    folder: str


@dataclass(eq=False, kw_only=True)
class AttemptTaken(StageError):
    """The folder is there already: attempts share nothing, so whoever wrote it keeps it."""

    code = "HK751"
    recovery = Recovery.YIELD

    def message(self) -> str:
        return f"the attempt {self.folder} has already been started"

    def help(self) -> str:
        return "a new lease brings a new attempt; `hakiri gc` removes what no attempt won"


@dataclass(eq=False, kw_only=True)
class SchemaDrifted(StageError):
    """A batch that cannot lie in one table with the batches before it."""

    code = "HK752"
    column: str
    reason: str

    def message(self) -> str:
        return f"column `{self.column}` does not go with the rows already staged in {self.folder}: {self.reason}"

    def help(self) -> str:
        return "declare the column's type, so that every batch has the same"


@dataclass(eq=False, kw_only=True)
class TallyUnbalanced(StageError):
    """Rows were lost or counted twice, so nothing is sealed (G6)."""

    code = "HK753"
    recovery = Recovery.REPORT
    reason: str

    def message(self) -> str:
        return f"the rows of {self.folder} do not add up: {self.reason}"


@dataclass(eq=False, kw_only=True)
class StagedUnfit(StageError):
    """A staged file is not what was sealed; the chunk has to be extracted again."""

    code = "HK754"
    recovery = Recovery.RETRY
    path: str
    problem: Literal["missing", "wrong size", "wrong content", "unreadable"]

    def message(self) -> str:
        return f"the staged file {self.path} is not what was sealed: {self.problem}"

    def help(self) -> str:
        return "its chunk is read again from the source"


@dataclass(eq=False, kw_only=True)
class ColumnUnholdable(StageError):
    """A column that no Delta table can hold reached the stage as it was."""

    code = "HK755"
    column: str
    reason: str

    def message(self) -> str:
        return f"column `{self.column}` cannot be staged in {self.folder}: {self.reason}"

    def help(self) -> str:
        return "declare another type or another name for the column"


# --- landing -----------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class LandError(HakiriError):
    """Staged rows that did not become rows of their table."""

    table: str


@dataclass(eq=False, kw_only=True)
class LandingOutOfOrder(LandError):
    """The table carries a landing the catalog knows nothing of; going on would lose this one (G4)."""

    code = "HK801"
    number: int
    expected: int
    found: int

    def message(self) -> str:
        return (
            f"`{self.table}` already carries landing {self.found}, where {self.expected} was expected, "
            f"so landing {self.number} was not written"
        )

    def help(self) -> str:
        return "another catalog lands here too, or this one lost its state: `hakiri catalog rebuild` reads the table's"


@dataclass(eq=False, kw_only=True)
class TableMovedBack(LandError):
    """Rows that were landed are gone, and landing more would hide it."""

    code = "HK802"
    expected: int
    found: int
    reason: str

    def message(self) -> str:
        return f"`{self.table}` should carry landing {self.expected} and carries {self.found}: {self.reason}"

    def help(self) -> str:
        return (
            "restore the table to the version it had, or let `hakiri apply --full-refresh` read all of it anew and put "
            "that in its place"
        )


@dataclass(eq=False, kw_only=True)
class SchemaIncompatible(LandError):
    """A column whose staged values do not fit the type the table stores."""

    code = "HK803"
    pipeline: str
    column: str
    stored: str
    incoming: str
    sample: tuple[str, ...] = ()

    def message(self) -> str:
        shown = f" ({', '.join(self.sample)})" if self.sample else ""
        return f"column `{self.column}` of `{self.table}` is {self.stored} and cannot take {self.incoming}{shown}"

    def help(self) -> str:
        return (
            f"cast it to {self.stored} in a transform, "
            f"or accept the new type: `hakiri schema accept {self.pipeline} --table {self.table}`"
        )


@dataclass(eq=False, kw_only=True)
class TypeUnsupported(LandError):
    """A staged column of a type no Delta table can hold."""

    code = "HK804"
    column: str
    incoming: str

    def message(self) -> str:
        return f"column `{self.column}` of `{self.table}` is staged as {self.incoming}, which Delta does not have"

    def help(self) -> str:
        return "cast it in a transform"


@dataclass(eq=False, kw_only=True)
class ColumnsCollide(LandError):
    """Delta's names have no case, so two such columns would be one."""

    code = "HK805"
    columns: tuple[str, ...]

    def message(self) -> str:
        return f"{' and '.join(f'`{name}`' for name in self.columns)} would be one column of `{self.table}`"

    def help(self) -> str:
        return "rename one of them in a transform"


@dataclass(eq=False, kw_only=True)
class KeyMissing(LandError):
    """A load that tells rows apart by columns that were not staged, or were not named."""

    code = "HK806"
    columns: tuple[str, ...] = ()

    def message(self) -> str:
        if not self.columns:
            return f"`{self.table}` has no key to tell its rows apart by"
        return f"`{self.table}` has no column {' and no column '.join(f'`{name}`' for name in self.columns)}"

    def help(self) -> str:
        return "name the table's `primary_key` or its `upsert_key` in the manifest"


@dataclass(eq=False, kw_only=True)
class NullKeys(LandError):
    """Rows that say nothing about which row they are."""

    code = "HK807"
    columns: tuple[str, ...]
    rows: int

    def message(self) -> str:
        named = ", ".join(f"`{name}`" for name in self.columns)
        return f"{self.rows} staged rows of `{self.table}` have no value in the key {named}; nothing was landed"

    def help(self) -> str:
        return 'set them aside with `load.null_keys = "quarantine"`, or choose another key'


@dataclass(eq=False, kw_only=True)
class StagedFileUnfit(LandError):
    """A staged file that is not the one its seal describes (G3)."""

    code = "HK808"
    path: str
    problem: Literal["missing", "wrong size", "wrong row count", "not Parquet"]

    def message(self) -> str:
        return f"{self.path}: {self.problem}, so nothing was landed in `{self.table}`"

    def help(self) -> str:
        return "rewind the chunk, so that it is read again"


@dataclass(eq=False, kw_only=True)
class RowsUncounted(LandError):
    """The staged files do not hold the rows that were counted into them (G6)."""

    code = "HK809"
    recovery = Recovery.REPORT
    expected: int
    found: int

    def message(self) -> str:
        return f"{self.expected} rows were staged for `{self.table}` and {self.found} were found; nothing was landed"


@dataclass(eq=False, kw_only=True)
class LandingTooLarge(LandError):
    """What a commit says about itself is bounded, so that every reader of the log can afford it."""

    code = "HK810"
    recovery = Recovery.REPORT
    number: int
    bytes: int
    limit: int

    def message(self) -> str:
        return f"landing {self.number} of `{self.table}` needs {self.bytes} bytes to name its chunks, of {self.limit}"


@dataclass(eq=False, kw_only=True)
class TableContended(LandError):
    """Every attempt to commit met a newer version. Nothing was landed."""

    code = "HK811"
    recovery = Recovery.RETRY
    number: int

    def message(self) -> str:
        return f"other writers of `{self.table}` were faster every time, so landing {self.number} has to be tried again"


@dataclass(eq=False, kw_only=True)
class LandingFailed(LandError):
    """The table was read after the failure and does not carry the landing, or could not be read at all."""

    code = "HK812"
    recovery = Recovery.RETRY
    number: int
    reason: str

    def message(self) -> str:
        return f"landing {self.number} of `{self.table}` failed: {self.reason}"


@dataclass(eq=False, kw_only=True)
class MirrorUnfit(LandError):
    """A table whose rows do not tell what this kind of mirror has to know of them."""

    code = "HK814"
    columns: tuple[str, ...]
    """Those that it lacks, or has and should not have."""

    def message(self) -> str:
        named = ", ".join(f"`{name}`" for name in self.columns)
        return f"`{self.table}` was not landed with these `sequence_by`, `deletes` and `history`: see {named}"

    def help(self) -> str:
        return (
            "set them back; or remove the table and its `_tombstones`, and let `hakiri apply --full-refresh` read all "
            "changes anew"
        )


@dataclass(eq=False, kw_only=True)
class TombstonesLost(LandError):
    """Rows whose deletes are forgotten could come back."""

    code = "HK815"
    tombstones: str

    def message(self) -> str:
        return f"`{self.tombstones}` is gone, so nobody knows any more what was deleted from `{self.table}`"

    def help(self) -> str:
        return "restore it, or let `hakiri apply --full-refresh` read all changes anew"


@dataclass(eq=False, kw_only=True)
class BuildTaken(LandError):
    """A table that nobody built for a landing stands where one is to be built. Neither was touched."""

    code = "HK818"
    build: str

    def message(self) -> str:
        return f"`{self.table}` is built as `{self.build}` first, and there is another table of that name"

    def help(self) -> str:
        return "rename one of the two; nothing was landed"


@dataclass(eq=False, kw_only=True)
class WatermarkMissing(LandError):
    """A column that decides what lands is missing in what is staged, or in a table that has rows."""

    code = "HK819"
    column: str

    def message(self) -> str:
        return f"`{self.column}` decides what lands in `{self.table}`, and is no column of it; nothing was landed"

    def help(self) -> str:
        return "name a column that lands, and let `hakiri apply --full-refresh` bring the table to it"


# --- hooks --------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class LayoutUnfit(LandError):
    """A declared layout that does not go with the table, or with its columns."""

    code = "HK860"
    reason: str

    def message(self) -> str:
        return f"`{self.table}` cannot be laid out as declared: {self.reason}"

    def help(self) -> str:
        return "change `partition_by` or `cluster_by` of the table; to partition it anew, delete it and read all again"


@dataclass(eq=False, kw_only=True)
class UpkeepFailed(LandError):
    """A table that was not optimized or vacuumed. Its rows are as they were."""

    code = "HK866"
    recovery = Recovery.RETRY
    doing: str
    reason: str

    def message(self) -> str:
        return f"could not {self.doing} `{self.table}`, whose rows are as they were: {self.reason}"


@dataclass(eq=False, kw_only=True)
class HookError(HakiriError):
    """A hook that did not do what the manifest asks of it. The table's rows are whole, landed or not."""

    pipeline: str
    table: str
    hook: str
    """Where the manifest has it: `post_hook[0]`."""
    number: int
    """The landing it was called for."""
    version: int | None = None
    """The version that the landing became; None before its rows are in the table."""
    reason: str

    def subject(self) -> str:
        return f"{self.hook} of `{self.pipeline}`.`{self.table}` for landing {self.number}"

    def what_follows(self) -> str:
        """What became of the table, and when the hook is called again."""
        if self.version is None:
            return "nothing was written to the table; the next run calls the hook again and lands the rows after it"
        return "the rows have landed and stay; the next run calls the hook again"


@dataclass(eq=False, kw_only=True)
class HookRefused(HookError):
    """A hook that asks for what it may not have. Nothing of it was done."""

    code = "HK821"

    def message(self) -> str:
        return f"{self.subject()} was refused: {self.reason}"

    def help(self) -> str:
        return f"change the hook, or what hakiri.toml allows under [hooks]; {self.what_follows()}"


@dataclass(eq=False, kw_only=True)
class HookFailed(HookError):
    """A hook that was called, and answered that it could not."""

    code = "HK822"

    def message(self) -> str:
        return f"{self.subject()} failed: {self.reason}"

    def help(self) -> str:
        return f"mend what the hook calls; {self.what_follows()}"


@dataclass(eq=False, kw_only=True)
class HookUnanswered(HookError):
    """A hook whose other side did not answer, or asked for patience."""

    code = "HK823"
    recovery = Recovery.RETRY
    retry_after_seconds: float | None = None

    def message(self) -> str:
        return f"{self.subject()} got no answer: {self.reason}"

    def help(self) -> str:
        return f"see that the other side is up; {self.what_follows()}"


@dataclass(eq=False, kw_only=True)
class HookTimedOut(HookError):
    """A hook that took longer than it was given, and was stopped. What it had begun may be done."""

    code = "HK824"

    def message(self) -> str:
        return f"{self.subject()} was stopped: {self.reason}"

    def help(self) -> str:
        return f"give it a longer `timeout`, or less to do; {self.what_follows()}"


# --- views -------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class ViewError(HakiriError):
    """Views over landed tables. The tables are as they were."""


@dataclass(eq=False, kw_only=True)
class ViewUnfit(ViewError):
    """A view that does not go with the tables and views it reads, or that others read and could read no longer."""

    code = "HK830"
    view: str
    reason: str
    is_kept: bool
    """Whether the view is there as it was before."""

    def message(self) -> str:
        return f"the view `{self.view}` does not fit: {self.reason}"

    def help(self) -> str:
        after = "until then its former definition stays" if self.is_kept else "until then there is no such view"
        return f"change `views/{self.view}.sql`, or what it reads; {after}"


@dataclass(eq=False, kw_only=True)
class ViewFailed(ViewError):
    """A view that fits, and that its catalog did not take or let go."""

    code = "HK831"
    view: str
    reason: str

    def message(self) -> str:
        return f"the view `{self.view}` could not be made or dropped: {self.reason}"

    def help(self) -> str:
        return "see that its catalog is up and that you may change views there; the next apply tries again"


@dataclass(eq=False, kw_only=True)
class ViewsMoved(ViewError):
    """Another run has made or dropped views since this one looked."""

    code = "HK832"
    recovery = Recovery.RETRY

    def message(self) -> str:
        return "another run has changed the project's views meanwhile"

    def help(self) -> str:
        return "apply once more"


@dataclass(eq=False, kw_only=True)
class ViewUnanswerable(ViewError):
    """A view that is answered by Spark and cannot be answered without it."""

    code = "HK833"
    view: str
    reason: str

    def message(self) -> str:
        return f"the view `{self.view}` cannot be asked without Spark: {self.reason}"

    def help(self) -> str:
        return "let a `refresh_mat_view` hook keep its rows, or write it with what is answered here (docs/views.md)"


@dataclass(eq=False, kw_only=True)
class ViewPlaceTaken(ViewError):
    """A table or a view that this project has not made stands where a view is to be. It was not touched."""

    code = "HK834"
    view: str
    address: str

    def message(self) -> str:
        return f"the view `{self.view}` is not made: {self.address} is there, and is no view that this project has made"

    def help(self) -> str:
        return f"rename `views/{self.view}.sql`, or drop what is there; the next apply makes the view"


# --- runs --------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class RunError(HakiriError):
    """A run as a whole."""

    pipeline: str


def retry_advice(pipeline: str) -> str:
    """What to do about chunks that failed for good, wherever they are reported."""
    return f"once the cause is mended, `hakiri run {pipeline} --retry-failed` tries them again"


@dataclass(eq=False, kw_only=True)
class ChunksFailed(RunError):
    """Chunks that have used up their attempts, or cannot succeed."""

    code = "HK851"
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


@dataclass(eq=False, kw_only=True)
class TableUnlisted(RunError):
    """A chunk was planned for a table that has been taken out of the manifest since."""

    code = "HK852"
    table: str

    def message(self) -> str:
        return f"the table `{self.table}` is no longer in the manifest of pipeline `{self.pipeline}`"

    def help(self) -> str:
        return f"if it is put back, `hakiri run {self.pipeline} --retry-failed` reads on where it was left"


@dataclass(eq=False, kw_only=True)
class ChunksLeft(RunError):
    """Chunks that were staged, and that nothing kept from landing but landed all the same."""

    code = "HK853"
    table: str
    count: int

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        return f"{chunks} of `{self.pipeline}`.`{self.table}` were staged and did not land, because others are missing"

    def help(self) -> str:
        return f"`hakiri status {self.pipeline}` has the chunks; run it again once none of them is held by a worker"


@dataclass(eq=False, kw_only=True)
class RefreshWaits(RunError):
    """A full refresh was asked for, and an earlier round is still open."""

    code = "HK854"

    def message(self) -> str:
        return f"the full refresh of pipeline `{self.pipeline}` has not begun: chunks of an earlier round are open"

    def help(self) -> str:
        return "ask for it again once they have landed"


@dataclass(eq=False, kw_only=True)
class WorkLeft(RunError):
    """Chunks that are still to be read, after a run has looked for more as often as one run does."""

    code = "HK859"
    recovery = Recovery.RETRY
    count: int

    def message(self) -> str:
        chunks = "1 chunk" if self.count == 1 else f"{self.count:,} chunks"
        return f"{chunks} of pipeline `{self.pipeline}` had to be given back again and again, and are still to be read"

    def help(self) -> str:
        return "the run's journal says why each was given back; what has landed is safe, and the next run goes on"


# --- Databricks --------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class BundleError(HakiriError):
    """The asset bundle, and what a workspace gives its jobs."""


@dataclass(eq=False, kw_only=True)
class BundleUnreadable(BundleError):
    """A file of the bundle that is not what a bundle is made of."""

    code = "HK870"
    file: str
    reason: str

    def message(self) -> str:
        return f"{self.file} cannot be part of a bundle: {self.reason}"


@dataclass(eq=False, kw_only=True)
class ScheduleUnfit(BundleError):
    """A schedule that Databricks cannot keep as it is meant."""

    code = "HK871"
    job: str
    schedule: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"job `{self.job}` cannot run at `{self.schedule}`: {self.reason}"

    def help(self) -> str | None:
        return self.advice


@dataclass(eq=False, kw_only=True)
class TaskError(BundleError):
    """What is wrong with one task of one job."""

    job: str
    task: str

    def subject(self) -> str:
        return f"task `{self.task}` of job `{self.job}`"


@dataclass(eq=False, kw_only=True)
class EntryPointUnknown(TaskError):
    """A task that runs what the wheel does not have."""

    code = "HK872"
    entry_point: str
    known: tuple[str, ...]

    def message(self) -> str:
        return f"{self.subject()} runs `{self.entry_point}`, which is no entry point of the wheel"

    def help(self) -> str:
        return f"the wheel has {', '.join(self.known) or 'none'}"


@dataclass(eq=False, kw_only=True)
class EnvironmentUnknown(TaskError):
    """A task that runs where the job has nothing to run it in."""

    code = "HK873"
    key: str
    known: tuple[str, ...]

    def message(self) -> str:
        where = f"in `{self.key}`, which the job does not define" if self.key else "nowhere: it names no compute"
        return f"{self.subject()} runs {where}"

    def help(self) -> str:
        return f"the job has {', '.join(self.known) or 'no environments and no clusters'}"


@dataclass(eq=False, kw_only=True)
class TaskGraphBroken(TaskError):
    """A task that could never be started, or that two of the job share a name with."""

    code = "HK874"
    reason: str

    def message(self) -> str:
        return f"{self.subject()} {self.reason}"


@dataclass(eq=False, kw_only=True)
class ReferenceUnknown(BundleError):
    """A reference to what nobody sets."""

    code = "HK875"
    where: str
    reference: str
    reason: str

    def message(self) -> str:
        return f"{self.where} refers to `{self.reference}`: {self.reason}"


@dataclass(eq=False, kw_only=True)
class LocationAdrift(BundleError):
    """A place that is spelt out, where a development target gives it another name."""

    code = "HK876"
    job: str
    url: str

    def message(self) -> str:
        return f"the trigger of job `{self.job}` watches `{self.url}`, which a development target renames"

    def help(self) -> str:
        return (
            "names follow as `${resources.volumes.NAME.volume_path}/...` and `${resources.schemas.NAME.id}.TABLE`; "
            "in a manifest as `volume:NAME/...` and `schema:NAME.TABLE`"
        )


@dataclass(eq=False, kw_only=True)
class ScopeUnnamed(BundleError):
    """A pipeline whose secrets have nowhere to come from."""

    code = "HK877"
    job: str
    secrets: tuple[str, ...]

    def message(self) -> str:
        return f"job `{self.job}` needs {', '.join(self.secrets)}, and no secret scope is named"

    def help(self) -> str:
        return "give `secret_scope` a value in databricks.yml, for every target, and pass it on by `--secret-scope`"


@dataclass(eq=False, kw_only=True)
class ScopeRefused(BundleError):
    """A secret scope that is not there, or not for us."""

    code = "HK878"
    scope: str
    reason: str

    def message(self) -> str:
        return f"the secret scope `{self.scope}` cannot be read: {self.reason}"

    def help(self) -> str:
        return "whoever the job runs as needs READ on the scope; `databricks secrets list-acls SCOPE` shows who has it"


@dataclass(eq=False, kw_only=True)
class ScopeUnanswered(BundleError):
    """The workspace did not answer when it was asked for a secret."""

    code = "HK879"
    recovery = Recovery.RETRY
    scope: str
    reason: str

    def message(self) -> str:
        return f"the workspace did not give a secret of the scope `{self.scope}`: {self.reason}"


@dataclass(eq=False, kw_only=True)
class WheelLeftOut(TaskError):
    """A task whose environment does not install the wheel that it runs."""

    code = "HK880"
    package: str

    def message(self) -> str:
        return f"{self.subject()} runs an entry point of `{self.package}` where its wheel is not installed"

    def help(self) -> str:
        return "name the wheel, `../dist/*.whl`, in `dependencies` of the environment, or in `libraries` of the task"


@dataclass(eq=False, kw_only=True)
class ArgumentsUnfit(TaskError):
    """A task that is told what its entry point does not take, or not what it needs."""

    code = "HK881"
    entry_point: str
    reason: str

    def message(self) -> str:
        return f"{self.subject()} gives `{self.entry_point}` what it does not take: {self.reason}"


# --- ours --------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class Bug(HakiriError):
    """A failure nobody foresaw: the traceback is in the log, the terminal gets one line."""

    code = "HK900"
    recovery = Recovery.REPORT
    kind: str
    detail: str
    log: str | None = None

    def message(self) -> str:
        return f"internal error: {self.kind}: {self.detail}"

    def help(self) -> str:
        where = f", and attach {self.log}" if self.log else ""
        return f"this is a bug in Hakiri; please report it{where}"


# --- reading an error --------------------------------------------------------------------------


def render(error: HakiriError) -> str:
    """The bounded text of an error, with every known secret masked."""
    # Masked before it is cut: half a secret is not recognised.
    return _bound(mask(error.text()), MAX_TEXT * (MAX_PROBLEMS if hasattr(error, "problems") else 1))


def as_json(error: HakiriError) -> dict[str, Any]:
    """The same facts as `render`, for programs."""
    facts: dict[str, Any] = {
        "code": error.code,
        "severity": error.severity,
        "message": _bound(mask(error.message()), MAX_TEXT),
        "places": [{"file": place.file, "line": place.line} for place in error.places()],
        "help": mask(advice) if (advice := error.help()) else None,
        "recovery": error.recovery.value,
    }
    problems: Iterable[HakiriError] | None = getattr(error, "problems", None)
    if problems is not None:
        facts["problems"] = [as_json(problem) for problem in problems]
    return facts


def conceal(secret: str) -> None:
    """From now on `mask` hides this value. Repeats change nothing; values too short to be secrets are ignored."""
    for one in {secret, secret.strip()} - _concealed.known.keys():
        if len(one) >= _SHORTEST_SECRET:
            _concealed.known = {
                **_concealed.known,
                one: re.compile("|".join(sorted(_spellings(one), key=len, reverse=True))),
            }


def mask(text: str) -> str:
    """The text with every concealed value replaced, however it is spelled there."""
    end, parts = 0, []
    for start, stop in sorted(span for pattern in _concealed.known.values() for span in _spans(pattern, text)):
        if start >= end:
            parts += [text[end:start], "***"]
        end = max(end, stop)
    return "".join([*parts, text[end:]]) if parts else text


def masked(value: Any) -> Any:
    """A copy of a plain value with `mask` applied to every text in it, before it is written as JSON."""
    match value:
        case str():
            return mask(value)
        case dict():
            return {key: masked(item) for key, item in value.items()}
        case list() | tuple():
            return [masked(item) for item in value]
        case _:
            return value


@dataclass(slots=True)
class _Concealed:
    known: dict[str, re.Pattern[str]] = field(default_factory=dict)


_concealed = _Concealed()
_SHORTEST_SECRET = 4


def _spellings(secret: str) -> set[str]:
    """Patterns of a secret as it is, in JSON, in JSON inside JSON, in SQL, in Python and in a connection string.

    Any character of each may be percent-encoded, in either case.
    """
    backslashed = secret.replace("\\", "\\\\")
    quoted = {secret.replace("'", "''"), repr(secret)[1:-1], backslashed.replace("'", "\\'")}
    connecting = re.sub(r"(['\\\s])", r"\\\1", secret)
    in_json = _in_json(secret)
    twice = {one for text in in_json for one in _in_json(text)}
    return {"".join(map(_character, one)) for one in {secret, connecting, *quoted, *in_json, *twice}}


def _in_json(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}


def _character(sign: str) -> str:
    encoded = "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogatepass"))
    as_plus = r"|\+" if sign == " " else ""
    return f"(?:(?i:{encoded})|{re.escape(sign)}{as_plus})"  # encoded first: a `%` is the beginning of its own escape


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where a pattern matches, overlapping matches too."""
    found = pattern.search(text)
    while found:
        yield found.span()
        found = pattern.search(text, found.start() + 1)


def _bound(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more characters)"


def _rebuild(kind: type[HakiriError], facts: dict[str, Any]) -> HakiriError:
    return kind(**facts)
