"""Errors of manifests, and of requests about them."""

from __future__ import annotations

from hakiri.errors import MAX_PROBLEMS, SHOWN_NAMES, LocatedError, ManifestError, Place, Recovery


class InvalidProject(ManifestError, code="HK100"):
    """The project's manifests have errors; all of them are reported at once."""

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
    """A file is not valid in its format."""

    reason: str
    advice: str | None = None


class WrongValue(LocatedError, code="HK102", help="{advice}"):
    """A key has an invalid value."""

    key: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.key}`: {self.reason}" if self.key else self.reason


class MissingKey(LocatedError, code="HK103", says="`{key}` is missing", help="{advice}"):
    """A required key is missing."""

    key: str
    advice: str | None = None


class UnknownKey(LocatedError, code="HK104", says="unknown key `{key}`"):
    """A key is unknown, most often misspelt."""

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
    """Several definitions share one pipeline id."""

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
    help="write {suggestion} and list the name under `secrets`; then change the secret, because it is in git's history",
):
    """A password, key or token is written in a manifest. The value is never shown."""

    key: str
    suggestion: str


class UndeclaredSecret(
    LocatedError,
    code="HK107",
    says="`{key}` uses the secret `{secret}`, which the pipeline does not declare",
    help='add `secrets = ["{secret}"]` to the pipeline',
):
    """A pipeline uses a secret that it does not declare."""

    key: str
    secret: str


class UnknownConnector(
    LocatedError, code="HK108", severity="warning", says="no connector `{connector}` is installed here"
):
    """A connector is not installed here."""

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
    """A hook's function is not installed here."""

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
    """No hakiri.toml was found."""

    looked_in: tuple[str, ...]

    def message(self) -> str:
        return f"no hakiri.toml found; looked in {', '.join(self.looked_in)}"


class PipelineNotFound(ManifestError, code="HK110", says="the project has no pipeline `{pipeline}`"):
    """The project has no pipeline with this id."""

    pipeline: str
    known: tuple[str, ...]
    guess: str | None = None

    def help(self) -> str:
        if self.guess:
            return f"did you mean `{self.guess}`?"
        return "`hakiri pipeline list` lists the pipelines"


class PipelineExists(ManifestError, code="HK111", says="pipeline `{pipeline}` exists already", help="{advice}"):
    """A pipeline or a file with this name already exists."""

    pipeline: str
    place: Place
    advice: str = "choose another id, or change the one that is there with `hakiri pipeline edit`"

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


class EditRefused(ManifestError, code="HK112", says="{reason}", help="{advice}"):
    """An edit was rejected, because the project would be invalid after it. Nothing was written."""

    problems: tuple[ManifestError, ...] = ()
    reason: str = "the project would be invalid after this edit, so nothing was written"
    advice: str | None = None

    def text(self) -> str:
        return "\n\n".join([*(problem.text() for problem in self.problems[:MAX_PROBLEMS]), super().text()])


class UnresolvedReference(ManifestError, code="HK113", says="{reference} has no value"):
    """An `${env:NAME}` or `${secret:NAME}` reference has no value on this machine."""

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
    """Another process changed a manifest while it was being edited."""

    place: Place

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


class TableTaken(
    ManifestError,
    code="HK115",
    help='set another namespace for one of the pipelines: `destination = {{ namespace = "crm" }}`',
):
    """Two tables would land under the same name."""

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
    """A file in `views/` is not a single SELECT over landed tables."""

    view: str
    reason: str


class ViewReadsUnknown(
    LocatedError, code="HK118", says="the view `{view}` reads `{table}`, and the project lands no table of that name"
):
    """A view reads a table that the project does not land."""

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
    """A view has the name of a table or of another view; names ignore case."""

    view: str
    owner: str
    found: tuple[Place, ...]

    def places(self) -> tuple[Place, ...]:
        return self.found


class StartedByNothing(
    LocatedError,
    code="HK125",
    severity="warning",
    says="`{key}` has no effect: only jobs of a deployed bundle use it, and the project has no bundle",
    help=(
        "let your scheduler call `hakiri run {pipeline}` and leave the key out, or put a databricks.yml "
        "beside or above the project (docs/databricks.md)"
    ),
):
    """A pipeline has a schedule or a trigger, and there is no bundle to start it."""

    key: str
    pipeline: str


class FeatureUnavailable(
    ManifestError,
    code="HK608",
    says="`{key}` is not supported by this release: {reason}",
    help="take it out of the manifest, or wait for the release that has it (CHANGELOG.md)",
):
    """A manifest uses a key that this release checks but does not support yet."""

    key: str
    reason: str
    place: Place | None = None

    def places(self) -> tuple[Place, ...]:
        return (self.place,) if self.place else ()
