"""The error tree keeps its promises: codes used once and for good, pickled whole, bounded, silent of secrets."""

from __future__ import annotations

import dataclasses
import pickle
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hakiri.errors import REGISTRY, HakiriError, Place, all_errors, as_json, conceal, render
from hakiri.run.error_guide import error_tree, errors_page, explain
from hakiri.spec.errors import UnreadableManifest, WrongValue

ROOT = Path(__file__).parents[2]
CODES = ROOT / "fixtures" / "errors" / "codes.txt"
"""Every code with the name of its class: a new error adds a line, and no line is ever changed or removed."""

PAGE = ROOT / "docs" / "reference" / "errors.md"

all_errors()


def leaves(kind: type[HakiriError] = HakiriError) -> Iterator[type[HakiriError]]:
    for child in kind.__subclasses__():
        if "code" in vars(child):
            yield child
        yield from leaves(child)


SAMPLES: dict[str, Any] = {
    "Place": Place("a.toml", 3),
    "Place | None": Place("a.toml", 3),
    "tuple[Place, ...]": (Place("a.toml", 3), Place("b.json", 1)),
    "tuple[ManifestError, ...]": (WrongValue(place=Place("a.toml", 3), key="k", reason="r"),),
    "tuple[str, ...]": ("one", "two"),
    "str": "text",
    "str | None": "text",
    "bool": True,
    "int": 1,
    "int | None": 1,
    "float": 1.5,
    "float | None": 1.5,
}


def sample(kind: type[HakiriError]) -> HakiriError:
    hints = get_type_hints(kind)
    return kind(**{field.name: _sample(str(field.type), hints[field.name]) for field in dataclasses.fields(kind)})


def _sample(written: str, hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Literal else SAMPLES[written]


KINDS = list(leaves())


def test_every_error_is_registered_under_a_code_of_its_own() -> None:
    assert sorted(REGISTRY.items()) == sorted((kind.code, kind) for kind in KINDS)


def test_a_code_keeps_its_meaning() -> None:
    kept = dict(line.split() for line in CODES.read_text(encoding="utf-8").splitlines())
    assert {code: kind.__name__ for code, kind in REGISTRY.items()} == kept


def names_in(kind: type[HakiriError]) -> set[str]:
    """The names that the texts of an error are to be filled with."""
    return {name for text in (kind._says, kind._help) for _, name, _, _ in string.Formatter().parse(text) if name}


def test_a_text_names_facts_that_its_error_has() -> None:
    missing = {kind.__name__: {name for name in names_in(kind) if not hasattr(sample(kind), name)} for kind in KINDS}
    assert {name: facts for name, facts in missing.items() if facts} == {}


def shown(error: HakiriError) -> tuple[type[HakiriError], str, Any]:
    """What a reader is shown of an error, in each of the two ways."""
    return type(error), render(error), as_json(error)


def test_an_error_crosses_a_process_border_whole() -> None:
    errors = [sample(kind) for kind in KINDS]
    again = pickle.loads(pickle.dumps(errors))  # noqa: S301 our own
    assert list(map(shown, again)) == list(map(shown, errors))


def test_an_error_says_what_happened_in_one_line() -> None:
    messages = {kind.__name__: sample(kind).message() for kind in KINDS}
    assert {name: text for name, text in messages.items() if not re.fullmatch(r".*[^.\n]", text)} == {}


def test_the_page_of_errors_is_the_one_that_is_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == errors_page(), "hakiri errors --markdown > docs/reference/errors.md"


def test_an_error_is_explained() -> None:
    explained = [explain(kind.code.lower()) for kind in KINDS]
    assert [(one.name, one.recovery) for one in explained] == [(kind.__name__, kind.recovery) for kind in KINDS]
    assert [one.name for one in explained if not re.fullmatch(".+", one.meaning) or not one.example] == []


DIALECT = re.compile(r"\b(nobody|somebody|us|ours|mend(s|ed)?|anew|whoever)\b", re.IGNORECASE)


def test_an_error_is_explained_in_plain_words() -> None:
    texts = {one.code: f"{one.meaning} {one.example}" for branch in error_tree() for one in branch.errors}
    assert {code: found[0] for code, text in texts.items() if (found := DIALECT.search(text))} == {}


def test_the_tree_has_every_error_once() -> None:
    listed = [one.code for branch in error_tree() for one in branch.errors]
    assert sorted(listed) == sorted(REGISTRY)


def test_a_rendered_error_is_bounded() -> None:
    error = UnreadableManifest(place=Place("a.toml", 1), reason="x" * 1_000_000)
    assert len(render(error)) < 3_000
    assert len(as_json(error)["message"]) < 3_000


def test_a_rendered_error_carries_no_secret() -> None:
    conceal("correct-horse-battery")
    error = WrongValue(
        place=Place("a.toml", 1), key="k", reason="no: correct-horse-battery", advice="correct-horse-battery"
    )
    assert "horse" not in render(error) + str(as_json(error))
