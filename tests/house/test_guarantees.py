"""Every guarantee names the tests that hold it, and every test that is named is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from conformance.catalog.mutants import MUTANTS as CATALOG_MUTANTS
from mutation.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
CATALOG = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8").replace("\n## ", "\n### ")
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8") + f"\n## The catalog\n{CATALOG}"
GUARANTEES = [f"G{number}" for number in range(1, 11)]
PROMISES = ("When a source changes its shape", "Hooks", "Manifests", "Transforms")
"""Sections with a table of promises."""

NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
CITED = re.compile(r"\bG\d{1,2}\b")
MUTANT = re.compile(r'"([^"]+)"(\*?)')


def rows(title: str) -> dict[str, list[str]]:
    """The rows of the first table below a title, by guarantee."""
    section = PAGE.partition(f"{title}\n")[2].partition("\n## ")[0]
    found: dict[str, list[str]] = defaultdict(list)
    for line in section.splitlines():
        if match := re.match(r"\| (G\d+) \|", line):
            found[match[1]].append(line)
    return found


HELD = rows("## What holds them")


def names_of_tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_a_test_that_is_named_is_there() -> None:
    named = set(NAMED.findall(PAGE))
    tests = {path: {"", *names_of_tests(path)} for path, _ in named if (ROOT / path).is_file()}
    assert sorted("::".join((path, test)) for path, test in named if test not in tests.get(path, ())) == []


def test_the_guarantees_are_ten() -> None:
    assert list(rows("# Guarantees")) == list(HELD) == GUARANTEES


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_is_held_by_a_test(guarantee: str) -> None:
    assert any(names_of_tests(path) for row in HELD[guarantee] for path, _ in NAMED.findall(row))


def test_what_the_code_cites_is_a_guarantee() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    assert {found for source in sources for found in CITED.findall(source)} == set(GUARANTEES)


def rows_with(mutant: str, guarantee: str) -> list[str]:
    """The rows that name the mutant, of the guarantee or of the section."""
    section = PAGE.partition(f"\n## {guarantee}\n")[2].partition("\n## ")[0]
    return [row for row in HELD.get(guarantee, section.splitlines()) if f'"{mutant}"' in row]


def test_every_mutant_is_named_with_its_guarantee_and_with_the_test_that_notices() -> None:
    for name, mutant in MUTANTS.items():
        (row,) = rows_with(name, mutant.guarantee)
        assert {guard.partition("::")[0] for guard in mutant.guards} <= {path for path, _ in NAMED.findall(row)}
    told = [found for row in PAGE.splitlines() if row.startswith("| ") for found in MUTANT.findall(row)]
    assert {name for name, star in told if not star} == set(MUTANTS)
    assert {name for name, star in told if star} == set(CATALOG_MUTANTS)


@pytest.mark.parametrize("guarantee", [*GUARANTEES, *PROMISES, "The catalog"])
def test_a_guarantee_is_broken_on_purpose(guarantee: str) -> None:
    assert any(mutant.guarantee == guarantee for mutant in MUTANTS.values())


def test_a_promise_that_is_not_broken_on_purpose_is_one_that_the_page_tells_of() -> None:
    promises = [
        row
        for title in PROMISES
        for row in PAGE.partition(f"\n## {title}\n")[2].partition("| promise |")[2].partition("\n\n")[0].splitlines()
        if row.startswith("| ")
    ]
    unbroken = [row.split("|")[1].strip() for row in promises if not MUTANT.search(row)]
    assert unbroken == [
        "No plan makes a process open a file, a socket or a program, or unpickle, import or compile anything",
        "One transform in two languages is one plan",
    ]
