"""Define the root of all errors, the registry of codes, and how an error is shown.

The branch says where it happened; `recovery` says what the catcher does. Codes are never reused. Leaves live in
`<room>/errors.py`; `hakiri errors` prints the tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, dataclass_transform

MAX_TEXT = 2_000
MAX_PROBLEMS = 50

SHOWN_NAMES = 20
SHOWN_CHARACTERS = 300


class Recovery(StrEnum):
    """What to do about an error."""

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


@dataclass_transform(eq_default=False, kw_only_default=True)
class HakiriError(Exception):
    """The root of all errors: facts are typed fields, and the text is built from them.

    A leaf is declared in `<room>/errors.py`: `class KeyMissing(LandError, code="HK806", says="...")`.
    `says` and `help` are templates over the fields; a leaf that needs more overrides `message` or `help`.
    """

    code: ClassVar[str]
    recovery: ClassVar[Recovery] = Recovery.FIX
    severity: ClassVar[Literal["error", "warning"]] = "error"
    _says: ClassVar[str] = ""
    _help: ClassVar[str] = ""

    def __init_subclass__(
        cls,
        *,
        code: str = "",
        says: str = "",
        help: str = "",  # noqa: A002 the word that the report shows
        recovery: Recovery | None = None,
        severity: Literal["error", "warning"] | None = None,
    ) -> None:
        """Make the class a dataclass, and register its code. Raises TypeError for a code that another class has."""
        super().__init_subclass__()
        dataclass(eq=False, kw_only=True)(cls)
        cls._says, cls._help = says or cls._says, help or cls._help
        cls.recovery, cls.severity = recovery or cls.recovery, severity or cls.severity
        if code:
            cls.code = code
            if REGISTRY.setdefault(code, cls).__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__qualname__}: {code} is the code of {REGISTRY[code].__qualname__}")

    def message(self) -> str:
        """Say what happened, in one line."""
        return self._filled(self._says) or ""

    def places(self) -> tuple[Place, ...]:
        return ()

    def help(self) -> str | None:
        """Say what to do about it; None where nothing is known."""
        return self._filled(self._help)

    def _filled(self, template: str) -> str | None:
        """The template with the facts in it; None for none, and for a template that is one fact which is None."""
        facts = _Facts(self)
        if template[:1] == "{" and template[1:-1].isidentifier() and facts[template[1:-1]] is None:
            return None
        return template.format_map(facts) if template else None

    def heading(self) -> str:
        return f"{self.severity}[{self.code}]: {self.message()}"

    def text(self) -> str:
        """Return the whole report, as a terminal shows it."""
        lines = [self.heading()]
        lines += [f"  --> {place}" for place in self.places()]
        if advice := self.help():
            lines.append(f"help: {advice}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        return _rebuild, (type(self), facts)


REGISTRY: dict[str, type[HakiriError]] = {}
"""Every leaf that was imported, by its code."""


def all_errors() -> dict[str, type[HakiriError]]:
    """Import `<room>/errors.py` of every room, and return every leaf by its code, in order of codes."""
    package = Path(__file__).parent
    for file in sorted(package.glob("*/errors.py")):
        import_module(f"{__package__}.{file.parent.name}.errors")
    return dict(sorted(REGISTRY.items()))


class _Facts(Mapping[str, Any]):
    """The facts of an error by name, for its templates; a tuple is shown as names, each in backticks."""

    def __init__(self, error: HakiriError) -> None:
        self._error = error

    def __getitem__(self, name: str) -> Any:
        fact = getattr(self._error, name)
        fact = fact() if callable(fact) else fact
        return ", ".join(f"`{one}`" for one in fact) if isinstance(fact, tuple) else fact

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self._error))

    def __len__(self) -> int:
        return len(vars(self._error))


# --- branches -----------------------------------------------------------------------------------


class ManifestError(HakiriError):
    """A manifest, or a command that edits one, has to be corrected."""


class LocatedError(ManifestError):
    """A manifest error at one line of a file."""

    place: Place

    def places(self) -> tuple[Place, ...]:
        return (self.place,)


class EngineError(HakiriError):
    """Spark, Java or the Delta jars are missing or failed."""


class CatalogError(HakiriError):
    """The catalog rejected an operation, or could not be reached."""


class SourceError(HakiriError):
    """Reading from a source failed. Fields name things; they never hold a row's value or a secret."""

    connector: str
    table: str | None = None
    place: Place | None = None
    """The line of the manifest that says where the source is, where that is what has to be changed."""

    def subject(self) -> str:
        return f"`{self.table}` of {self.connector}" if self.table else self.connector

    def places(self) -> tuple[Place, ...]:
        return (self.place,) if self.place else ()


