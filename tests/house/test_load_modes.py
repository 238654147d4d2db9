"""All that is special about a load mode is in two classes: keys and facts in `spec/`, steps in `land/modes/`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hakiri.land.modes import MODES
from hakiri.spec.load import LOADS, LoadMode

REPO = Path(__file__).parents[2]
SRC = REPO / "src" / "hakiri"
OWNERS = ("spec/", "land/modes/")

CLASSES = frozenset({one.__name__ for one in LOADS.values()} | {type(one).__name__ for one in MODES.values()})
MODULES = frozenset(type(one).__module__ for one in MODES.values())
IN_TEXT = re.compile(rf"(?:^|[`\"'])({'|'.join(LoadMode)})(?:$|[`\"'])")

# What names a mode elsewhere, and why it does.
ELSEWHERE = {
    "land/quarantine.py": {"LoadMode.APPEND"},  # rows that are set aside are added to a table of their own
    "plan/errors.py": {"upsert"},  # messages that say what a person can write instead
    # The word, and no load mode:
    "model/columns/change.py": {"upsert"},  # an operation of a change
    "extract/changes/plain.py": {"truncate", "upsert"},  # operations of a change
    "land/delta/handover.py": {"append"},  # an option of Delta's writer
    "land/delta/rust.py": {"append"},  # the same
    "land/delta/spark.py": {"append"},  # the same
}


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every text that stands alone, which documents what is before it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def names_in(source: str) -> Iterator[str]:
    """Every way in which code names a load mode."""
    tree = ast.parse(source)
    documents = set(map(id, docstrings(tree)))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="LoadMode"), attr=attr):
                yield f"LoadMode.{attr}"
            case ast.Name(id=name) if name in CLASSES:
                yield name
            case ast.ImportFrom(module=module, names=names):
                yield from (one.name for one in names if one.name in CLASSES or f"{module}.{one.name}" in MODULES)
                yield from [module] if module in MODULES else []
            case ast.Constant(value=str(text)) if id(node) not in documents:
                yield from IN_TEXT.findall(text)


def test_no_code_elsewhere_names_a_mode() -> None:
    files = {path.relative_to(SRC).as_posix(): path for path in SRC.rglob("*.py")}
    named = {
        name: set(names_in(path.read_text(encoding="utf-8")))
        for name, path in files.items()
        if not name.startswith(OWNERS)
    }
    assert {name: names for name, names in named.items() if names} == ELSEWHERE


@pytest.mark.parametrize(
    "source",
    [
        "if load.mode is LoadMode.UPSERT: pass",
        'if load.mode == "upsert": pass',
        "isinstance(load, UpsertLoad)",
        "from hakiri.spec.load import UpsertLoad",
        "from hakiri.land.modes.upsert import latest",
        "from hakiri.land.modes import upsert",
        'raise ValueError(f"`upsert` of {table}")',
    ],
)
def test_every_way_of_naming_a_mode_is_found(source: str) -> None:
    assert list(names_in(source))


def test_every_mode_has_its_class_and_its_steps_in_a_file_of_its_own() -> None:
    assert list(LOADS) == list(MODES) == list(LoadMode)
    assert {type(one).__module__ for one in MODES.values()} == {f"hakiri.land.modes.{mode}" for mode in LoadMode}


def rows_of(page: str) -> list[str]:
    return (REPO / page).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("mode", list(LoadMode))
def test_the_pages_have_a_line_for_every_mode(mode: LoadMode) -> None:
    assert f"| {mode} | {MODES[mode].lands} | {MODES[mode].when_nothing_is_new} |" in rows_of("docs/landing.md")
    assert any(row.startswith(f"| `{mode}` |") for row in rows_of("README.md"))
    assert any(f"`{mode}`" in row.split("|")[1] for row in rows_of("docs/manifests.md") if row.startswith("|"))
