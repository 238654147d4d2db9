"""Explain every error by its code, from the classes that declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import cleandoc
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from hakiri.errors import HakiriError, Place, Recovery, all_errors
from hakiri.model.errors import CodeNotFound

RECOVERIES = {
    Recovery.FIX: "a person has to change something; commands exit with 1",
    Recovery.RETRY: "the same call may succeed later, and a run retries it by itself; commands exit with 3",
    Recovery.YIELD: "another worker has the work, and a run leaves it to that worker; commands exit with 3",
    Recovery.REPORT: "a bug in Hakiri, please report it; commands exit with 4",
}
_SAMPLE_COUNT = 3
_SAMPLE_PLACE = Place("manifests/hakiri.toml", 14)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One error: what it means, how it looks and what to do about it."""

    code: str
    name: str
    branch: str
    severity: str
    recovery: Recovery
    meaning: str
    example: str
    """How the error looks, with `<fact>` where it has a fact."""
    help: str | None
    """What to do about it; None where that depends on the facts alone."""

    def as_json(self) -> dict[str, object]:
        return {
            "code": self.code,
            "name": self.name,
            "branch": self.branch,
            "severity": self.severity,
            "recovery": self.recovery.value,
            "meaning": self.meaning,
            "example": self.example,
            "help": self.help,
        }


@dataclass(frozen=True, slots=True)
class Branch:
    """Errors of one kind, in order of codes."""

    name: str
    meaning: str
    depth: int
    errors: tuple[Explanation, ...]


def explain(code: str) -> Explanation:
    """Explain the error with this code, in whatever case it is written. Raises CodeNotFound."""
    known = all_errors()
    wanted = code.strip().upper()
    if wanted not in known:
        raise CodeNotFound(asked=code)
    return _explanation(known[wanted])


def error_tree() -> tuple[Branch, ...]:
    """Return every branch with its errors: a branch of a branch follows it, one level deeper."""
    all_errors()
    return tuple(_branches(HakiriError, 0))


def errors_page() -> str:
    """Write the reference page of all errors (docs/reference/errors.md)."""
    lines = [
        "# Errors",
        "",
        "Every error has a code that is never reused. `hakiri explain CODE` prints the entry of one error,",
        "`hakiri errors` the list. This page is generated: `hakiri errors --markdown > docs/reference/errors.md`.",
        "",
        "| recovery | what it means |",
        "|---|---|",
        *(f"| {recovery.value} | {meaning} |" for recovery, meaning in RECOVERIES.items()),
        "",
        "In the examples `<name>` stands for a fact of the error.",
    ]
    for branch in error_tree():
        if branch.errors:
            lines += ["", f"## {branch.name}", "", branch.meaning]
        for one in branch.errors:
            lines += ["", f"### {one.code} {one.name}", "", f"{one.meaning} Recovery: {one.recovery.value}.", ""]
            lines += ["```text", *(line.rstrip() for line in one.example.splitlines()), "```"]
    return "\n".join(lines) + "\n"


def _branches(kind: type[HakiriError], depth: int) -> Iterator[Branch]:
    children = sorted(kind.__subclasses__(), key=_first_code)
    leaves = sorted((one for one in children if "code" in vars(one)), key=lambda one: one.code)
    yield Branch(kind.__name__, _meaning(kind), depth, tuple(map(_explanation, leaves)))
    for child in children:
        if "code" not in vars(child):
            yield from _branches(child, depth + 1)
        elif child.__subclasses__():
            yield Branch(child.__name__, _meaning(child), depth + 1, tuple(map(_explanation, child.__subclasses__())))


def _first_code(kind: type[HakiriError]) -> str:
    own = [kind.code] if "code" in vars(kind) else []
    return min((*own, *map(_first_code, kind.__subclasses__())), default="")


def _explanation(kind: type[HakiriError]) -> Explanation:
    error = _sample(kind)
    return Explanation(
        code=kind.code,
        name=kind.__name__,
        branch=kind.__bases__[0].__name__,
        severity=kind.severity,
        recovery=kind.recovery,
        meaning=_meaning(kind),
        example=error.text(),
        help=error.help(),
    )


def _meaning(kind: type[HakiriError]) -> str:
    """Return the first paragraph of the docstring, on one line."""
    return " ".join(cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def _sample(kind: type[HakiriError]) -> HakiriError:
    hints = get_type_hints(kind)
    facts = {one.name: _fact(one.name, hints[one.name]) for one in fields(cast("Any", kind))}
    return kind(**facts)


def _fact(name: str, hint: Any) -> Any:
    """Make up a fact of this type: `<name>` where it is a text."""
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if get_origin(hint) is tuple:
        return (_fact(name, get_args(hint)[0]),)
    options = get_args(hint) or (hint,)
    if str in options:
        return f"<{name}>"
    if Place in options:
        return _SAMPLE_PLACE
    if bool in options:
        return True
    if int in options or float in options:
        return _SAMPLE_COUNT
    return _sample(all_errors()["HK104"])