class ContextError(HakiriError):
    """The place where tables are stored cannot be used."""


class PlanError(HakiriError):
    """Planning failed, or the facts changed since a plan was made."""


class TablePlanError(PlanError):
    """One table cannot be planned."""

    pipeline: str
    table: str

    def subject(self) -> str:
        return f"`{self.pipeline}`.`{self.table}`"


class QueryError(HakiriError):
    """A query, or a request for something by name, cannot be answered."""


class ExtractError(HakiriError):
    """A chunk's rows could not be read, transformed or checked. Fields name things; they never hold a row's value."""

    table: str


class ComponentError(ExtractError, says="the component `{file}` failed on rows of `{table}`: {reason}"):
    """A WebAssembly component failed while it transformed rows."""

    file: str
    reason: str


class StageError(HakiriError):
    """The staged files of an attempt cannot be written or used."""

    folder: str


class LandError(HakiriError):
    """Staged rows could not be landed in their table."""

    table: str


class HookError(HakiriError):
    """A hook failed. The table's data is complete, landed or not."""

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
        """Say what became of the table, and when the hook is called again."""
        if self.version is None:
            return "nothing was written to the table; the next run calls the hook again and lands the rows after it"
        return "the rows have landed and stay; the next run calls the hook again"


class ViewError(HakiriError):
    """A view could not be created, changed or queried. The tables are unchanged."""


class RunError(HakiriError):
    """A run ended with work left undone."""

    pipeline: str


class BundleError(HakiriError):
    """The Databricks asset bundle, or what a workspace gives its jobs, is wrong."""


class TaskError(BundleError):
    """One task of a job is defined wrongly."""

    job: str
    task: str

    def subject(self) -> str:
        return f"task `{self.task}` of job `{self.job}`"


TAKES_LESS = "lower `batch_rows` or `batch_bytes` of the source, or `parallelism`"

GOES_ON = "run `hakiri apply` again: it goes on where this run ended"


def retry_advice(pipeline: str) -> str:
    """Say what to do about chunks that failed for good."""
    return f"once the cause is fixed, `hakiri run {pipeline} --retry-failed` tries them again"


# --- reading an error --------------------------------------------------------------------------


def render(error: HakiriError) -> str:
    """Return the text of an error, bounded and with every known secret masked."""
    # Masked before it is cut: half a secret is not recognised.
    return _bound(mask(error.text()), MAX_TEXT * (MAX_PROBLEMS if hasattr(error, "problems") else 1))


def as_json(error: HakiriError) -> dict[str, Any]:
    """Return the facts of an error for programs, bounded and masked as by `render`."""
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
    """Let `mask` hide this value from now on; a short one only where an address or a setting has its password.

    Repeats change nothing.
    """
    for one in {secret, secret.strip()} - {""} - _concealed.known.keys():
        spelled = "|".join(sorted(_spellings(one), key=len, reverse=True))
        shape = spelled if len(one) >= _SHORTEST_SECRET else _IN_AN_ADDRESS.format(spelled=spelled)
        _concealed.known = {**_concealed.known, one: re.compile(shape)}


def mask(text: str) -> str:
    """Replace every concealed value in a text, however it is spelled there."""
    end, parts = 0, []
    for start, stop in sorted(span for pattern in _concealed.known.values() for span in _spans(pattern, text)):
        if start >= end:
            parts += [text[end:start], "***"]
        end = max(end, stop)
    return "".join([*parts, text[end:]]) if parts else text


def masked(value: Any) -> Any:
    """Copy a plain value with `mask` applied to every text in it, before it is written as JSON."""
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
"""Shorter values occur in ordinary text."""
_IN_AN_ADDRESS = (
    r"(?:(?<=:)(?:{spelled})(?=@)"
    r"|(?:(?i:(?<=password=)|(?<=pwd=)|(?<=secret=)|(?<=token=))(?:{spelled})(?=[&;\s]|$))"
    r"|(?:(?i:(?<=password=['\"])|(?<=pwd=['\"])|(?<=secret=['\"])|(?<=token=['\"]))(?:{spelled})(?=['\"])))"
)


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
    """Find where a pattern matches, overlapping matches too."""
    found = pattern.search(text)
    while found:
        yield found.span()
        found = pattern.search(text, found.start() + 1)


def _bound(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more characters)"


def _rebuild(kind: type[HakiriError], facts: dict[str, Any]) -> HakiriError:
    return kind(**facts)


EXIT_CODES = {Recovery.FIX: 1, Recovery.RETRY: 3, Recovery.YIELD: 3, Recovery.REPORT: 4}
EXIT_STOPPED = 130
