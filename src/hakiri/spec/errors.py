"""Errors of manifests, and of requests about them."""

from __future__ import annotations

from hakiri.errors import MAX_PROBLEMS, SHOWN_NAMES, LocatedError, ManifestError, Place, Recovery


class InvalidProject(ManifestError, code="HK100"):
    """Everything wrong with a project, reported at once."""

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


class UnreadableManifest(LocatedError, code="HK101", says="{reason}", help="{advice}"):
    """The file is not a document of its format."""

    reason: str
    advice: str | None = None


class WrongValue(LocatedError, code="HK102", help="{advice}"):
    """A key whose value cannot be meant."""

    key: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.key}`: {self.reason}" if self.key else self.reason


class MissingKey(LocatedError, code="HK103", says="`{key}` is missing", help="{advice}"):
    """A key that has to be there."""

    key: str
    advice: str | None = None


class UnknownKey(LocatedError, code="HK104", says="unknown key `{key}`"):
    """A key nobody reads, most often a misspelt one."""

    key: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str | None:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"known keys here: {', '.join(self.known)}" if self.known else None


class DuplicatePipeline(
    ManifestError,
    code="HK105",
    help="keep one source of truth; run `hakiri pipeline convert {pipeline} --to json` to migrate",
):
    """One pipeline id with several definitions."""

    pipeline: str
    found: tuple[Place, ...]

    def message(self) -> str:
        count = {2: "two"}.get(len(self.found), str(len(self.found)))
        return f"pipeline `{self.pipeline}` defined in {count} places"

    def places(self) -> tuple[Place, ...]:
        return self.found

    def text(self) -> str:
        return "\n".join([f"error: {self.message()}:", *(f"  {place}" for place in self.found), f"hint: {self.help()}"])


class SecretInClear(
    LocatedError,
    code="HK106",
    says="`{key}` holds a secret in clear",
    help=("write {suggestion} and list the name under `secrets`; then change the secret, git has seen it"),
):
    """A password, key or token written into a manifest. The value itself is never repeated."""

    key: str
    suggestion: str


class UndeclaredSecret(
    LocatedError,
    code="HK107",
    says="`{key}` uses the secret `{secret}`, which the pipeline does not declare",
    help='add `secrets = ["{secret}"]` to the pipeline',
):
    """A secret that is used and not declared, so no reviewer would see it."""

    key: str
    secret: str


class UnknownConnector(
    LocatedError, code="HK108", severity="warning", says="no connector `{connector}` is installed here"
):
    """A connector that is not installed here."""

    connector: str
    installed: tuple[str, ...]
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"installed: {', '.join(self.installed)}; others come from packages that offer `hakiri.connectors`"


class UnknownFunction(
    LocatedError, code="HK116", severity="warning", says="no function `{function}` is installed here"
):
    """A hook's function that is not installed here."""

    function: str
    installed: tuple[str, ...]
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        there = f"installed: {', '.join(self.installed)}; others come" if self.installed else "they come"
        return f"{there} from packages that offer `hakiri.functions`"


class ProjectNotFound(
    ManifestError, code="HK109", help="run `hakiri init DIR` to make a project, or name one with `--project DIR`"
):
    """No hakiri.toml where it was looked for."""

    looked_in: tuple[str, ...]

    def message(self) -> str:
        return f"no hakiri.toml found; looked in {', '.join(self.looked_in)}"


class PipelineNotFound(ManifestError, code="HK110", says="the project has no pipeline `{pipeline}`"):
    """An id the project does not have."""

    pipeline: str
    known: tuple[str, ...]
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri pipeline list` shows what there is"


class PipelineExists(ManifestError, code="HK111", says="`{pipeline}` is already there", help="{advice}"):
    """A new pipeline, or a new file, whose name is taken."""

    pipeline: str
    place: Place
    advice: str = "choose another id, or change the one that is there with `hakiri pipeline edit`"

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


class EditRefused(ManifestError, code="HK112", says="{reason}", help="{advice}"):
    """An edit that was not made, because the project would have been invalid after it."""

    problems: tuple[ManifestError, ...] = ()
    reason: str = "the project would be invalid after this edit, so nothing was written"
    advice: str | None = None

    def text(self) -> str:
        return "\n\n".join([*(problem.text() for problem in self.problems[:MAX_PROBLEMS]), super().text()])


class UnresolvedReference(ManifestError, code="HK113", says="nothing is set for {reference}"):
    """A reference with nothing behind it on this machine."""

    reference: str
    tried: tuple[str, ...]

    def help(self) -> str:
        return f"set {' or '.join(self.tried)}"


class ManifestChanged(
    ManifestError,
    code="HK114",
    recovery=Recovery.RETRY,
    says="the file changed while it was being edited, so nothing was written",
    help="run the command again",
):
    """A file that someone else wrote while we were about to replace it."""

    place: Place

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


class TableTaken(
    ManifestError,
    code="HK115",
    help=('give one of the pipelines a name of its own for its tables: `destination = {{ namespace = "crm" }}`'),
):
    """Two tables of a project that would be landed under one name."""

    table: str
    pipelines: tuple[str, ...]
    found: tuple[Place, ...]

    def message(self) -> str:
        named = " and ".join(f"`{pipeline}`" for pipeline in dict.fromkeys(self.pipelines))
        return f"the table `{self.table}` would be landed twice, by {named}"

    def places(self) -> tuple[Place, ...]:
        return self.found


class ViewRefused(
    LocatedError,
    code="HK117",
    says="the view `{view}`: {reason}",
    help="a view is one SELECT over landed tables and other views, in a file of the view's name",
):
    """A file of the project's `views/` that is not one SELECT over its tables."""

    view: str
    reason: str


class ViewReadsUnknown(
    LocatedError, code="HK118", says="the view `{view}` reads `{table}`, and the project lands no table of that name"
):
    """A view over a table that the project does not land."""

    view: str
    table: str
    known: tuple[str, ...] = ()
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return f"it can read: {', '.join(self.known[:SHOWN_NAMES]) or 'nothing yet'}"


class ViewTaken(
    ManifestError,
    code="HK119",
    says="the view `{view}` has the name of {owner}",
    help="give its file another name; upper and lower case make no difference",
):
    """A view under a name that something else of the project has, whatever the case."""

    view: str
    owner: str
    found: tuple[Place, ...]

    def places(self) -> tuple[Place, ...]:
        return self.found


class StartedByNothing(
    LocatedError,
    code="HK125",
    severity="warning",
    says=("`{key}` starts nothing here: only the job of a deployed bundle follows it, and there is no bundle"),
    help=(
        "let your scheduler call `hakiri run {pipeline}` and leave the key out, or put a databricks.yml "
        "beside or above the project (docs/databricks.md)"
    ),
):
    """A schedule or a trigger, and no bundle whose job it would start."""

    key: str
    pipeline: str


class FeatureUnavailable(
    ManifestError,
    code="HK608",
    says="`{key}` is not carried out by this release: {reason}",
    help="take it out of the manifest, or wait for the release that has it (CHANGELOG.md)",
):
    """A key of a manifest that is read and checked, and not carried out yet."""

    key: str
    reason: str
    place: Place | None = None

    def places(self) -> tuple[Place, ...]:
        return (self.place,) if self.place else ()
