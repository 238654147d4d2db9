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
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
GUARANTEES = [f"G{number}" for number in range(1, 11)]

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


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE))), ids="::".join)
def test_a_test_that_is_named_is_there(named: tuple[str, str]) -> None:
    path, test = named
    assert (ROOT / path).is_file()
    assert test in {"", *names_of_tests(path)}


def test_the_guarantees_are_ten() -> None:
    assert list(rows("# Guarantees")) == list(HELD) == GUARANTEES


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_is_held_by_a_test(guarantee: str) -> None:
    assert any(names_of_tests(path) for row in HELD[guarantee] for path, _ in NAMED.findall(row))


def test_what_the_code_cites_is_a_guarantee() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    assert {found for source in sources for found in CITED.findall(source)} == set(GUARANTEES)


def test_every_mutant_is_named_with_its_guarantee_and_with_the_test_that_notices() -> None:
    for name, mutant in MUTANTS.items():
        (row,) = (row for row in HELD[mutant.guarantee] if f'"{name}"' in row)
        assert {guard.partition("::")[0] for guard in mutant.guards} <= {path for path, _ in NAMED.findall(row)}
    told = [found for rows_of_one in HELD.values() for row in rows_of_one for found in MUTANT.findall(row)]
    assert {name for name, star in told if not star} == set(MUTANTS)
    assert {name for name, star in told if star} == set(CATALOG_MUTANTS)
